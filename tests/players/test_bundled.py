"""Networks that come with the package, played by their names."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import CheckpointError, PlayerError
from alphago.games import make_game
from alphago.network import make_network, weights_of
from alphago.network.bundle import CARD_FILE, write_bundle
from alphago.network.weights import NetworkInfo
from alphago.players import bundled, game_of_player, make_player
from alphago.players.bundled import bundled_network_for, bundled_networks
from alphago.players.network_player import NetworkPlayer
from alphago.players.text import pin_network
from tests.network.fake_game import make_config, random_observations
from tests.players.test_loading import CONFIG

_MOST_BYTES = 2_000_000  # of one network, which everybody downloads


def write_network(folder: Path, game_text: str, **network: object) -> None:
    """Writes a network that has learnt nothing as one of the package."""
    spec, config = make_game(game_text).spec, make_config(**({"heads": "pooled"} | network))
    folder.mkdir(parents=True)
    write_bundle(
        folder,
        NetworkInfo(game=game_text, network=config, step=7),
        weights_of(make_network(spec, config, seed=1)),
        positions=random_observations(spec, 5, seed=1),
        config_text=CONFIG,
    )


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three networks of the package, which stand in for the real ones."""
    folder = tmp_path / "networks"
    write_network(folder / "connect_four", "connect_four", heads="fixed")
    write_network(folder / "go_5x5", "go_5x5:komi=2.5")
    write_network(folder / "go_7x7", "go_7x7")
    (folder / "unfinished").mkdir()
    (folder / "README.md").touch()
    monkeypatch.setattr(bundled, "FOLDER", folder)
    return folder


def test_a_network_is_a_player_by_its_name(networks: Path) -> None:
    assert list(bundled_networks()) == ["connect_four", "go_5x5", "go_7x7"]
    player = make_player("go_5x5")
    assert isinstance(player, NetworkPlayer)
    assert (player.name, player.num_simulations) == ("go_5x5", 400)
    assert game_of_player("go_5x5:simulations=3") == "go_5x5:komi=2.5"
    states = player.game.initial_states(1)
    by_path = make_player(str(networks / "go_5x5"))
    assert player.choose_actions(states).tolist() == by_path.choose_actions(states).tolist()


@pytest.mark.parametrize("game_text", ["go_4x3", "go_5x5:rules=japanese", "go_9x9"])
def test_pooled_heads_play_other_boards_and_rules(networks: Path, game_text: str) -> None:
    game = make_game(game_text)
    player = make_player("go_5x5:simulations=4", game=game)
    (action,) = player.choose_actions(game.initial_states(1))
    assert game.legal_actions(game.initial_states(1))[0, action]


def test_a_match_knows_a_network_by_its_folder(networks: Path) -> None:
    pinned = pin_network("go_5x5:simulations=3")
    assert pinned is not None
    assert pinned[0] == f"{(networks / 'go_5x5').resolve()}:simulations=3"
    assert pinned[1].info.step == 7


def test_a_name_goes_before_a_folder(
    networks: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    make_player("go_5x5")
    assert caplog.text == ""
    (tmp_path / "go_5x5").mkdir()
    assert make_player("go_5x5").name == "go_5x5"
    assert "not the folder of this name; that is ./go_5x5" in caplog.text
    with pytest.raises(CheckpointError, match="is neither a run"):
        make_player("./go_5x5")


@pytest.mark.parametrize(
    ("game_text", "name"),
    [
        ("go_7x7:komi=3", "go_7x7"),
        ("go_13x13", "go_5x5"),
        ("connect_four", "connect_four"),
        ("tic_tac_toe", None),
    ],
)
def test_who_plays_a_game_if_nobody_is_named(
    networks: Path, game_text: str, name: str | None
) -> None:
    assert bundled_network_for(make_game(game_text).spec) == name


def test_the_manifest_says_who_plays_a_game_not_the_name(networks: Path) -> None:
    write_network(networks / "a_strong_one", "go_6x6", heads="fixed")
    write_network(networks / "go_9x9", "connect_four", heads="fixed")
    for game_text, name in [
        ("go_6x6", "a_strong_one"),
        ("go_7x7", "go_7x7"),
        ("go_9x9", "go_5x5"),  # neither the one of this name nor the first of Go, with fixed heads
        ("tic_tac_toe", None),
    ]:
        assert bundled_network_for(make_game(game_text).spec) == name


def test_heads_that_only_training_sees_are_left_out(networks: Path) -> None:
    write_network(networks / "go_6x6", "go_6x6", auxiliary=["ownership", "score"])
    found = pin_network("go_6x6")
    assert found is not None
    assert found[1].info.network.auxiliary == []
    assert not any("auxiliary" in name for name in found[1].weights)
    player = make_player("go_6x6:simulations=2")
    assert player.choose_actions(player.game.initial_states(1)).shape == (1,)


def test_names_are_told_where_one_is_wrong(networks: Path) -> None:
    with pytest.raises(PlayerError) as caught:
        make_player("go_5x6", game="go_5x5")
    assert "did you mean go_5x5? (allowed: random," in str(caught.value)
    assert "human, connect_four, go_5x5, go_7x7, gtp:COMMAND" in str(caught.value)
    with pytest.raises(PlayerError, match="plays connect_four, but the game is go_5x5"):
        make_player("connect_four", game="go_5x5")
    with pytest.raises(PlayerError, match="step: got 3, allowed: 7"):
        make_player("go_5x5:step=3")


@pytest.mark.parametrize("name", ["weights.safetensors", "positions.safetensors"])
def test_damage_is_one_line(networks: Path, name: str) -> None:
    path = networks / "go_5x5" / name
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=f"{name}: broken, its checksum is not") as caught:
        make_player("go_5x5")
    assert "\n" not in str(caught.value)


def test_half_precision_is_all_that_is_lost(networks: Path) -> None:
    spec = make_game("go_5x5").spec
    exact = weights_of(make_network(spec, make_config(heads="pooled"), seed=1))
    found = pin_network("go_5x5")
    assert found is not None
    assert found[1].weights.keys() == exact.keys()
    for name, array in found[1].weights.items():
        assert array.dtype == np.float16
        np.testing.assert_allclose(array, exact[name], rtol=2**-11, atol=2**-25)


# --- those that are there ---


SHIPPED = sorted(bundled_networks())


def test_a_network_of_go_on_9x9_comes_with_the_package() -> None:
    assert "go_9x9" in SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_the_networks_of_the_package_are_whole(name: str) -> None:
    folder = bundled_networks()[name]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= _MOST_BYTES
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert make_game(manifest["game"]).spec.name == name
    card = (folder / CARD_FILE).read_text(encoding="utf-8")
    for row in ("data", "training", "strength", "licence"):
        assert re.search(rf"^\| {row} \| .+ \|$", card, re.M), row
    assert "not measured yet" not in card


@pytest.mark.parametrize("name", SHIPPED)
def test_the_networks_of_the_package_play(name: str) -> None:
    player = make_player(f"{name}:simulations=8")
    assert isinstance(player, NetworkPlayer)
    states = player.game.initial_states(1)
    (action,) = player.choose_actions(states)
    assert player.game.legal_actions(states)[0, action]
