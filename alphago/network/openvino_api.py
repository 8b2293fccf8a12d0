"""OpenVINO without its telemetry: nothing else of ours imports `openvino`.

By itself `import openvino` sends an event to Google Analytics, from a process that it forks, with a
number of the user that it keeps in `~/intel` (`openvino/tools/ovc/__init__.py` of 2026.4). It does
nothing of that where the package it sends with is missing.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_TELEMETRY = "openvino_telemetry"


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Puts an empty module in the place of the package; OpenVINO then takes its own stub."""
    installed = sys.modules.get(_TELEMETRY)
    sys.modules[_TELEMETRY] = ModuleType(_TELEMETRY)
    try:
        yield
    finally:
        del sys.modules[_TELEMETRY]
        if installed is not None:
            sys.modules[_TELEMETRY] = installed


with _without_telemetry():
    from openvino import Core, InferRequest, Model, Node, Type, opset13, save_model

__all__ = ["Core", "InferRequest", "Model", "Node", "Type", "opset13", "save_model"]
