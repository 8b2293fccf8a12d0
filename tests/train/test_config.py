"""The configuration of a run: what it refuses, and by which name."""

import math

import pytest

from alphago.errors import AlphagoError, ConfigError
from alphago.games import make_game
from alphago.network.weights import MOST_POSITION_BYTES
from tests.train.tiny import game_config, selfplay_config, tiny_config
from train.config import RayConfig

NAN = math.nan


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("loop", "sequential"),
        ("games_per_iteration", 0),
        ("keep_checkpoints", 0),
        ("minutes", 0),
        ("minutes", NAN),
        ("games", -1),
        ("steps", 0),
        ("seed", -1),
        ("seed", 2**63),
        ("target", 0.0),
        ("target", 1.5),
        ("target", 0.5),  # without a suite
    ],
)
def test_values_of_the_run_that_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{key}: got "):
        tiny_config(**{key: value})


def test_no_limit_at_all_is_allowed() -> None:
    config = tiny_config()
    assert config.minutes is config.games is config.steps is config.target is None


def test_a_target_is_allowed_with_a_suite() -> None:
    assert tiny_config({"suite.file": "a.json"}, target=1.0).target == 1.0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("suite.every_minutes", 0.0),
        ("suite.num_simulations", 0),
        ("suite.num_simulations", 1_000_001),
        ("gate.num_simulations", 1_000_001),
        ("selfplay.mode", "threads"),
        ("selfplay.num_actors", 0),
        ("selfplay.num_games", 0),
        ("selfplay.num_simulations", 0),
        ("selfplay.num_simulations", 1_000_001),
        ("selfplay.fast_num_simulations", 0),
        ("selfplay.fast_num_simulations", 1_000_001),
        ("selfplay.full_search_probability", 0.0),
        ("selfplay.full_search_probability", 1.1),
        ("selfplay.full_search_probability", NAN),
        ("selfplay.decided_value", 0.0),
        ("selfplay.decided_value", 1.1),
        ("selfplay.decided_full_search_probability", -0.1),
        ("selfplay.temperature_early", -0.1),
        ("selfplay.temperature_early", math.inf),
        ("selfplay.temperature_late", NAN),
        ("selfplay.temperature_moves", -1),
        ("selfplay.random_opening_probability", -0.1),
        ("selfplay.random_opening_plies", 0),
        ("selfplay.games_per_call", 0),
        ("selfplay.pass_guard", -0.1),
        ("selfplay.pass_guard", 1.1),
        ("selfplay.max_in_flight", 0),
        ("selfplay.max_restarts", -1),
    ],
)
def test_values_of_components_that_are_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{key}: got "):
        tiny_config({key: value})


def test_as_many_simulations_as_a_player_may_use_are_allowed() -> None:
    config = selfplay_config(num_simulations=1_000_000, fast_num_simulations=1_000_000)
    assert config.num_simulations == config.fast_num_simulations == 1_000_000


def test_a_minibatch_larger_than_the_window_is_refused_by_both_names() -> None:
    changes = {"replay.window_size": 30, "train.batch_size": 30}
    assert tiny_config(changes).train.batch_size == 30
    with pytest.raises(
        ConfigError, match=r"^train\.batch_size: got 31.* replay\.window_size, which is 30$"
    ):
        tiny_config(changes | {"train.batch_size": 31})


def test_more_positions_than_a_checkpoint_can_hold_are_refused() -> None:
    game = game_config("go_25x25")
    most = 8 * MOST_POSITION_BYTES // math.prod(make_game("go_25x25").spec.observation_shape)
    assert tiny_config({"evaluator.num_positions": most}, game=game)
    with pytest.raises(ConfigError, match=rf"^evaluator\.num_positions: .* {most} of go_25"):
        tiny_config({"evaluator.num_positions": most + 1}, game=game)


def test_nobody_resigns() -> None:
    # Every game is played to its end, so no threshold can bias the data.
    assert not any("resign" in name for name in vars(selfplay_config()))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("conect_four", {}, "did you mean connect_four"),
        ("connect_four", {"komi": 5.5}, "connect_four, which has no options"),
        ("go_5x5", {"komi": 7.3}, "^game.komi: got 7.3, allowed: an integer or a half"),
        ("go_5x5", {"handicap": 99}, "^game.handicap: got 99"),
    ],
)
def test_a_game_or_rule_that_is_not_there_is_refused(name, options, message) -> None:
    with pytest.raises(AlphagoError, match=message):
        game_config(name, **options)


def test_pooled_heads_are_refused_for_games_whose_actions_are_no_cells() -> None:
    assert tiny_config({"network.heads": "pooled"}).network.fits_every_size  # Tic-tac-toe
    with pytest.raises(ConfigError, match=r"^network\.heads: got 'pooled', allowed: fixed"):
        tiny_config({"network.heads": "pooled", "game.name": "connect_four"})


@pytest.mark.parametrize(
    "address",
    [
        "",
        "local",
        "head",
        "head:",
        "head:0",
        "head:65536",
        "a b:6379",
        "http://head:6379",
        "ray://",
    ],
)
def test_addresses_that_are_none_are_refused(address: str) -> None:
    allowed = r"allowed: auto, HOST:PORT, ray://HOST:PORT, or null$"
    with pytest.raises(ConfigError, match=rf"^ray\.address: got '{address}', {allowed}"):
        RayConfig(address=address)


@pytest.mark.parametrize("address", ["auto", "head:6379", "ray://10.0.0.1:10001", "[fe80::1]:6379"])
def test_a_cluster_is_for_actors_in_processes_of_their_own(address: str) -> None:
    cluster = RayConfig(address=address)
    assert tiny_config({"selfplay.mode": "ray"}, ray=cluster).ray == cluster
    with pytest.raises(ConfigError, match=r"^ray\.address: .*null with selfplay=inline"):
        tiny_config({"selfplay.mode": "inline"}, ray=cluster)
