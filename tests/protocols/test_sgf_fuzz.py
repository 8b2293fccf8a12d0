"""Nothing that a file may hold makes the reader fail but with `SgfError`, or take long."""

import time

import numpy as np
import pytest

from alphago.errors import SgfError
from alphago.protocols.sgf import read_sgf
from alphago.protocols.sgf_games import go_of_sgf, replay_sgf
from tests.protocols.test_sgf_odd import FOLDER, READ

SEEDS = [(FOLDER / case["file"]).read_bytes() for case in READ]


def read_or_refuse(data: bytes) -> int:
    """Returns how many games are found, 0 where the file is refused."""
    try:
        return len(read_sgf(data))
    except SgfError as error:
        assert "\n" not in str(error)
        return 0


def test_files_cut_anywhere() -> None:
    for data in SEEDS:
        step = max(1, len(data) // 60)
        for end in range(0, len(data), step):
            read_or_refuse(data[:end])
            read_or_refuse(data[end:])


def test_files_with_changed_bytes() -> None:
    rng = np.random.default_rng(1)
    num_read = 0
    for data in SEEDS:
        for _ in range(40):
            changed = bytearray(data)
            for place in rng.integers(0, len(changed), size=int(rng.integers(1, 6))):
                changed[place] = rng.integers(256)
            num_read += read_or_refuse(bytes(changed)) > 0
    assert num_read > 100


def test_random_bytes_and_tokens() -> None:
    rng = np.random.default_rng(2)
    tokens = [
        b"(",
        b")",
        b";",
        b"[",
        b"]",
        b"\\",
        b"B",
        b"W[aa]",
        b"AB",
        b"CA[GBK]",
        b"SZ[9]",
        b"\xe3\x81",
        b"\x83",
        b"\0",
        b" ",
        b"\n",
        b"\xff\xfe",
        b"x",
        b"1",
        b":",
        b"KM[6.5]",
    ]
    for _ in range(300):
        read_or_refuse(rng.bytes(int(rng.integers(0, 200))))
        picks = rng.integers(0, len(tokens), size=int(rng.integers(1, 60)))
        read_or_refuse(b"(;" + b"".join(tokens[i] for i in picks))


@pytest.mark.parametrize(
    "piece",
    [
        b"(",
        b"(;",
        b"(a",
        b")",
        b";",
        b"[",
        b"]",
        b"\\",
        b"a",
        b" ",
        b"a ",
        b"A[",
        b"A[]",
        b"[x]",
        b"\\]",
        b"\x83",
        b"\xe9]",
        b"CA[GBK]\xbf",
        b"(;CA[GBK]\xbf)(;CA[Big5]\xbf)",
        b"AB[aa:ss]",
        b"B[aa]",
        b"C[\\",
        b"\r\n",
        b"\\\r\n",
        b"RE[B+R ]",
        b"KM[1]",
    ],
)
def test_much_of_anything_is_read_in_linear_time(piece: bytes) -> None:
    for before in (b"(;", b"(;C[\x83"):
        data = before + piece * (100_000 // len(piece))
        start = time.process_time()
        read_or_refuse(data)
        assert time.process_time() - start < 4.0  # anything quadratic takes longer


@pytest.mark.parametrize("piece", [b";PL[B];PL[W]", b";AB[aa]", b";AE[aa]", b";PL[W]AB[aa]"])
def test_much_of_anything_is_replayed_in_linear_time(piece: bytes) -> None:
    data = b"(;SZ[9];B[ee]" + piece * 20_000 + b";W[ff])"
    start = time.process_time()
    (sgf,) = read_sgf(data)
    replay_sgf(go_of_sgf(sgf), sgf)
    assert time.process_time() - start < 4.0  # anything quadratic takes longer
