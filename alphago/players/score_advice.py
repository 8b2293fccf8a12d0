"""What players that score each move tell about it."""

from collections.abc import Iterable

from alphago.games.game import Game
from alphago.players.player import MoveAdvice
from alphago.players.scores import ScoredMove, plies_to_end, score_value


def advice_of_scores(game: Game, moves: Iterable[ScoredMove]) -> list[MoveAdvice]:
    """Returns what is told about the moves of one position, in their order.

    Args:
        game: the rules.
        moves: the legal moves, the best first.

    Returns:
        The advice. Its values are close to 1 and -1 for wins and losses, of which the faster win
        and the slower loss is the larger value, and heuristic ones in between.
    """
    return [
        MoveAdvice(
            action=move.action,
            move=game.action_to_text(move.action),
            visit_share=0.0,
            value=score_value(move.score),
            prior=0.0,
            is_bound=not move.is_exact,
            plies_to_end=plies_to_end(move.score) if move.is_exact else None,
            depth=move.depth,
        )
        for move in moves
    ]
