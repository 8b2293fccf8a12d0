"""Valid inputs of every kind, from which hostile ones are made."""

import functools
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import configs
from alphago.games import make_game
from alphago.network.network import make_network, weights_of
from alphago.players import make_player
from eval.match_plan import plan_match, play_part
from eval.match_results import ResultsFile
from eval.rating_store import CheckpointFacts, PartResult, RatingSettings, RatingStore
from selfplay.random_state import rng_state
from selfplay.records import write_records
from tests.protocols.test_sgf_odd import FOLDER as SGF_FOLDER
from tests.protocols.test_sgf_odd import READ as SGF_CASES
from tests.reference.game_records import random_records
from tests.scripts.tiny_run import tiny_config
from tests.train.tiny import NETWORK
from train.checkpoint import Checkpoint, save_checkpoint
from train.config import config_text
from train.run_state import Counters, RunState, to_json

CONFIGS = Path(configs.__file__).parent
_GAME = make_game("tic_tac_toe")
_LONGEST_SGF = 20_000  # bytes

SGF = [
    content
    for case in SGF_CASES
    if len(content := (SGF_FOLDER / case["file"]).read_bytes()) <= _LONGEST_SGF
] + [
    b"(;GM[1]FF[4]SZ[9]KM[7.5]RU[Chinese]PB[a]PW[b];B[ee];W[ce];B[gc];W[];B[tt])",
    b"(;SZ[5:4]AB[aa:bb]PL[W];W[dd]C[x \\] y];B[];AE[aa];W[ed](;B[ca])(;B[da]))",
    b"(;SZ[9]HA[2]AB[cc][gg];W[ee]LB[aa:1])(;SZ[19];B[dd])",
]
GTP = [
    b"1 boardsize 9\nclear_board\nkomi 6.5\nplay b E5\nplay w C3\n2 genmove b\nundo\nshowboard",
    b"boardsize 5\nset_free_handicap A1 B2\nplay w pass\nplay b D4\nfinal_score\nprintsgf",
    b"set_position b A1 w B2\nlist_stones b\ncaptures w\nis_legal b C3\nfinal_status_list alive",
    b'kata-set-rules {"ko":"POSITIONAL","scoring":"AREA"}\nkata-set-rule ko SIMPLE\nkata-get-rules',
    b"time_settings 60 10 5\ntime_left b 10 3\nkata-time_settings byoyomi 1 1 1\nreg_genmove w",
    b"kata-analyze b 10 ownership true maxmoves 3\nlz-analyze 5\nkata-genmove_analyze w 10\nstop",
    b"rectangular_boardsize 5 4\nfixed_handicap 2\nplace_free_handicap 3\nloadsgf some.sgf 3\nquit",
    b"kgs-rules japanese\ngo_komi 0.5\nknown_command play\nlist_commands\nname # x\n\x08version",
]
OVERRIDES = [
    b"train.batch_size=512",
    b"game=go_9x9",
    b"network.auxiliary=[ownership,score]",
    b"replay={window_size:4,window_min:8}",
    b"suite.num_simulations=${gate.num_simulations}",
    b"run_dir='runs/mit blank'",
    b"seed='1'",
    b"minutes=null",
    b'yardstick.player="uct:playouts=10"',
    b"minutes=int(3.5)",
]
CHANGES = [
    b"train.batch_size=512",
    b"network=small",
    b"minutes=null",
    b"selfplay.num_games=8",
]
PLAYERS = [
    b"random",
    b"minimax",
    b"alphabeta:depth=6,nodes=10",
    b"flat_mc:playouts=10",
    b"uct:playouts=10,seconds=2,exploration=0.4",
    b"tic_tac_toe",
    b"go_9x9",
    b"go_13x13:rules=japanese,komi=6.5",
    b"go_5x4:ko=simple,suicide=true,scoring=area,handicap_bonus=N-1,max_moves=300,planes=extended",
]
PLAYER_WORDS = [
    b"runs/demo:step=best,simulations=10",
    b":seconds=1,fpu=0.1,precision=int8",
    b"./random",
    b"gtp:gnugo --mode gtp",
    b"human",
    b",handicap=4",
]
MATCH_HEADER = {"players": ("random", "random"), "seed": 3, "openings": "random"}


@functools.cache
def records() -> list[bytes]:
    """Returns files of games of tic-tac-toe."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.npz"
        files = []
        for num_games in (1, 3):
            write_records(path, random_records(_GAME, num_games=num_games, seed=num_games))
            files.append(path.read_bytes())
    return files


@functools.cache
def record_arrays() -> list[dict[str, np.ndarray[Any, Any]]]:
    """Returns the arrays of `records`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.npz"
        found = []
        for content in records():
            path.write_bytes(content)
            with np.load(path) as archive:
                found.append({name: archive[name] for name in archive.files})
    return found


@functools.cache
def config() -> bytes:
    """Returns the configuration of a run."""
    return config_text(tiny_config()).encode()


@functools.cache
def state() -> bytes:
    """Returns the state of a run with two unfinished games."""
    rng = np.random.default_rng(1)
    games = [
        {
            "index": number,
            "network_version": 1,
            "rng": rng_state(rng),
            "actions": [4, number],
            "targets": [[[0, 4], [0.25, 0.75]], None],
            "root_values": [0.1, -0.2],
        }
        for number in range(2)
    ]
    return json.dumps(
        to_json(
            RunState(
                trainer={"num_steps": 3},
                sampling_rng=rng,
                counters=Counters(iteration=2, seconds=3.5),
                best_checkpoint="00000003",
                num_games=8,
                buffer={"positions_seen": 40, "samples_drawn": 48},
                selfplay={"actor": 0, "num_games_begun": 2, "games": games},
            )
        )
    ).encode()


@functools.cache
def checkpoint() -> Mapping[str, bytes]:
    """Returns the files of a checkpoint."""
    weights = weights_of(make_network(_GAME.spec, NETWORK, seed=0))
    rng = np.random.default_rng(0)
    positions = rng.integers(0, 2, (5, *_GAME.spec.observation_shape)).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path = save_checkpoint(
            Path(folder),
            Checkpoint(
                game="tic_tac_toe",
                network=NETWORK,
                step=3,
                weights=weights,
                best_weights=weights,
                positions=positions,
                trainer_tensors=weights,
                state=json.loads(state()),
                config_text=config().decode(),
            ),
        )
        return {file.name: file.read_bytes() for file in path.iterdir()}


def _files(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(CONFIGS.glob(pattern))]


@functools.cache
def ladders() -> Sequence[bytes]:
    """Returns ladders, one of them with aliases."""
    aliases = b"game: tic_tac_toe\nopening_plies: &n 0\nanchors: &a {random: 0, minimax: *n}\n"
    return [*_files("ladders/*.yaml"), aliases]


@functools.cache
def ablations() -> Sequence[bytes]:
    """Returns ablations."""
    return _files("ablations/*.yaml")


@functools.cache
def suites() -> Sequence[bytes]:
    """Returns suites of small games, cut to a few positions."""
    found = []
    for name in ("tic_tac_toe", "go_2x2"):
        content = json.loads((CONFIGS / "suites" / f"{name}.json").read_text(encoding="utf-8"))
        content["positions"] = content["positions"][:6]
        found.append(json.dumps(content).encode())
    return found


@functools.cache
def openings() -> Sequence[bytes]:
    """Returns files of openings."""
    return [b"4 0 # a comment\n\n4 1\n8\n", b"0 1 2 3\n5 4\n"]


@functools.cache
def ratings() -> Sequence[bytes]:
    """Returns the settings of a ladder in one line, and its results in the others."""
    settings = RatingSettings(
        game="tic_tac_toe",
        simulations=10,
        games=4,
        opening_plies=1,
        seed=0,
        anchors={"random": 0.0, "minimax": None},
    )
    parts = [
        PartResult("step=3", "random", 0, 1, 3, 1, 0, CheckpointFacts(3, 8, 0.5)),
        PartResult("minimax", "random", 0, 1, 4, 0, 0, None),
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = RatingStore(Path(folder))
        for part in parts:
            store.add(part)
        results = (Path(folder) / "results.jsonl").read_bytes()
    return [json.dumps(asdict(settings)).encode() + b"\n" + results]


@functools.cache
def matches() -> Sequence[bytes]:
    """Returns the results of a match of two parts."""
    planned = plan_match([[cell] for cell in range(9)] * 4, seed=3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "match.jsonl"
        with ResultsFile(path, MATCH_HEADER, planned=planned) as file:
            for number, part in enumerate(planned):
                players = (make_player("random", game=_GAME), make_player("random", game=_GAME))
                file.add(number, play_part(_GAME, *players, part))
        return [path.read_bytes()]


@functools.cache
def logs() -> Sequence[bytes]:
    """Returns the log of a run."""
    lines = [
        {"event": "sitting", "time": 1.7e9, "step": 0, "games": 0},
        {"event": "baseline", "suite/policy": 0.4, "suite/minutes": 0.1},
        {"event": "iteration", "step": 3, "selfplay/games": 8, "time/minutes": 0.5, "loss": 1.0},
        {"event": "iteration", "step": 6, "selfplay/games": 16, "gate/score": 0.6},
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in lines)]
