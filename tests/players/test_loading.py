import hashlib
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
import yaml

from alphago.errors import CheckpointError, PlayerError
from alphago.games import make_game
from alphago.network import NetworkConfig, evaluator, make_network, save_weights, weights_of
from alphago.network.evaluator import choose_plan
from alphago.network.network import HEADS
from alphago.players import game_of_player, loading, make_player
from alphago.players.budget import most_visits
from alphago.players.loading import check_plays, read_play_settings, usable_here
from alphago.search.search import SearchConfig
from alphago.search.tree import node_bytes
from train.checkpoint import Checkpoint, save_checkpoint, write_best

GAME = make_game("tic_tac_toe")
NETWORK = NetworkConfig(
    num_blocks=1,
    num_channels=4,
    pooling_channels=0,
    heads="fixed",
    policy_channels=2,
    value_channels=1,
    value_hidden=4,
    auxiliary=[],
)
CONFIG = """\
search:
  exploration_init: 1.25
  exploration_base: 19652
  fpu_reduction: 0.2
  root_fpu_reduction: 0.0
  noise_concentration: 10.83
  noise_weight: 0.25
evaluator: {device: cuda, precision: fp32, num_threads: null}
"""
SEARCH = SearchConfig(**yaml.safe_load(CONFIG)["search"])


def favourite(action):
    """Returns the weights of a network that likes one action best everywhere."""
    weights = weights_of(make_network(GAME.spec, NETWORK, seed=0))
    weights["policy_head.logits.weight"] = np.zeros_like(weights["policy_head.logits.weight"])
    weights["policy_head.logits.bias"] = np.eye(9, dtype=np.float32)[action] * 5
    return weights


def write_checkpoint(folder, *, step, action, best_action, game="tic_tac_toe"):
    """Writes a checkpoint whose networks like these actions best."""
    networks = {"weights": favourite(action), "best": favourite(best_action)}
    write_networks(folder, networks, step=step, game=game, network=NETWORK)


def write_networks(folder, networks, *, step, game, network):
    """Writes a checkpoint of these weights by name."""
    folder.mkdir(parents=True)
    files = {}
    for name, weights in networks.items():
        path = folder / f"{name}.safetensors"
        save_weights(path, weights, {})
        content = path.read_bytes()
        checksum = hashlib.sha256(content).hexdigest()
        files[path.name] = {"sha256": checksum, "bytes": len(content)}
    manifest = {
        "schema_version": 1,
        "game": game,
        "network": asdict(network),
        "step": step,
        "files": files,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "config.yaml").write_text(CONFIG)


@pytest.fixture
def run(tmp_path):
    """A run with three checkpoints; the network of step N likes action N / 100 best."""
    folder = tmp_path / "a run"
    for step, best_action in ((100, 1), (200, 2), (300, 2)):
        checkpoint = folder / "checkpoints" / f"{step:08d}"
        write_checkpoint(checkpoint, step=step, action=step // 100, best_action=best_action)
    (folder / "checkpoints" / ".tmp-00000400").mkdir()
    (folder / "best").write_text("00000200\n")
    return folder


def raw_choice(text):
    """Returns what the network itself plays in the empty position."""
    return make_player(text).choose_actions(GAME.initial_states(1)).tolist()


def test_what_a_run_writes_can_be_played(tmp_path):
    checkpoint = Checkpoint(
        game="tic_tac_toe",
        network=NETWORK,
        step=700,
        weights=favourite(7),
        best_weights=favourite(6),
        positions=np.ones((3, *GAME.spec.observation_shape), np.uint8),
        trainer_tensors={"momentum": np.zeros(1, np.float32)},
        state={},
        config_text=CONFIG,
    )
    write_best(tmp_path, save_checkpoint(tmp_path, checkpoint).name)
    assert raw_choice(f"{tmp_path}:simulations=0") == [6]
    assert raw_choice(f"{tmp_path}:simulations=0,step=700") == [7]


@pytest.mark.parametrize(("device", "backend"), [("cuda", "torch"), ("cpu", "openvino")])
def test_what_a_run_on_a_cpu_asked_for_is_a_wish_on_a_gpu(device, backend, tmp_path, monkeypatch):
    for module in (evaluator, loading):
        monkeypatch.setattr(module, "choose_device", lambda name: torch.device(device))
    saved = yaml.safe_load(CONFIG)
    saved["evaluator"] |= {"device": "auto", "backend": "openvino", "precision": "int8"}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(saved))
    usable = usable_here(read_play_settings(path).evaluator)
    assert usable.precision == ("auto" if device == "cuda" else "int8")
    assert choose_plan(replace(usable, precision="fp32")).backend == backend


@pytest.mark.parametrize(
    ("options", "action"),
    [("", 2), (",step=best", 2), (",step=latest", 3), (",step=100", 1), (",step=00300", 3)],
)
def test_a_run_plays_its_best_network_or_the_one_asked_for(run, options, action):
    assert raw_choice(f"{run}:simulations=0{options}") == [action]


def test_a_run_without_a_best_network_plays_the_latest(run):
    (run / "best").unlink()
    assert raw_choice(f"{run}:simulations=0") == [3]


@pytest.mark.parametrize(("options", "action"), [("", 3), (",step=best", 2), (",step=300", 3)])
def test_a_checkpoint_plays_its_own_network(run, options, action):
    assert raw_choice(f"{run}/checkpoints/00000300:simulations=0{options}") == [action]


def test_weights_that_do_not_fit_are_told_with_their_folder(tmp_path):
    weights = favourite(3)
    del weights["stem.weight"]
    folder = tmp_path / "a checkpoint"
    write_networks(folder, {"weights": weights}, step=3, game="tic_tac_toe", network=NETWORK)
    with pytest.raises(CheckpointError, match=f"^{folder}: the weights .*stem.weight is missing"):
        make_player(str(folder))


def test_without_a_number_of_simulations_there_are_400(run):
    assert make_player(str(run)).num_simulations == 400
    assert make_player(f"{run}:simulations=7").num_simulations == 7


def test_constants_of_the_search_are_the_runs_unless_given(run):
    assert make_player(str(run)).search_config == SEARCH
    explores = make_player(f"{run}:exploration=0.9,simulations=7")
    assert explores.search_config == replace(SEARCH, exploration_init=0.9)
    lowered = make_player(f"{run}:fpu=0.4")
    assert lowered.search_config == replace(SEARCH, fpu_reduction=0.4)
    assert lowered.name.endswith(":fpu=0.4")


def test_time_alone_limits_simulations_by_memory_and_both_may_be_given(run):
    timed = make_player(f"{run}:seconds=0.5")
    assert (timed.seconds, timed.num_simulations) == (0.5, most_visits(node_bytes(GAME.spec)))
    both = make_player(f"{run}:seconds=2,simulations=7")
    assert (both.seconds, both.num_simulations) == (2.0, 7)
    assert both.name.endswith(":seconds=2,simulations=7")
    assert make_player(str(run)).seconds is None


def test_the_game_is_told_by_the_run(run):
    assert game_of_player(str(run)) == "tic_tac_toe"
    assert game_of_player(f"{run}/checkpoints/00000100:simulations=3") == "tic_tac_toe"
    assert make_player(str(run)).game.spec.name == "tic_tac_toe"
    assert make_player(str(run), game="tic_tac_toe").name == str(run)


def test_a_network_of_another_game_is_refused_with_both_names(run):
    with pytest.raises(PlayerError, match="plays tic_tac_toe, but the game is connect_four"):
        make_player(str(run), game="connect_four")


@pytest.mark.parametrize("name", ["ä ö", "a:b", "x=1,y=2", "c:x=1", "random:depth"])
def test_names_of_folders_may_hold_anything(run, name):
    renamed = run.rename(run.parent / name)
    assert raw_choice(f"{renamed}:simulations=0") == [2]
    assert make_player(str(renamed)).num_simulations == 400


def test_a_step_that_is_not_there_is_refused_with_those_that_are(run):
    with pytest.raises(PlayerError, match="step: got 150, allowed: 100, 200, 300, best or latest"):
        make_player(f"{run}:step=150")
    with pytest.raises(PlayerError, match="step: got 100, allowed: 300, best or latest"):
        make_player(f"{run}/checkpoints/00000300:step=100")


def test_a_damaged_network_is_refused(run):
    path = run / "checkpoints" / "00000300" / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CheckpointError, match=r"00000300/weights\.safetensors: broken"):
        make_player(f"{run}:step=latest")


def test_a_game_nobody_knows_is_refused(run):
    checkpoint = run / "checkpoints" / "00000500"
    write_checkpoint(checkpoint, step=500, action=0, best_action=0, game="chess")
    with pytest.raises(CheckpointError, match="00000500.*chess"):
        make_player(str(checkpoint))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("", "no configuration"),
        ("search: [", "no YAML"),
        ("[" * 5000, "lie too deep"),
        (CONFIG.replace("evaluator", "evalautor"), "has no entry 'evaluator'"),
        (CONFIG.replace("fpu_reduction: 0.2", "fpu_reduction: -1"), r"search\.fpu_reduction"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_damaged_configuration_is_refused(run, content, message):
    path = run / "checkpoints" / "00000200" / "config.yaml"
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(CheckpointError, match=message):
        make_player(str(run))


def test_folders_that_hold_no_network_are_refused(tmp_path, run):
    with pytest.raises(CheckpointError, match="neither a run"):
        make_player(str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        make_player(str(tmp_path))
    (run / "best").write_text("00000999")
    with pytest.raises(CheckpointError, match="'00000999', which is not there; .*--repair"):
        make_player(str(run))


def test_a_checkpoint_written_before_options_of_the_network_existed_plays(run):
    manifest = run / "checkpoints" / "00000200" / "manifest.json"
    content = json.loads(manifest.read_text())
    for name in ("pooling_channels", "heads", "auxiliary"):
        del content["network"][name]
    manifest.write_text(json.dumps(content))
    player = make_player(str(run))
    assert player.choose_actions(GAME.initial_states(1)).tolist() == [2]


# --- which game a network may play ---

NINE = GAME.spec._replace(
    name="go_9x9", family="go", observation_shape=(17, 9, 9), num_actions=82, pass_action=81
)
THIRTEEN = NINE._replace(
    name="go_13x13", observation_shape=(17, 13, 13), num_actions=170, pass_action=169
)


def check(heads, *, own=NINE, wanted):
    """Asks whether a network of these heads that has learnt one game plays another."""
    check_plays(replace(NETWORK, heads=heads), own, wanted, name="n")


@pytest.mark.parametrize("heads", HEADS)
def test_other_rules_on_the_same_board_are_played(heads):
    check(heads, wanted=NINE._replace(rules="komi=5.5"))


def test_pooled_heads_play_every_size_of_their_family():
    check("pooled", wanted=THIRTEEN)
    check("pooled", own=THIRTEEN, wanted=NINE)


@pytest.mark.parametrize(
    ("heads", "wanted", "words"),
    [
        ("fixed", THIRTEEN, "plays go_9x9 alone (network.heads is fixed), but .* is go_13x13"),
        ("fixed", GAME.spec, "plays go_9x9, but the game is tic_tac_toe"),
        ("pooled", GAME.spec, "plays go_9x9, but the game is tic_tac_toe"),
    ],
)
def test_a_game_that_a_network_cannot_play_is_refused_in_one_line(heads, wanted, words):
    pattern = "^n: " + words.replace("(", r"\(").replace(")", r"\)") + "$"
    with pytest.raises(PlayerError, match=pattern):
        check(heads, wanted=wanted)


def write_go(folder, *, heads, game="go_5x5:komi=24.5"):
    """Writes a checkpoint of a fresh network that is said to have learnt Go on 5x5."""
    network = replace(NETWORK, num_blocks=2, pooling_channels=2, heads=heads)
    weights = weights_of(make_network(make_game(game).spec, network, seed=3))
    write_networks(folder, {"weights": weights}, step=1, game=game, network=network)
    return str(folder)


def test_a_network_sees_the_planes_that_it_has_learnt_whatever_the_game_shows(tmp_path):
    path = write_go(tmp_path / "net", heads="pooled", game="go_5x5:planes=extended")
    for text in ("go_5x5", "go_4x6:komi=3.5", "go_4x6:planes=extended"):
        game = make_game(text)
        player = make_player(f"{path}:simulations=0", game=game)
        assert player.game is game
        states = game.step(game.initial_states(1), [7])
        seen = player.evaluator.game.observe(states)
        extended = make_game(text.partition(":")[0] + f":planes=extended,komi={game.rules.komi}")
        np.testing.assert_array_equal(seen, extended.observe(states))
        assert player.choose_actions(states).shape == (1,)
    other = player.evaluator_for(make_game("go_4x6:komi=-20"))
    assert (other.game.planes, other.game.rules.komi) == ("extended", -20)
    assert not np.array_equal(other.game.observe(states), seen)  # the planes tell the komi
    assert player.evaluator.game.rules.komi == game.rules.komi
    assert other.evaluate(states).value.shape == (1,)


def test_a_network_of_small_go_boards_plays_larger_ones_and_other_rules(tmp_path):
    path = write_go(tmp_path / "pooled", heads="pooled")
    for text in ("go_5x5:komi=24.5", "go_7x7:komi=9,ko=simple", "go_4x6:rules=japanese"):
        game = make_game(text)
        states = game.initial_states(3)
        actions = make_player(f"{path}:simulations=4", game=text).choose_actions(states)
        assert game.legal_actions(states)[np.arange(3), actions].all()
    with pytest.raises(PlayerError, match="plays go_5x5, but the game is tic_tac_toe"):
        make_player(path, game="tic_tac_toe")


def test_a_network_with_fixed_heads_plays_its_own_go_board(tmp_path):
    path = write_go(tmp_path / "fixed", heads="fixed")
    assert make_player(path).game.spec.rules == make_game("go_5x5:komi=24.5").spec.rules
    make_player(path, game="go_5x5:komi=7")
    with pytest.raises(PlayerError, match="plays go_5x5 alone .* but the game is go_7x7"):
        make_player(path, game="go_7x7")
