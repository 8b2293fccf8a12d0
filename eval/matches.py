"""Matches: many games of two players at once, from paired openings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import FinishedGameError, check_config
from alphago.games.game import Game
from alphago.games.notation import integer_actions, replay
from alphago.players.player import Player
from alphago.players.state_keys import state_keys
from alphago.types import States
from eval.intervals import match_interval, match_score

Progress = Callable[[int, int], None]  # games finished, games in all


class Tally(NamedTuple):
    """Results of some games, from one player's side."""

    wins: int
    draws: int
    losses: int


@dataclass(frozen=True, kw_only=True)
class MatchResult:
    """The result of a match, told from the first player's side.

    Attributes:
        first: name of the first player.
        second: name of the second player.
        as_player_0: the first player's results in the games in which it moved first.
        as_player_1: its results in the others.
        games: the actions of each game, opening included.
        first_seats: which player id the first player had in each game.
    """

    first: str
    second: str
    as_player_0: Tally
    as_player_1: Tally
    games: list[list[int]]
    first_seats: list[int]

    @property
    def total(self) -> Tally:
        """The first player's results in all games."""
        return _add_tallies([self.as_player_0, self.as_player_1])

    @property
    def score(self) -> float:
        """The first player's share of the points, a draw counting half."""
        return match_score(*self.total)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the score, see `match_interval`."""
        return match_interval(*self.total)

    @property
    def num_distinct_games(self) -> int:
        """How many different lists of actions were played."""
        return len({tuple(actions) for actions in self.games})


def play_match(
    game: Game,
    first: Player,
    second: Player,
    *,
    openings: Sequence[Sequence[int]],
    num_games: int | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Plays every opening twice, with the sides swapped, all games in lockstep.

    Each player is called once per ply for the positions in which it is to move, in an order that
    depends on the positions alone: the result does not depend on the order of the openings.

    Args:
        game: the rules.
        first: the player whose side the result takes.
        second: its opponent.
        openings: the actions of each opening.
        num_games: play only so many games of the schedule, None for all.
        progress: is told how many games have finished, after each ply.

    Returns:
        The result.

    Raises:
        ConfigError: if there is no game to play or there are too few openings for `num_games`.
        FinishedGameError: if an opening ends its game.
        IllegalActionError: if an opening cannot be played, or a player chose an illegal action.
    """
    most = 2 * len(openings)
    num_games = most if num_games is None else num_games
    check_config("num_games", num_games, 1 <= num_games <= most, f"1 to {most}, two per opening")
    states = _start_positions(game, openings)[:num_games]
    games = [list(opening) for opening in openings for _ in range(2)][:num_games]
    first_seats = np.arange(num_games) % 2
    active = np.arange(num_games)
    while active.size:
        actions = _choose(game, states[active], (first, second), first_seats=first_seats[active])
        states[active] = game.step(states[active], actions)
        for index, action in zip(active.tolist(), actions.tolist(), strict=True):
            games[index].append(action)
        active = active[~game.is_over(states[active])]
        if progress is not None:
            progress(num_games - active.size, num_games)
    outcomes = game.returns(states)[np.arange(num_games), first_seats]
    return MatchResult(
        first=first.name,
        second=second.name,
        as_player_0=_tally(outcomes[first_seats == 0]),
        as_player_1=_tally(outcomes[first_seats == 1]),
        games=games,
        first_seats=first_seats.tolist(),
    )


def merge_matches(parts: Sequence[MatchResult]) -> MatchResult:
    """Puts the parts of one match together: at least one, all of the same two players."""
    assert len({(part.first, part.second) for part in parts}) == 1, "parts of different matches"
    return MatchResult(
        first=parts[0].first,
        second=parts[0].second,
        as_player_0=_add_tallies([part.as_player_0 for part in parts]),
        as_player_1=_add_tallies([part.as_player_1 for part in parts]),
        games=[actions for part in parts for actions in part.games],
        first_seats=[seat for part in parts for seat in part.first_seats],
    )


def match_summary(result: MatchResult) -> dict[str, object]:
    """Returns what there is to show of a match, ready for JSON; the games are left out."""
    return {
        "first": result.first,
        "second": result.second,
        "num_games": len(result.games),
        "num_distinct_games": result.num_distinct_games,
        "total": result.total._asdict(),
        "as_player_0": result.as_player_0._asdict(),
        "as_player_1": result.as_player_1._asdict(),
        "score": result.score,
        "interval": list(result.interval),
    }


def _start_positions(game: Game, openings: Sequence[Sequence[int]]) -> States:
    """Returns the positions after the openings, each twice in a row."""
    states = np.concatenate([replay(game, opening) for opening in openings])
    finished = np.flatnonzero(game.is_over(states))
    if finished.size:
        raise FinishedGameError(f"opening {finished[0] + 1} of {len(openings)} ends the game")
    return np.repeat(states, 2)


def _choose(
    game: Game,
    states: States,
    players: tuple[Player, Player],
    *,
    first_seats: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Returns an action for each unfinished position [B], asking each player once."""
    actions = np.full(len(states), -1, dtype=np.int64)
    is_first = game.to_play(states) == first_seats
    for player, mask in zip(players, (is_first, ~is_first), strict=True):
        rows = np.flatnonzero(mask)
        if rows.size:
            keys = state_keys(states[rows])
            rows = rows[sorted(range(rows.size), key=keys.__getitem__)]
            # Checked: an array of another shape or type would be spread or rounded in silence.
            actions[rows] = integer_actions(
                player.choose_actions(states[rows]), num_games=rows.size
            )
    return actions


def _add_tallies(tallies: Sequence[Tally]) -> Tally:
    """Returns the sums of wins, draws and losses."""
    return Tally(*np.sum(tallies, axis=0).tolist())


def _tally(outcomes: npt.NDArray[np.float32]) -> Tally:
    """Counts results [K], 1 for a win and -1 for a loss."""
    wins, losses = int((outcomes > 0).sum()), int((outcomes < 0).sum())
    return Tally(wins=wins, draws=len(outcomes) - wins - losses, losses=losses)
