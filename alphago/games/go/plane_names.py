"""What each plane of a game of Go shows, in words: for files that other programs read."""

from alphago.games.go.planes import KOMI_STEPS, NUM_BOARDS, NUM_LIBERTY_STEPS

_STONES = ("own stones", "opponent's stones")
_CHAINS = ("own chains", "opponent's chains")


def _times() -> list[str]:
    """Returns when the boards of the history were, the newest first."""
    return ["now", "1 move ago", *(f"{ago} moves ago" for ago in range(2, NUM_BOARDS))]


def _liberties() -> list[str]:
    """Returns the counts of liberties that have planes of their own."""
    return ["1 liberty", *(f"{count} liberties" for count in range(2, NUM_LIBERTY_STEPS + 1))]


_HISTORY = (
    *(f"{stones} {time}" for stones in _STONES for time in _times()),
    "all ones if Black is to move",
)

# By the name of the set of planes, as `planes.NUM_PLANES`; in the order of the planes.
PLANE_NAMES: dict[str, tuple[str, ...]] = {
    "history": _HISTORY,
    "extended": (
        *_HISTORY,
        *(f"{chains} with exactly {count}" for chains in _CHAINS for count in _liberties()),
        "empty points that only ko or superko forbids",
        *(f"all ones if the mover gets at least {step:g} points as komi" for step in KOMI_STEPS),
    ),
}
