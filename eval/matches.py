"""Matches: many games of two players at once, from paired openings."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import FinishedGameError, PlayerError, check_config
from alphago.games.game import Game
from alphago.games.notation import integer_actions, replay
from alphago.players.game_follower import Forfeit, GameFollower, GameSoFar
from alphago.players.player import Player
from alphago.players.state_keys import state_keys
from alphago.types import States
from eval.endings import (
    NO_CLAIMS,
    Claims,
    GameEnding,
    ask_for_scores,
    game_endings,
)
from eval.intervals import match_interval, match_score

MatchProgress = Callable[[int, int, int], None]  # games finished, games in all, plies played


class Tally(NamedTuple):
    """Results of some games, from one player's side."""

    wins: int
    draws: int
    losses: int


class Thinking(NamedTuple):
    """The time a player took for its moves."""

    seconds: float
    num_moves: int

    @property
    def seconds_per_move(self) -> float:
        """The mean; 0 without any moves."""
        return self.seconds / max(1, self.num_moves)


@dataclass(frozen=True, kw_only=True)
class MatchResult:
    """The result of a match, told from the first player's side.

    Two results are equal when the games are, whatever time they took.

    Attributes:
        first: name of the first player.
        second: name of the second player.
        games: the actions of each game, opening included.
        first_seats: which player id the first player had in each game.
        outcomes: of each game for the first player: 1 won, 0 drawn, -1 lost.
        endings: how each game ended.
        thinking: how long the first and the second player thought. Of games side by side each move
            has an equal share of the time that they took together.
    """

    first: str
    second: str
    games: list[list[int]]
    first_seats: list[int]
    outcomes: list[int]
    endings: list[GameEnding]
    thinking: tuple[Thinking, Thinking] = field(compare=False)

    @property
    def as_player_0(self) -> Tally:
        """The first player's results in the games in which it moved first."""
        return self._tally(seat=0)

    @property
    def as_player_1(self) -> Tally:
        """The first player's results in the other games."""
        return self._tally(seat=1)

    @property
    def total(self) -> Tally:
        """The first player's results in all games."""
        return _tally(self.outcomes)

    @property
    def seconds_per_move(self) -> tuple[float, float]:
        """The mean thinking time of the first and the second player."""
        first, second = self.thinking
        return first.seconds_per_move, second.seconds_per_move

    @property
    def score(self) -> float:
        """The first player's share of the points, a draw counting half."""
        return match_score(*self.total)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the score, see `match_interval`."""
        return match_interval(*self.total)

    @property
    def num_truncated(self) -> int:
        """How many games the cap on moves has ended."""
        return sum(ending.truncated for ending in self.endings)

    @property
    def num_distinct_games(self) -> int:
        """How many different lists of actions were played."""
        return len({tuple(actions) for actions in self.games})

    def _tally(self, *, seat: int) -> Tally:
        """Counts the results in the games in which the first player had this id."""
        games = zip(self.outcomes, self.first_seats, strict=True)
        return _tally([outcome for outcome, had in games if had == seat])


class MatchInterruptedError(KeyboardInterrupt):
    """Ctrl-C during a match.

    Attributes:
        partial: the games that had finished by then, of which no engine has been asked for the
            final score; None if there were none.
    """

    partial: MatchResult | None

    def __init__(self, partial: MatchResult | None) -> None:
        """Keeps the games."""
        super().__init__()
        self.partial = partial


class MatchBrokenOffError(PlayerError):
    """A player cannot play, or can no more: an engine that does not start again after a crash.

    Attributes:
        partial: as in `MatchInterruptedError`.
    """

    partial: MatchResult | None

    def __init__(self, message: str, partial: MatchResult | None = None) -> None:
        """Keeps the games."""
        super().__init__(message)
        self.partial = partial


def play_match(
    game: Game,
    first: Player,
    second: Player,
    *,
    openings: Sequence[Sequence[int]],
    num_games: int | None = None,
    progress: MatchProgress | None = None,
) -> MatchResult:
    """Plays every opening twice, with the sides swapped, all games in lockstep.

    Each player is called once per ply for the positions in which it is to move, in an order that
    depends on the positions alone: the result does not depend on the order of the openings. A
    player that follows games (an engine) is told them; a game that it forfeits is lost for it.

    Args:
        game: the rules.
        first: the player whose side the result takes.
        second: its opponent.
        openings: the actions of each opening.
        num_games: play only so many games of the schedule, None for all.
        progress: is told after each ply how many games have finished, of how many, and how many
            plies the games have come beyond their openings.

    Returns:
        The result.

    Raises:
        ConfigError: if there is no game to play or there are too few openings for `num_games`.
        FinishedGameError: if an opening ends its game.
        IllegalActionError: if an opening cannot be played, or a player that does not follow games
            chose an illegal action.
        MatchBrokenOffError: if a player cannot play, or can no more.
        MatchInterruptedError: on Ctrl-C.
    """
    in_play = _begin(game, (first, second), openings, num_games=num_games)
    num_games = len(in_play.games)
    active = np.arange(num_games)
    try:
        for num_plies, active in enumerate(_plies(in_play), start=1):
            if progress is not None:
                progress(num_games - active.size, num_games, num_plies)
        claims = ask_for_scores(
            game,
            in_play.states,
            in_play.games,
            players=in_play.players,
            forfeited=in_play.forfeits,
        )
    except KeyboardInterrupt as interrupt:
        raise MatchInterruptedError(_partial_result(in_play, active)) from interrupt
    except PlayerError as error:
        raise MatchBrokenOffError(str(error), _partial_result(in_play, active)) from error
    return _result(in_play, range(num_games), claims=claims)


def merge_matches(parts: Sequence[MatchResult]) -> MatchResult:
    """Puts the parts of one match together: at least one, all of the same two players."""
    assert len({(part.first, part.second) for part in parts}) == 1, "parts of different matches"
    return MatchResult(
        first=parts[0].first,
        second=parts[0].second,
        games=[actions for part in parts for actions in part.games],
        first_seats=[seat for part in parts for seat in part.first_seats],
        outcomes=[outcome for part in parts for outcome in part.outcomes],
        endings=[ending for part in parts for ending in part.endings],
        thinking=(
            _sum([part.thinking[0] for part in parts]),
            _sum([part.thinking[1] for part in parts]),
        ),
    )


def _begin(
    game: Game,
    players: tuple[Player, Player],
    openings: Sequence[Sequence[int]],
    *,
    num_games: int | None,
) -> "_GamesInPlay":
    """Returns the games of a match after their openings; the arguments as in `play_match`."""
    most = 2 * len(openings)
    num_games = most if num_games is None else num_games
    check_config("num_games", num_games, 1 <= num_games <= most, f"1 to {most}, two per opening")
    return _GamesInPlay(
        game=game,
        players=players,
        states=_start_positions(game, openings)[:num_games],
        games=[list(opening) for opening in openings for _ in range(2)][:num_games],
        first_seats=np.arange(num_games) % 2,
        forfeits={},
        thinking=[Thinking(0.0, 0)] * 2,
    )


def _start_positions(game: Game, openings: Sequence[Sequence[int]]) -> States:
    """Returns the positions after the openings, each twice in a row."""
    states = np.concatenate([replay(game, opening) for opening in openings])
    finished = np.flatnonzero(game.is_over(states))
    if finished.size:
        raise FinishedGameError(f"opening {finished[0] + 1} of {len(openings)} ends the game")
    return np.repeat(states, 2)


@dataclass(frozen=True, kw_only=True)
class _GamesInPlay:
    """The games of a match while they are played; arrays, lists and mapping change in place.

    Attributes:
        game: the rules.
        players: the first and the second player.
        states: [B] the positions.
        games: the actions of each game.
        first_seats: int64 [B], the first player's id.
        forfeits: for forfeited games, by index, which player (0 or 1) did it, and how.
        thinking: of the first and the second player so far.
    """

    game: Game
    players: tuple[Player, Player]
    states: States
    games: list[list[int]]
    first_seats: npt.NDArray[np.int64]
    forfeits: dict[int, tuple[int, Forfeit]]
    thinking: list[Thinking]


def _plies(in_play: _GamesInPlay) -> Iterator[npt.NDArray[np.int64]]:
    """Plays all games to their end, one ply in each per step.

    Yields:
        After each ply the games, by index, that have not finished.
    """
    game, states = in_play.game, in_play.states
    active = np.arange(len(states))
    while active.size:
        actions, given_up = _choose(in_play, active)
        in_play.forfeits.update(given_up)
        goes_on = ~np.isin(active, list(given_up))
        playing, actions = active[goes_on], actions[goes_on]
        states[playing] = game.step(states[playing], actions)
        for index, action in zip(playing.tolist(), actions.tolist(), strict=True):
            in_play.games[index].append(action)
        active = playing[~game.is_over(states[playing])]
        yield active


def _partial_result(in_play: _GamesInPlay, unfinished: npt.NDArray[np.int64]) -> MatchResult | None:
    """Returns the result of the games that have finished, None if there are none."""
    finished = np.setdiff1d(np.arange(len(in_play.games)), unfinished).tolist()
    return _result(in_play, finished, claims=NO_CLAIMS) if finished else None


def _result(in_play: _GamesInPlay, indices: Sequence[int], *, claims: Claims) -> MatchResult:
    """Returns the result of some games, all finished, by index."""
    rows = np.array(indices)
    seats, states = in_play.first_seats[rows], in_play.states[rows]
    outcomes = np.sign(in_play.game.returns(states)[np.arange(len(rows)), seats]).astype(np.int64)
    for k, index in enumerate(indices):
        if index in in_play.forfeits:
            outcomes[k] = -1 if in_play.forfeits[index][0] == 0 else 1
    first, second = in_play.players
    return MatchResult(
        first=first.name,
        second=second.name,
        games=[in_play.games[index] for index in indices],
        first_seats=seats.tolist(),
        outcomes=outcomes.tolist(),
        endings=game_endings(
            in_play.game, states, indices, forfeits=in_play.forfeits, claims=claims
        ),
        thinking=(in_play.thinking[0], in_play.thinking[1]),
    )


def _choose(
    in_play: _GamesInPlay, active: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], dict[int, tuple[int, Forfeit]]]:
    """Asks each player once about the unfinished games [B], by index, in which it is to move.

    Returns:
        The actions int64 [B], and for forfeited games, by index, which player (0 or 1) did it and
        how; their actions mean nothing.
    """
    states, games = in_play.states[active], in_play.games
    actions = np.full(len(states), -1, dtype=np.int64)
    forfeits: dict[int, tuple[int, Forfeit]] = {}
    is_first = in_play.game.to_play(states) == in_play.first_seats[active]
    keys, numbers = state_keys(states), active.tolist()
    for side, mask in enumerate((is_first, ~is_first)):
        rows = sorted(np.flatnonzero(mask).tolist(), key=keys.__getitem__)
        if not rows:
            continue
        so_far = [
            GameSoFar(numbers[row], games[numbers[row]], states[row : row + 1]) for row in rows
        ]
        started = time.perf_counter()
        answers = _ask(in_play.players[side], states[rows], so_far)
        thought = Thinking(time.perf_counter() - started, len(rows))
        in_play.thinking[side] = _sum([in_play.thinking[side], thought])
        for row, answer in zip(rows, answers, strict=True):
            if isinstance(answer, Forfeit):
                forfeits[numbers[row]] = (side, answer)
            else:
                actions[row] = answer
    return actions, forfeits


def _ask(player: Player, states: States, games: Sequence[GameSoFar]) -> list[int | Forfeit]:
    """Asks a player about unfinished games, of which states [B] are the positions."""
    if isinstance(player, GameFollower):
        return player.choose_in_games(games)
    # Checked: an array of another shape or type would be spread or rounded in silence.
    actions = integer_actions(player.choose_actions(states), num_games=len(games))
    return [int(action) for action in actions]


def _sum(times: Sequence[Thinking]) -> Thinking:
    """Returns the time of all of them together."""
    return Thinking(sum(each.seconds for each in times), sum(each.num_moves for each in times))


def _tally(outcomes: Sequence[int]) -> Tally:
    """Counts results, 1 for a win and -1 for a loss."""
    return Tally(wins=outcomes.count(1), draws=outcomes.count(0), losses=outcomes.count(-1))
