"""What players that score each move tell about it."""

from collections.abc import Sequence

from alphago.games.game import Game
from alphago.players.player import MoveAdvice
from alphago.players.scores import score_value


def advice_of_scores(
    game: Game, actions: Sequence[int], scores: Sequence[int], *, shares: Sequence[float]
) -> list[MoveAdvice]:
    """Returns the moves of one position, the best first.

    Args:
        game: the rules.
        actions: the M legal actions.
        scores: [M], exact, in the view of the player to move, see `scores`.
        shares: [M], of the search each move took.

    Returns:
        The advice. Its values are close to 1 and -1 for wins and losses, of which the faster win
        and the slower loss is the larger value, and heuristic ones in between.
    """
    advice = [
        MoveAdvice(
            action=action,
            move=game.action_to_text(action),
            visit_share=share,
            value=score_value(score),
            prior=1 / len(actions),
        )
        for action, score, share in zip(actions, scores, shares, strict=True)
    ]
    order = sorted(range(len(actions)), key=lambda index: -scores[index])
    return [advice[index] for index in order]
