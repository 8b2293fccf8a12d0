"""Exported files, loaded by the libraries they are for and not by our own loaders."""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import safetensors
import torch
from torch import nn

from alphago.errors import ExportError, MismatchError
from alphago.games import make_game
from alphago.games.go.planes import KOMI_STEPS
from alphago.network import NetworkInfo, load_weights, make_network, weights_of
from alphago.network import export as export_module
from alphago.network.export import FORMATS, Subject, export_network, files_of, make_subject
from alphago.network.export_metadata import as_text
from alphago.network.openvino_api import Core, Type
from scripts.export import SUFFIXES
from tests.network.fake_game import (
    CELL_SHAPES,
    KINDS,
    SHAPES,
    FakeGame,
    make_config,
    make_trained,
    random_observations,
)
from tests.network.test_leela_zero import make_lively
from tests.reference.leela_zero import LeelaZeroNetwork, our_actions

ANY_GAME = ("safetensors", "torchscript", "onnx", "openvino")  # formats
CASES = [("plain", shape) for shape in SHAPES] + [
    (kind, CELL_SHAPES[0]) for kind in KINDS if kind != "plain"
]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Waiting for each other costs threads more than networks this small do."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(num_threads)


class NamedGame(FakeGame):
    """Names what a file has to tell."""

    @property
    def plane_names(self):
        return tuple(f"plane {index}" for index in range(self.spec.observation_shape[0]))

    def action_to_text(self, action):
        return f"move{action}"


def make_case(kind="plain", shape=SHAPES[0], *, seed=2, step=12):
    game = NamedGame(*shape)
    config = make_config(**KINDS[kind])
    info = NetworkInfo(game=game.spec.name, network=config, step=step)
    return Subject(make_trained(game.spec, config, seed=seed), game, info)


def export(subject, folder, format_name):
    path = folder / f"network{FORMATS[format_name].suffix}"
    positions = random_observations(subject.game.spec, 64, seed=5)
    difference = export_network(subject, path, format_name=format_name, positions=positions)
    return path, difference


def run_torch(network, observations):
    with torch.no_grad():
        logits, value = network(torch.from_numpy(observations))
    return logits.numpy(), value.numpy()


def run_safetensors(path, observations, subject):
    with safetensors.safe_open(path, framework="numpy") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    network = make_network(subject.game.spec, subject.info.network, seed=9).eval()
    load_weights(network, weights)
    logits, value = run_torch(network, observations)
    return logits, value[:, None]


def run_torchscript(path, observations, subject):
    return run_torch(torch.jit.load(path), observations)


def run_onnx(path, observations, subject):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [each.name for each in session.get_inputs()] == ["observations"]
    assert session.get_inputs()[0].shape == ["batch", *subject.game.spec.observation_shape]
    assert session.get_inputs()[0].type == "tensor(float)"
    assert [each.name for each in session.get_outputs()] == ["prior_logits", "value"]
    assert session.get_outputs()[0].shape == ["batch", subject.game.spec.num_actions]
    assert session.get_outputs()[1].shape == ["batch", 1]
    return session.run(None, {"observations": observations})


def run_openvino(path, observations, subject):
    core = Core()
    compiled = core.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    assert compiled.inputs[0].element_type == Type.f32
    answer = compiled({"observations": observations})
    return answer["prior_logits"], answer["value"]


RUN = {
    "safetensors": run_safetensors,
    "torchscript": run_torchscript,
    "onnx": run_onnx,
    "openvino": run_openvino,
}


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("format_name", ANY_GAME)
@pytest.mark.parametrize(("kind", "shape"), CASES)
def test_a_file_answers_as_the_network_does_at_every_batch_size(tmp_path, format_name, kind, shape):
    subject = make_case(kind, shape)
    path, difference = export(subject, tmp_path, format_name)
    assert sorted(tmp_path.iterdir()) == sorted(files_of(format_name, path))
    assert difference.logits < 1e-4
    assert difference.value < 1e-5
    for batch in (1, 3, 64):
        observations = random_observations(subject.game.spec, batch, seed=batch).astype(np.float32)
        logits, value = RUN[format_name](path, observations, subject)
        expected_logits, expected_value = run_torch(subject.network, observations)
        assert (logits.shape, value.shape) == (expected_logits.shape, (batch, 1))
        limit = 1e-5 * np.abs(expected_logits).max()
        np.testing.assert_allclose(logits, expected_logits, rtol=0, atol=limit)
        np.testing.assert_allclose(value[:, 0], expected_value, rtol=0, atol=1e-5)
        assert logits.std() > 0.05
    assert value.std() > 0.01


def test_openvino_reads_the_onnx_file_too(tmp_path):
    subject = make_case("both", CELL_SHAPES[0])
    path, _ = export(subject, tmp_path, "onnx")
    observations = random_observations(subject.game.spec, 3, seed=2).astype(np.float32)
    logits, value = run_openvino(path, observations, subject)
    expected_logits, expected_value = run_torch(subject.network, observations)
    np.testing.assert_allclose(logits, expected_logits, atol=1e-5)
    np.testing.assert_allclose(value[:, 0], expected_value, atol=1e-5)


def test_the_torchscript_file_needs_none_of_our_code(tmp_path):
    path, _ = export(make_case("both", CELL_SHAPES[0]), tmp_path, "torchscript")
    program = (
        "import sys, torch\n"
        f"logits, value = torch.jit.load({str(path)!r})(torch.zeros(3, 17, 5, 4))\n"
        "print(tuple(logits.shape), tuple(value.shape), 'alphago' in sys.modules)"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "(3, 21) (3, 1) False\n"


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_the_torchscript_file_has_no_gradients_and_no_device_or_precision_of_its_own(
    tmp_path, kind
):
    subject = make_case(kind, CELL_SHAPES[0])
    weights = weights_of(subject.network)
    path, _ = export(make_subject(subject.game, subject.info, weights), tmp_path, "torchscript")
    network = torch.jit.load(path)
    assert "device" not in str(network.inlined_graph)
    observations = torch.from_numpy(random_observations(subject.game.spec, 3, seed=1)).float()
    logits, _ = network(observations)
    assert not logits.requires_grad
    in_bf16, value = network.to(torch.bfloat16)(observations.bfloat16())
    assert in_bf16.dtype == value.dtype == torch.bfloat16
    torch.testing.assert_close(in_bf16.float(), logits, rtol=0.1, atol=0.1 * float(logits.std()))


def test_networks_for_leela_zero_answer_as_the_second_reader_does(tmp_path):
    game = make_game("go_19x19")
    network = make_lively(seed=4, value_hidden=8)
    info = NetworkInfo(game="go_19x19", network=make_config(), step=1)
    path, difference = export(Subject(network, game, info), tmp_path, "leela-zero")
    assert list(tmp_path.iterdir()) == [path]
    assert max(difference) < 1e-4
    observations = random_observations(game.spec, 3, seed=3)
    planes = np.concatenate([observations[:, :, ::-1], 1 - observations[:, -1:, ::-1]], axis=1)
    logits, value = LeelaZeroNetwork(path.read_text()).evaluate(planes)
    expected_logits, expected_value = run_torch(network, observations.astype(np.float32))
    np.testing.assert_allclose(logits, expected_logits[:, our_actions(game)], atol=1e-4)
    np.testing.assert_allclose(value, expected_value, atol=1e-4)


# --- what a file says about itself ---


def metadata_of_safetensors(path):
    with safetensors.safe_open(path, framework="numpy") as file:
        return file.metadata()


def metadata_of_torchscript(path):
    found = {"alphago.json": ""}
    torch.jit.load(path, _extra_files=found)
    return json.loads(found["alphago.json"])


def metadata_of_onnx(path):
    model = onnx.load(path)
    found = {each.key: each.value for each in model.metadata_props}
    assert model.doc_string == as_text(found)
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 17)]
    return found


def metadata_of_openvino(path):
    info = Core().read_model(path).get_rt_info()["alphago"]
    return {f"alphago.{key}": text.astype(str) for key, text in info.items()}


METADATA = {
    "safetensors": metadata_of_safetensors,
    "torchscript": metadata_of_torchscript,
    "onnx": metadata_of_onnx,
    "openvino": metadata_of_openvino,
}


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("format_name", ANY_GAME)
def test_a_file_tells_everything_that_its_user_has_to_know(tmp_path, format_name):
    game = make_game("go_3x2:komi=1.5")
    config = make_config(heads="pooled")
    info = NetworkInfo(game="go_3x2", network=config, step=77)
    weights = weights_of(make_trained(game.spec, config, seed=1))
    path, _ = export(make_subject(game, info, weights), tmp_path, format_name)
    entries = {
        key.removeprefix("alphago."): text for key, text in METADATA[format_name](path).items()
    }
    assert entries["schema_version"] == "1"
    assert entries["version"]
    assert entries["torch_version"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert entries["game"] == "go_3x2:komi=1.5"
    assert entries["step"] == "77"
    assert json.loads(entries["network"])["heads"] == "pooled"
    planes = json.loads(entries["planes"])
    assert (len(planes), planes[0]) == (17, "own stones now")
    assert planes[9] == "opponent's stones 1 move ago"
    assert planes[16] == "all ones if Black is to move"
    assert json.loads(entries["actions"]) == ["A2", "B2", "C2", "A1", "B1", "C1", "pass"]
    assert entries["pass_action"] == "6"
    assert "top row" in entries["board"]
    observations = json.loads(entries["observations"])
    assert (observations["dtype"], observations["shape"]) == ("float32", ["batch", 17, 2, 3])
    assert json.loads(entries["prior_logits"])["shape"] == ["batch", 7]
    assert "masked" in entries["prior_logits"]
    assert json.loads(entries["value"])["shape"] == ["batch", 1]
    assert "player to move" in entries["value"]


# --- what cannot be, and what goes wrong ---


def damaged(write, damage):
    """Returns a writer of a format whose files are not what they should be."""

    def write_damaged(subject, path):
        damage(subject, path, write)

    return write_damaged


def change_a_weight(subject, path, write):
    other = make_subject(subject.game, subject.info, weights_of(subject.network))
    with torch.no_grad():
        other.network.stem.weight[0, 0, 1, 1] += 0.1
    write(other, path)


def cut_off_the_end(subject, path, write):
    write(subject, path)
    for file in path.parent.iterdir():
        file.write_bytes(file.read_bytes()[:-200])


@pytest.mark.parametrize("format_name", ANY_GAME)
@pytest.mark.parametrize(
    ("damage", "expected"),
    [(change_a_weight, "its logits differ by up to"), (cut_off_the_end, "cannot be read back")],
)
def test_a_file_with_a_fault_never_takes_its_place(
    tmp_path, monkeypatch, format_name, damage, expected
):
    form = FORMATS[format_name]
    broken = form._replace(write=damaged(form.write, damage))
    monkeypatch.setattr(export_module, "FORMATS", {format_name: broken})
    older = tmp_path / f"network{form.suffix}"
    older.write_text("an older file")
    with pytest.raises(MismatchError, match=expected):
        export(make_case("both", CELL_SHAPES[0]), tmp_path, format_name)
    assert list(tmp_path.iterdir()) == [older]
    assert older.read_text() == "an older file"


def test_a_changed_file_for_leela_zero_is_caught(tmp_path, monkeypatch):
    form = FORMATS["leela-zero"]

    def write_mirrored(subject, path):
        form.write(subject, path)
        lines = path.read_text().split("\n")
        lines[-10] = " ".join(reversed(lines[-10].split(" ")))  # the policy's biases
        path.write_text("\n".join(lines))

    monkeypatch.setattr(
        export_module, "FORMATS", {"leela-zero": form._replace(write=write_mirrored)}
    )
    info = NetworkInfo(game="go_19x19", network=make_config(), step=1)
    subject = Subject(make_lively(seed=4, value_hidden=8), make_game("go_19x19"), info)
    with pytest.raises(MismatchError, match="its logits differ"):
        export(subject, tmp_path, "leela-zero")


def test_answers_that_are_no_numbers_are_a_mismatch(tmp_path):
    subject = make_case()
    with torch.no_grad():
        subject.network.value_head.value.bias.fill_(float("nan"))
    with pytest.raises(MismatchError, match="values differ by up to nan"):
        export(subject, tmp_path, "openvino")


@pytest.mark.parametrize("missing", [["onnx"], ["onnxruntime"], ["onnx", "onnxruntime"]])
def test_onnx_without_its_extra_says_what_to_install(tmp_path, monkeypatch, missing):
    find_spec = export_module.importlib.util.find_spec
    monkeypatch.setattr(
        export_module.importlib.util,
        "find_spec",
        lambda name: None if name in missing else find_spec(name),
    )
    with pytest.raises(ExportError) as caught:
        export(make_case(), tmp_path, "onnx")
    names = ", ".join(missing)
    assert str(caught.value) == (
        f"onnx: {names} missing, of the extra export: .venv/bin/pip install -e '.[export]'"
    )
    assert list(tmp_path.iterdir()) == []
    export(make_case(), tmp_path, "openvino")


def test_a_network_unlike_leela_zero_s_is_refused(tmp_path):
    with pytest.raises(ExportError, match="leela-zero: game: got fake, allowed in Leela Zero"):
        export(make_case(), tmp_path, "leela-zero")


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ExportError, match="cannot be written"):
        export(make_case(), tmp_path / "missing", "onnx")


@pytest.fixture
def small_files():
    """Lets no file grow beyond a few thousand bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("format_name", ANY_GAME)
def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(tmp_path, small_files, format_name):
    with pytest.raises(ExportError) as caught:
        export(make_case(), tmp_path, format_name)
    place = re.escape(str(tmp_path / "network"))
    assert re.fullmatch(rf"{place}\.\w+: cannot be written \(.+\)", str(caught.value))
    assert list(tmp_path.iterdir()) == []


def test_exporting_leaves_the_network_as_it_is(tmp_path):
    subject = make_case("both", CELL_SHAPES[0])
    before = weights_of(subject.network)
    for format_name in ANY_GAME:
        export(subject, tmp_path, format_name)
    after = weights_of(subject.network)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert not any(module.training for module in subject.network.modules())
    assert isinstance(subject.network.stem, nn.Conv2d)


def test_the_documentation_lists_entries_formats_and_planes():
    text = (Path(export_module.__file__).parent / "EXPORT.md").read_text(encoding="utf-8")
    codes = [re.findall(r"`([^`]+)`", row) for row in re.findall(r"^\| ([^|]+) \|", text, re.M)]
    listed = {code for row in codes for code in row}
    entries = {key.removeprefix("alphago.") for key in make_case().metadata}
    assert listed == entries | set(FORMATS)
    steps = ", ".join(f"{step:g}" for step in KOMI_STEPS)
    assert f"at least {steps} points" in text


def test_the_command_line_knows_the_formats():
    formats = {name: form.suffix for name, form in FORMATS.items()}
    assert formats | {"bundle": ""} == SUFFIXES  # a bundle is a folder, and no format of a graph
