"""How the games of a match ended, beside who won: forfeits, move caps, scores that differ."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from alphago.games.game import Game
from alphago.games.territory import ScoredGame
from alphago.players.game_follower import Forfeit, ForfeitKind, GameFollower, GameSoFar
from alphago.players.player import Player
from alphago.types import States

# Scores are multiples of a half; a program may print them rounded.
_SCORE_TOLERANCE = 0.25


# Of the first and the second player, by the game's index: player id 0's points less player id 1's,
# or why there is no count.
Claims = tuple[Mapping[int, float | str], Mapping[int, float | str]]
NO_CLAIMS: Claims = ({}, {})


class GameEnding(NamedTuple):
    """The end of one game of a match, whose players are 0, the first one, and 1, the second.

    A forfeited game is lost for the player who forfeited it, whatever the board shows. A truncated
    one has been ended by the cap on moves, and its result is that of the board.
    """

    truncated: bool
    forfeit: Forfeit | None  # None where the game was played to its end
    forfeited_by: int | None
    score: float | None  # player id 0's points less player id 1's; None: forfeited, or no points
    # What each player says to the score, if it follows games, as engines do: the same difference,
    # or why it has none. None where it was not asked: of forfeited and truncated games.
    claims: tuple[float | str | None, float | str | None]

    def agrees(self, player: int) -> bool:
        """Whether a player of the match that was asked for the score counts the same as we do."""
        claim = self.claims[player]
        if self.score is None or not isinstance(claim, float):
            return False
        return abs(claim - self.score) < _SCORE_TOLERANCE


class ScoreChecks(NamedTuple):
    """How the final scores of engines compare with ours, over all games of a match."""

    num_agreed: int
    num_disagreed: int
    num_missing: int  # asked for, but not given


def ask_for_scores(
    game: Game,
    states: States,
    games: Sequence[Sequence[int]],
    *,
    players: tuple[Player, Player],
    forfeited: Collection[int],
) -> Claims:
    """Asks engines for the final score of each finished game that was played to its end.

    Args:
        game: the rules.
        states: [B] the last position of each game.
        games: the actions of each game.
        players: the first and the second player of the match.
        forfeited: the games, by index, that were not played to their end.

    Returns:
        The answers. A player that follows no games has none, and neither has a game without points.
    """
    if not isinstance(game, ScoredGame):
        return NO_CLAIMS
    counted = np.flatnonzero(~game.is_truncated(states)).tolist()
    counted = [index for index in counted if index not in forfeited]
    finished = [GameSoFar(index, games[index], states[index : index + 1]) for index in counted]
    first, second = (
        dict(zip(counted, player.final_scores(finished), strict=True))
        if isinstance(player, GameFollower)
        else {}
        for player in players
    )
    return first, second


def game_endings(
    game: Game,
    states: States,
    indices: Sequence[int],
    *,
    forfeits: Mapping[int, tuple[int, Forfeit]],
    claims: Claims,
) -> list[GameEnding]:
    """Describes how games of a match ended.

    Args:
        game: the rules.
        states: [B] the last position of each game.
        indices: which games of the match they are.
        forfeits: which player (0 or 1) forfeited a game, and how, by the game's index.
        claims: what engines say to the scores.

    Returns:
        The ending of each game.
    """
    truncated = game.is_truncated(states)
    scores = game.score(states) if isinstance(game, ScoredGame) else None
    return [
        GameEnding(
            truncated=bool(truncated[k]),
            forfeit=forfeits[index][1] if index in forfeits else None,
            forfeited_by=forfeits[index][0] if index in forfeits else None,
            score=None if scores is None or index in forfeits else float(scores[k]),
            claims=(claims[0].get(index), claims[1].get(index)),
        )
        for k, index in enumerate(indices)
    ]


def count_forfeits(endings: Sequence[GameEnding], *, player: int) -> dict[ForfeitKind, int]:
    """Returns how often a player of the match forfeited, by kind; no kind without any."""
    kinds = [
        ending.forfeit.kind
        for ending in endings
        if ending.forfeit is not None and ending.forfeited_by == player
    ]
    return {kind: kinds.count(kind) for kind in ForfeitKind if kind in kinds}


def check_scores(endings: Sequence[GameEnding]) -> ScoreChecks:
    """Counts how often engines and we agree; two engines in one game count twice."""
    claims = [claim for ending in endings for claim in ending.claims if claim is not None]
    num_agreed = sum(ending.agrees(player) for ending in endings for player in (0, 1))
    num_missing = sum(isinstance(claim, str) for claim in claims)
    return ScoreChecks(num_agreed, len(claims) - num_agreed - num_missing, num_missing)
