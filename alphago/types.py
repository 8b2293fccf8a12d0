"""The glossary of the project, in code.

Shape letters, used in every docstring:

    B  games in a batch        N  nodes per tree       A  actions          P  players (2)
    C, H, W  planes, rows, columns                     T  moves of a game  R  rows in the buffer
    M  minibatch               S  symmetries of a game

One word per thing: an *action* is an int (its text is a *move*), `to_play` the player to move,
`legal_actions` a mask in which True means legal, `is_over` whether the game has ended, `returns`
the result by player id, a *value* the expected return **of the player to move**. `prior_logits`
become `priors` by a softmax over the legal actions; `visit_counts` become `visit_probs`. To
*evaluate* is to call the network; the package `eval` *rates* players; the *gate* accepts or
rejects. A *step* is one optimiser update, an *iteration* one cycle of play and learning, a *record*
one finished game.

Whose value is it? Network, tree and targets speak for the player to move; game results are
`returns[player]`. `value_for` turns results into values, `signs_for` values of player 0 into those
of the player to move and back.
"""

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

NUM_PLAYERS = 2
EMPTY = -1  # a cell without a piece; any other holds the id of the piece's player
MAX_SIMULATIONS = 1_000_000  # of one search, which allocates its whole tree at once
MAX_THREADS = 1024  # of a process; a library asked for millions would not come back
MAX_ACTORS = 10_000  # of a run; each starts a process
MAX_GROUPS = 8  # of games in an actor, each with a thread and trees of its own
MAX_GAMES = 1_000_000  # of a match, whose openings are all drawn before it begins
MAX_PLIES = 10_000  # of an opening, which no game of ours outlasts

States: TypeAlias = npt.NDArray[np.void]  # [B] rows of the game's structured dtype
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Int8Array: TypeAlias = npt.NDArray[np.int8]
IntArray: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.int64]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
FloatArray: TypeAlias = npt.NDArray[np.float32]
Real: TypeAlias = float | np.float32  # one number, of either width
# A network's parameters and buffers by name, on the CPU.
Weights: TypeAlias = dict[str, npt.NDArray[np.generic]]


class Evaluation(NamedTuple):
    """What a network (or any other evaluator) says of a batch of states."""

    prior_logits: FloatArray  # [B, A], any finite numbers; illegal actions are masked later
    value: FloatArray  # [B], in [-1, 1], the view of the player to move


class Evaluator(Protocol):
    """Anything that can tell a prior and a value for a batch of unfinished games."""

    def evaluate(self, states: States) -> Evaluation:
        """Evaluates a batch.

        Args:
            states: [B] rows of the game's state dtype. Rows of finished games may occur; their
                answer is not used.

        Returns:
            Logits [B, A] and values [B] in the view of each row's player to move.
        """
        ...


class SearchResult(NamedTuple):
    """What a search found at the root of each row. Choosing the move is a separate call.

    Values are in the view of the player to move at the root.

    Attributes:
        visit_counts: simulations that went through each action; 0 where illegal.
        policy_target: what the network shall learn; sums to 1, exactly 0 where illegal.
        root_values: mean value of the search.
        action_values: mean value of each action; 0 where unvisited.
        priors: priors the search used, with noise where noise was asked for.
    """

    visit_counts: npt.NDArray[np.int32]  # [B, A]
    policy_target: FloatArray  # [B, A]
    root_values: FloatArray  # [B]
    action_values: FloatArray  # [B, A]
    priors: FloatArray  # [B, A]


def signs_for(to_play: Int8Array) -> Int8Array:
    """Returns what turns values of player 0 into values of the player to move, and back.

    Args:
        to_play: int8 [...], the player whose view is wanted.

    Returns:
        int8 [...], 1 for player 0 and -1 for player 1.
    """
    signs: Int8Array = (1 - 2 * to_play).astype(np.int8)
    return signs


def value_for(returns: FloatArray, to_play: Int8Array) -> FloatArray:
    """Turns game results by player id into values of the player to move.

    Args:
        returns: float32 [..., P], result of each player in [-1, 1].
        to_play: int8 [...], the player whose view is wanted.

    Returns:
        float32 [...], the same results in that player's view.
    """
    # A flat gather is several times faster than take_along_axis, and the search calls this often.
    rows = np.arange(to_play.size).reshape(to_play.shape)
    chosen: FloatArray = returns.reshape(-1)[rows * returns.shape[-1] + to_play]
    return chosen
