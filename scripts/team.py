"""A command that `torchrun` has started in several processes: the first one runs it."""

import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from train.distributed import Team

TEAM_COMMANDS = ("train", "resume")  # those that can share their work
# `torchrun` hands them on to all processes; the leader is the one that knows how to end.
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Command(Protocol):
    """The main function of such a command."""

    def __call__(self, argv: Sequence[str], *, team: "Team") -> None:
        """Runs it."""


def is_in_team() -> bool:
    """Tells whether `torchrun` has started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1


def run_in_team(command: Command, argv: Sequence[str]) -> None:
    """Runs a command in the first process, while the others help it to learn.

    Whatever happens to the command, the others end with it.

    Args:
        command: what the first process does.
        argv: the words after the sub-command.

    Raises:
        TrainingError: if another process is gone.
    """
    is_leader = os.environ["RANK"] == "0"
    if not is_leader:
        for each in _STOP_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
    from train.distributed import Team
    from train.followers import Follower

    local = {key: int(os.environ[f"LOCAL_{key}"]) for key in ("RANK", "WORLD_SIZE")}
    team = Team(local_rank=local["RANK"], local_size=local["WORLD_SIZE"])
    try:
        if is_leader:
            command(argv, team=team)
        else:
            Follower(team).follow()
    finally:
        team.close()
