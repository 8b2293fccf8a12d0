"""The option `symmetries=` of network players."""

import pytest

from alphago.errors import PlayerError
from alphago.network.symmetric_evaluator import SymmetricEvaluator
from alphago.players import make_player
from tests.players.test_loading import GAME
from tests.players.test_precision import write_checkpoint


def test_a_network_is_asked_about_as_many_images(tmp_path):
    player = make_player(write_checkpoint(tmp_path) + ",symmetries=8")
    assert isinstance(player.evaluator, SymmetricEvaluator)
    assert player.evaluator.num_symmetries == 8
    assert player.choose_actions(GAME.initial_states(1)).shape == (1,)


def test_by_default_it_is_asked_once(tmp_path):
    assert not isinstance(make_player(write_checkpoint(tmp_path)).evaluator, SymmetricEvaluator)


@pytest.mark.parametrize("value", ["0", "9", "all", "-1", "2.0"])
def test_a_wrong_number_is_named_with_what_is_allowed(tmp_path, value):
    with pytest.raises(PlayerError, match=f"symmetries: got '?{value}'?, allowed: an integer from"):
        make_player(write_checkpoint(tmp_path) + f",symmetries={value}")


def test_no_more_than_the_game_has(tmp_path, monkeypatch):
    spec = GAME.spec._replace(symmetries=GAME.spec.symmetries[:2])
    monkeypatch.setattr(type(GAME), "spec", spec, raising=False)
    with pytest.raises(PlayerError, match=r"symmetries: got 3, allowed: an integer from 1 to 2 \("):
        make_player(write_checkpoint(tmp_path) + ",symmetries=3")
