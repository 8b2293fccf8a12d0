import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from alphago.errors import CheckpointError
from alphago.network import (
    NetworkEvaluator,
    NetworkInfo,
    load_player_network,
    make_network,
    read_weights,
    save_weights,
    weights_of,
)
from alphago.network.weights import CHECKPOINT_SCHEMA_VERSION, sha256_of
from tests.network.fake_game import (
    FakeGame,
    make_config,
    make_evaluator_config,
    make_spec,
    make_trained,
    random_observations,
)

# Answers the observations of the file named first with the weights named second, in a new process.
EVALUATE = """
import sys
import numpy as np
from pathlib import Path
from alphago.network import NetworkEvaluator, read_weights
from tests.network.fake_game import FakeGame, make_config, make_evaluator_config
weights, _ = read_weights(Path(sys.argv[2]))
evaluator = NetworkEvaluator(FakeGame(3, 6, 7, 7), make_config(), make_evaluator_config())
evaluator.load_weights(weights)
answer = evaluator.evaluate_observations(np.load(sys.argv[1]))
np.savez(sys.argv[3], prior_logits=answer.prior_logits, value=answer.value)
"""


@pytest.fixture
def weights():
    return weights_of(make_trained(make_spec(), make_config(), seed=1))


def test_weights_and_metadata_come_back_as_they_were(tmp_path, weights):
    weights["count"] = np.array(3, dtype=np.int64)
    weights["turned"] = np.arange(6, dtype=np.float32).reshape(2, 3).T  # not contiguous
    save_weights(tmp_path / "w.safetensors", weights, {"game": "fake"})
    got, metadata = read_weights(tmp_path / "w.safetensors")
    assert metadata == {"game": "fake"}
    assert got.keys() == weights.keys()
    for name, array in weights.items():
        np.testing.assert_array_equal(got[name], array)
        assert got[name].dtype == array.dtype
        assert got[name].shape == array.shape
        got[name][...] = 0  # belongs to the caller
    assert read_weights(tmp_path / "w.safetensors")[0]["stem.weight"].any()


def test_a_new_process_answers_alike(tmp_path, weights):
    game = FakeGame(3, 6, 7, 7)
    evaluator = NetworkEvaluator(game, make_config(), make_evaluator_config())
    evaluator.load_weights(weights)
    observations = random_observations(game.spec, 50, seed=3)
    np.save(tmp_path / "observations.npy", observations)
    save_weights(tmp_path / "w.safetensors", weights, {})
    files = [str(tmp_path / name) for name in ("observations.npy", "w.safetensors", "answer.npz")]
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", EVALUATE, *files], cwd=root, check=True, timeout=60)
    expected = evaluator.evaluate_observations(observations)
    with np.load(files[2], allow_pickle=False) as answer:
        for name, array in expected._asdict().items():
            assert np.abs(answer[name] - array).max() < 1e-6


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path, weights):
    path = tmp_path / "w.safetensors"
    save_weights(path, weights, {"step": "1"})
    save_weights(path, weights, {"step": "2"})
    assert read_weights(path)[1] == {"step": "2"}
    assert [file.name for file in tmp_path.iterdir()] == ["w.safetensors"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_never_saved(tmp_path, weights, bad):
    path = tmp_path / "w.safetensors"
    save_weights(path, weights, {"step": "1"})
    weights["stem.weight"][0, 0, 0, 0] = bad
    with pytest.raises(CheckpointError, match="stem.weight"):
        save_weights(path, weights, {"step": "2"})
    assert read_weights(path)[1] == {"step": "1"}
    assert [file.name for file in tmp_path.iterdir()] == ["w.safetensors"]


def test_a_folder_that_is_not_there_is_named(tmp_path, weights):
    with pytest.raises(CheckpointError, match="nowhere"):
        save_weights(tmp_path / "nowhere" / "w.safetensors", weights, {})


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize(
    "breaks",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda content: content + b"x",
        lambda content: b"garbage " * 100,
        lambda content: content.replace(b'"dtype":"F32"', b'"dtype":"F99"', 1),
        # Half the size per number: the byte ranges no longer match the shapes.
        lambda content: content.replace(b'"dtype":"F32"', b'"dtype":"F16"', 1),
    ],
)
def test_broken_files_are_named(tmp_path, weights, breaks):
    path = tmp_path / "w.safetensors"
    save_weights(path, weights, {})
    path.write_bytes(breaks(path.read_bytes()))
    with pytest.raises(CheckpointError, match="w.safetensors"):
        read_weights(path)


def test_a_pickle_is_refused_and_not_run(tmp_path):
    path, trace = tmp_path / "w.safetensors", tmp_path / "ran"
    path.write_bytes(pickle.dumps(Evil(trace)))
    with pytest.raises(CheckpointError):
        read_weights(path)
    assert not trace.exists()


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(CheckpointError, match="none.safetensors"):
        read_weights(tmp_path / "none.safetensors")
    with pytest.raises(CheckpointError):
        read_weights(tmp_path)


# --- checkpoint folders ---


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "00000400"
    folder.mkdir()
    files = {}
    for seed, which in enumerate(("weights", "best")):
        path = folder / f"{which}.safetensors"
        save_weights(path, weights_of(make_network(make_spec(), make_config(), seed=seed)), {})
        files[path.name] = {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    write_manifest(
        folder,
        {
            "schema_version": CHECKPOINT_SCHEMA_VERSION,
            "game": "fake",
            "network": vars(make_config()),
            "step": 400,
            "files": files,
        },
    )
    return folder


def write_manifest(folder, manifest):
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def read_manifest(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def test_the_network_of_a_checkpoint(checkpoint):
    expected = NetworkInfo(game="fake", network=make_config(), step=400)
    for seed, which in enumerate(("weights", "best")):
        info, weights, positions = load_player_network(checkpoint, which=which)
        assert positions is None
        assert info == expected
        fresh = weights_of(make_network(make_spec(), make_config(), seed=seed))
        np.testing.assert_array_equal(weights["stem.weight"], fresh["stem.weight"])
    plain = load_player_network(checkpoint)[1]
    played = read_weights(checkpoint / "weights.safetensors")[0]
    np.testing.assert_array_equal(plain["stem.weight"], played["stem.weight"])


def test_a_checkpoint_older_than_the_newer_options_plays_as_it_did(checkpoint):
    manifest = read_manifest(checkpoint)
    for option in ("pooling_channels", "heads"):
        del manifest["network"][option]
    write_manifest(checkpoint, manifest)
    assert load_player_network(checkpoint)[0].network == make_config()


def test_one_flipped_bit_is_noticed(checkpoint):
    path = checkpoint / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="weights.safetensors: broken"):
        load_player_network(checkpoint)
    load_player_network(checkpoint, which="best")  # the other file is whole


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["weights", "best"])
def test_a_network_that_is_not_finite_is_refused(checkpoint, which, bad):
    path = checkpoint / f"{which}.safetensors"
    weights, _ = read_weights(path)
    weights["stem.weight"][0, 0, 0, 0] = bad
    path.write_bytes(safetensors.numpy.save(weights))  # `save_weights` would not
    manifest = read_manifest(checkpoint)
    manifest["files"][path.name] = {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    write_manifest(checkpoint, manifest)
    with pytest.raises(CheckpointError, match=rf"{path.name}: stem\.weight is not finite"):
        load_player_network(checkpoint, which=which)


@pytest.mark.parametrize("key", ["schema_version", "game", "network", "step", "files"])
def test_a_manifest_without_an_entry_is_refused(checkpoint, key):
    manifest = read_manifest(checkpoint)
    del manifest[key]
    write_manifest(checkpoint, manifest)
    with pytest.raises(CheckpointError, match=key.replace("_", ".")):
        load_player_network(checkpoint)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("schema_version", 2, "schema version 2"),
        ("network", {"num_blocks": 2}, "num_channels"),
        ("network", vars(make_config()) | {"extra": 1}, "extra"),
        ("network", vars(make_config()) | {"num_blocks": 0}, "network.num_blocks"),
        ("network", vars(make_config()) | {"heads": ["fixed"]}, "network.heads"),
        ("network", None, "manifest.json"),
        ("game", 3, "game: got 3, allowed: the name"),
        ("step", "400", "step: got '400', allowed: an integer"),
        ("step", True, "step: got True"),
        ("files", [], "manifest.json"),
        ("files", {"weights.safetensors": "abc"}, "weights.safetensors: got 'abc'"),
        ("files", {"weights.safetensors": {}}, "sha256"),
    ],
)
def test_a_manifest_with_a_wrong_entry_is_refused(checkpoint, key, value, words):
    write_manifest(checkpoint, read_manifest(checkpoint) | {key: value})
    with pytest.raises(CheckpointError, match=words):
        load_player_network(checkpoint)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000], ids=len)
def test_a_manifest_that_is_no_manifest_is_refused(checkpoint, content):
    (checkpoint / "manifest.json").write_bytes(content)
    with pytest.raises(CheckpointError, match="manifest.json"):
        load_player_network(checkpoint)


@pytest.mark.parametrize("name", ["manifest.json", "weights.safetensors"])
def test_a_missing_file_is_named(checkpoint, name):
    (checkpoint / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load_player_network(checkpoint)
