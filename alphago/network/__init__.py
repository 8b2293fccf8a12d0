"""The policy-value network, its evaluator and its weights on disk. See README.md in this folder."""

from alphago.network.evaluator import EvaluatorConfig, NetworkEvaluator, choose_device
from alphago.network.network import (
    NetworkConfig,
    PolicyValueNet,
    load_weights,
    make_network,
    weights_of,
)
from alphago.network.weights import (
    NetworkInfo,
    load_player_network,
    read_weights,
    save_weights,
)

__all__ = [
    "EvaluatorConfig",
    "NetworkConfig",
    "NetworkEvaluator",
    "NetworkInfo",
    "PolicyValueNet",
    "choose_device",
    "load_player_network",
    "load_weights",
    "make_network",
    "read_weights",
    "save_weights",
    "weights_of",
]
