"""Batched PUCT search over array trees. `run_search` is the entry; read `search.py` first."""

from alphago.search.action_choice import choose_actions, visit_probs
from alphago.search.search import BatchSearch, SearchConfig, dirichlet_noise, run_search

__all__ = [
    "BatchSearch",
    "SearchConfig",
    "choose_actions",
    "dirichlet_noise",
    "run_search",
    "visit_probs",
]
