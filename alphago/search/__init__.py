"""Batched tree search over array trees. `run_search` is the entry; read `search.py` first."""

from alphago.search.action_choice import choose_actions, visit_probs
from alphago.search.config import SearchConfig
from alphago.search.gumbel import GumbelConfig
from alphago.search.noise import gumbel_numbers, noise_of_roots
from alphago.search.search import BatchSearch, run_search

__all__ = [
    "BatchSearch",
    "GumbelConfig",
    "SearchConfig",
    "choose_actions",
    "gumbel_numbers",
    "noise_of_roots",
    "run_search",
    "visit_probs",
]
