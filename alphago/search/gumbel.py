"""Gumbel's rule: search that improves the policy with any number of simulations, for self-play.

Source: Danihelka, Guez, Schrittwieser and Silver 2022, "Policy improvement by planning with
Gumbel", in the form of DeepMind's mctx (`gumbel_muzero_policy`), constants and transforms as one
whole. At the root Gumbel numbers draw `num_considered` actions without replacement, sequential
halving shares the simulations out among them, and what is learnt is not the share of visits but the
improved policy, softmax(logits + sigma(completed values)). Below the root the visits follow the
improved policy of each node, without chance.

Values are completed: an untried action has the value v_mix, a mean of the network's own value and
those of the tried actions. sigma stretches the values of a node's legal actions to 0 to 1 and
multiplies them by (visit_init + most visits of an action) * value_scale.

Actions of prior 0 are never tried: what a guard keeps from self-play is neither considered nor
learnt.

A training tool: to play, PUCT is stronger at equal simulations.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alphago.errors import check_config, check_count
from alphago.search.gumbel_kernels import GumbelRows
from alphago.types import FloatArray

VisitCounts = npt.NDArray[np.int32]


@dataclass(kw_only=True)
class GumbelConfig:
    """The constants of Gumbel's rule.

    Attributes:
        num_considered: actions of the root that get simulations, at most (mctx: 16).
        value_scale: weight of the values against the logits (mctx: 0.1).
        visit_init: visits added to those of the most visited action in this weight (mctx: 50).
    """

    num_considered: int
    value_scale: float
    visit_init: float

    def __post_init__(self) -> None:
        """Checks the values."""
        check_count("gumbel.num_considered", self.num_considered, at_least=1)
        for name in ("value_scale", "visit_init"):
            value = getattr(self, name)
            # Scores, their products with visits, must stay finite.
            check_config(f"gumbel.{name}", value, 0 <= value <= 1e6, "a number from 0 to 1e6")


@functools.cache
def considered_visits(num_considered: int, num_simulations: int) -> VisitCounts:
    """Returns the schedule of sequential halving.

    Each phase gives every action that is left as many simulations as share the budget evenly among
    the phases, at least one; then the better half goes on, at least two.

    Args:
        num_considered: actions at the beginning, at least 1, at most the legal ones.
        num_simulations: the budget.

    Returns:
        int32 [num_simulations], read-only: the number of visits that an action must have to be
        taken by each simulation.
    """
    num_phases = max(1, math.ceil(math.log2(num_considered)))
    num_left, num_rounds = num_considered, 0
    schedule: list[int] = []
    while len(schedule) < num_simulations:
        for _ in range(max(1, num_simulations // (num_phases * num_left))):
            schedule += [num_rounds] * num_left  # all that are left were in every round so far
            num_rounds += 1
        num_left = max(min(2, num_considered), num_left // 2)
    found = np.array(schedule[:num_simulations], np.int32)
    found.flags.writeable = False
    return found


def allocate_gumbel_rows(
    num_rows: int, max_simulations: int, num_actions: int, config: GumbelConfig | None
) -> GumbelRows:
    """Allocates what rows need for Gumbel's rule, off in all of them; None where none will."""
    num_halved = 0 if config is None else num_rows
    return GumbelRows(
        is_on=np.zeros(num_rows, np.bool_),
        root_scores=np.zeros((num_halved, num_actions), np.float32),
        considered_visits=np.zeros((num_halved, max_simulations), np.int32),
        values=np.zeros(num_actions),
        weights=np.zeros(num_actions),
        value_scale=0.0 if config is None else float(config.value_scale),
        visit_init=0.0 if config is None else float(config.visit_init),
    )


def plan_halving(
    gumbel: GumbelRows,
    rows: npt.NDArray[np.int64],
    priors: FloatArray,
    gumbels: FloatArray,
    budgets: npt.NDArray[np.int32],
    num_considered: int,
) -> None:
    """Turns some rows [K] to Gumbel's rule, in place.

    Args:
        gumbel: of all rows.
        rows: int [K], the rows.
        priors: float32 [K, A], of their roots, 0 where illegal.
        gumbels: float32 [K, A], Gumbel numbers.
        budgets: int32 [K], their simulations.
        num_considered: see `GumbelConfig`.
    """
    gumbel.is_on[rows] = True
    with np.errstate(divide="ignore"):
        logits = np.log(priors)  # but for a constant; -inf leaves an action out
    gumbel.root_scores[rows] = gumbels + logits
    num_wanted = np.count_nonzero(priors, axis=1)
    for row, wanted, budget in zip(rows, num_wanted.tolist(), budgets.tolist(), strict=True):
        schedule = considered_visits(min(num_considered, wanted), budget)
        gumbel.considered_visits[row, :budget] = schedule
