"""The option `precision=` of network players, and the positions it is checked on."""

import numpy as np
import pytest

from alphago.errors import PlayerError
from alphago.games.random_play import random_states
from alphago.network.precision import PRECISIONS
from alphago.players import make_player, text
from tests.players.test_loading import CONFIG, GAME, NETWORK, favourite
from train.checkpoint import Checkpoint, save_checkpoint

POSITIONS = GAME.observe(random_states(GAME, np.random.default_rng(1), num_rows=80))


def write_checkpoint(folder, *, positions=POSITIONS, limit=2.0):
    """Writes a checkpoint with these limits for both errors; returns the player's text."""
    limits = f"policy_kl_limit: {limit}, value_error_limit: {limit}"
    checkpoint = Checkpoint(
        game="tic_tac_toe",
        network=NETWORK,
        step=1,
        weights=favourite(7),
        best_weights=favourite(7),
        positions=positions,
        trainer_tensors={"momentum": np.zeros(1, np.float32)},
        state={},
        config_text=CONFIG.replace("device: cuda", f"device: cpu, {limits}"),
    )
    return f"{save_checkpoint(folder, checkpoint)}:simulations=0"


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_a_network_plays_in_the_precision_asked_for(tmp_path, caplog, precision):
    player = make_player(write_checkpoint(tmp_path) + f",precision={precision}")
    assert player.evaluator.inference[:2] == ("openvino", precision)
    assert player.choose_actions(GAME.initial_states(1)).tolist() == [7]
    assert caplog.messages == []


def test_without_the_option_it_is_that_of_the_run(tmp_path):
    assert make_player(write_checkpoint(tmp_path)).evaluator.inference.precision == "fp32"


def test_it_is_said_where_the_precision_asked_for_is_too_far_off(tmp_path, caplog):
    name = write_checkpoint(tmp_path, limit=0.0) + ",precision=int8"
    inference = make_player(name).evaluator.inference
    assert inference.precision == "fp32"
    assert caplog.messages == [f"{name}: precision: got int8, plays with {inference}"]
    assert "int8 refused" in caplog.messages[0]


def test_auto_asks_for_none_in_particular(tmp_path, caplog):
    make_player(write_checkpoint(tmp_path, limit=0.0) + ",precision=auto")
    assert caplog.messages == []


@pytest.mark.parametrize("positions", [None, np.ones((3, 3, 4, 4), np.uint8)])
def test_int8_needs_positions_of_the_game(tmp_path, positions):
    name = write_checkpoint(tmp_path, positions=positions)
    with pytest.raises(PlayerError, match=r"precision: got int8, allowed: auto, bf16 or fp32"):
        make_player(f"{name},precision=int8")
    assert make_player(f"{name},precision=auto").evaluator.inference.error is None


def test_a_precision_nobody_knows_is_refused(tmp_path):
    name = f"{write_checkpoint(tmp_path)},precision=fp8"
    with pytest.raises(PlayerError, match=r"got 'fp8', allowed: auto, int8, bf16, fp32$"):
        make_player(name)


def test_the_names_are_those_of_the_network():
    """They are written twice, since naming a player does without torch."""
    assert set(text._PRECISIONS) == {"auto", *PRECISIONS}
