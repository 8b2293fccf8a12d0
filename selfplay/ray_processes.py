"""The processes of Ray that this one depends on, and whether they are still there.

Without them Ray ends the process that uses it, with exit code 1 and no Python error: without its
raylet at a call that needs it, without the control service (GCS) once
`gcs_rpc_server_reconnect_timeout_s` is over. So they are looked for before Ray is called.
"""

import contextlib
import math
import socket
import time
from typing import Any

import ray

from alphago.errors import ActorsError

LOOK_EVERY_S = 1.0
ANSWER_S = 1.0  # longest time for one to answer; a busy one that does not is still there


class RayLostError(ActorsError):
    """A process of Ray that this one depends on has ended; no call of Ray may follow."""


class RayProcesses:
    """The raylet of this machine and the control service of the Ray that this process has joined.

    A client (`ray://`) depends on neither; Ray raises an error in it instead.
    """

    def __init__(self) -> None:
        """Looks where they are. Ray must have been started."""
        self._addresses = {} if _is_client() else _addresses()
        self._looked = time.monotonic()

    def look(self) -> None:
        """Looks for them, unless that was done a moment ago.

        Raises:
            RayLostError: if one has ended.
        """
        if time.monotonic() - self._looked >= LOOK_EVERY_S:
            self.look_now()

    def look_now(self) -> None:
        """Looks for them.

        Raises:
            RayLostError: if one has ended.
        """
        for name, (host, port) in self._addresses.items():
            if not _is_listening(host, port):
                self._looked = -math.inf  # the next look tells it again
                raise RayLostError(f"Ray's {name} at {host}:{port} has ended; was it killed?")
        self._looked = time.monotonic()

    def leave(self) -> None:
        """Leaves Ray, and ends it if this process started it, unless it has ended already."""
        with contextlib.suppress(RayLostError):
            self.look_now()
            ray.shutdown()


def _is_client() -> bool:
    """Tells whether Ray is used through a cluster's server for clients."""
    return bool(ray.util.client.ray.is_connected())  # type: ignore[no-untyped-call]


def _addresses() -> dict[str, tuple[str, int]]:
    """Returns host and port by the name of the process."""
    context = ray.get_runtime_context()
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    (own,) = (node for node in nodes if node["NodeID"] == context.get_node_id())
    host, _, port = context.gcs_address.rpartition(":")
    return {
        "raylet": (own["NodeManagerAddress"], own["NodeManagerPort"]),
        "control service": (host.strip("[]"), int(port)),
    }


def _is_listening(host: str, port: int) -> bool:
    """Tells whether a process has that port, however long it takes to answer."""
    try:
        socket.create_connection((host, port), timeout=ANSWER_S).close()
    except ConnectionRefusedError:
        return False
    except OSError:  # no answer in time, or no way there just now
        return True
    return True
