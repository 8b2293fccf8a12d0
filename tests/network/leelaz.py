"""leelaz over GTP, for what its network says of a position before any search."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

PROGRAM = shutil.which("leelaz") or shutil.which("leelaz", path="/usr/games")
TIMEOUT_S = 60.0
# No OpenCL, one thread, no pondering; the answers come on standard error.
OPTIONS = ["--gtp", "--cpu-only", "--threads", "1", "--noponder"]


class Heatmap(NamedTuple):
    """What leelaz shows.

    Attributes:
        permille: int [19, 19], row 19 first, the policy cut off to whole thousandths; 0 on stones.
        pass_permille: the pass's.
        winrate: of the player to move, 0 to 1.
    """

    permille: np.ndarray
    pass_permille: int
    winrate: float


def heatmaps(weights: Path, commands: Sequence[str]) -> list[Heatmap]:
    """Runs leelaz on commands and returns the answers of each `heatmap 0` among them."""
    assert PROGRAM is not None
    done = subprocess.run(  # which kills the program at the timeout
        [PROGRAM, *OPTIONS, "--weights", str(weights)],
        input="\n".join([*commands, "quit"]) + "\n",
        capture_output=True,
        text=True,
        cwd=weights.parent,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("=") == len(commands) + 1, done.stdout  # none is refused
    pattern = re.compile(r"((?:(?: *\d+){19} *\n){19})pass: (\d+)\nwinrate: ([\d.]+)\n")
    return [
        Heatmap(np.array(rows.split(), dtype=int).reshape(19, 19), int(of_pass), float(winrate))
        for rows, of_pass, winrate in pattern.findall(done.stderr + "\n")
    ]
