"""Openings as a network would play them: drawn from its policy, no two to the same position."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import check_config, check_count
from alphago.games.game import Game
from alphago.players.network_player import NetworkPlayer
from alphago.players.state_keys import first_occurrences, state_keys
from alphago.search.search import run_search
from alphago.types import States
from eval.openings import repeat_evenly

_WIDTH = 4  # lines kept per opening wanted, since several lines may lead to one position
_MAX_ROWS = 256  # positions in one evaluation; larger batches make no network faster

Floats = npt.NDArray[np.float64]


class _Lines(NamedTuple):
    """Lines of play to different positions, highest score first."""

    actions: list[list[int]]  # [K]
    states: States  # [K]
    log_probs: Floats  # [K], of the position, over all lines to it
    scores: Floats  # [K], the same with Gumbel noise


def policy_openings(
    player: NetworkPlayer, *, num_pairs: int, num_plies: int, seed: int
) -> list[list[int]]:
    """Draws openings from a network's policy at temperature 1, each for a pair of games.

    They are drawn without replacement: a position that has been drawn is not drawn again, as long
    as there are others; then each is used equally often (give or take one). No opening ends the
    game.

    One draw at a time would take for ever where the policy is nearly sure. The positions with the
    highest log-probabilities after Gumbel noise are such a sample, and a beam search finds them if
    the noise is drawn from the root down (Kool, van Hoof and Welling 2019, "Stochastic Beams and
    Where to Find Them"). The best of the noisy log-probabilities of several lines is that of their
    sum, so lines that meet are merged.

    Args:
        player: the network's; only its raw policy is used.
        num_pairs: how many openings.
        num_plies: moves of each opening.
        seed: of the random stream; equal seeds give equal openings.

    Returns:
        A list of actions per pair.

    Raises:
        ConfigError: if a number is too low, or every line ends the game.
        EvaluationError: if the network's answer cannot be used.
    """
    check_count("num_pairs", num_pairs, at_least=1)
    check_count("opening_plies", num_plies, at_least=0)
    width = _WIDTH * num_pairs
    while True:
        lines, is_cut = _search(player, num_plies=num_plies, width=width, seed=seed)
        if len(lines.actions) >= num_pairs or not is_cut:
            break
        width *= 2
    goes_on = bool(lines.actions)
    check_config("opening_plies", num_plies, goes_on, "fewer: every line of play ends the game")
    return repeat_evenly(lines.actions[:num_pairs], num_pairs)


def _search(player: NetworkPlayer, *, num_plies: int, width: int, seed: int) -> tuple[_Lines, bool]:
    """Returns the lines with the highest scores, and whether any have been left out."""
    game, rng = player.game, np.random.default_rng(seed)
    lines = _Lines([[]], game.initial_states(1), np.zeros(1), np.zeros(1))
    is_cut = False
    for _ in range(num_plies):
        if not lines.actions:
            break
        log_probs = lines.log_probs[:, np.newaxis] + _log_policy(player, lines.states)
        scores = _noisy(log_probs, lines.scores, rng)
        order = np.argsort(-scores, axis=None, kind="stable")[: np.isfinite(scores).sum()]
        is_cut = is_cut or order.size > width
        rows, actions = np.unravel_index(order[:width], scores.shape)
        lines = _merged(
            game,
            _Lines(
                [
                    [*lines.actions[row], action]
                    for row, action in zip(rows.tolist(), actions.tolist(), strict=True)
                ],
                game.step(lines.states[rows], actions),
                log_probs[rows, actions],
                scores[rows, actions],
            ),
        )
    return lines, is_cut


def _log_policy(player: NetworkPlayer, states: States) -> Floats:
    """Returns the logarithm of the policy [K, A], -inf where an action is illegal."""
    parts = [
        run_search(
            player.game,
            player.evaluator,
            states[start : start + _MAX_ROWS],
            player.search_config,
            num_simulations=0,
        ).priors
        for start in range(0, len(states), _MAX_ROWS)
    ]
    with np.errstate(divide="ignore"):  # log(0)
        return np.log(np.concatenate(parts, dtype=np.float64))


def _noisy(log_probs: Floats, scores: Floats, rng: np.random.Generator) -> Floats:
    """Draws the scores of children [K, A] under the condition that the best has the parent's [K].

    Args:
        log_probs: [K, A] of the children.
        scores: [K] of the parents.
        rng: the random stream.
    """
    noisy = log_probs + rng.gumbel(size=log_probs.shape)
    parent = scores[:, np.newaxis]
    # The paper's appendix B.3: log(exp(-parent) - exp(-best) + exp(-noisy)), without overflow.
    with np.errstate(divide="ignore"):  # the best itself gives log(0)
        gap = parent - noisy + np.log(-np.expm1(noisy - noisy.max(axis=1, keepdims=True)))
    return np.asarray(parent - np.maximum(gap, 0.0) - np.log1p(np.exp(-np.abs(gap))))


def _merged(game: Game, lines: _Lines) -> _Lines:
    """Leaves out lines that end the game and, of those to one position, all but the best."""
    going_on = np.flatnonzero(~game.is_over(lines.states))
    keys = state_keys(lines.states[going_on])
    kept = going_on[first_occurrences(keys)]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    log_probs = np.full(kept.size, -np.inf)
    np.logaddexp.at(log_probs, [places[key] for key in keys], lines.log_probs[going_on])
    return _Lines(
        [lines.actions[index] for index in kept],
        lines.states[kept],
        log_probs,
        lines.scores[kept],
    )
