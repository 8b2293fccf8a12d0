"""`export_network`: a network as a file of another program, checked against the network itself.

A file is written into a folder beside its place, read back from there by its format's own loader
and moved into place once its answers are those of the network in torch. EXPORT.md describes the
formats for those who use them.
"""

import importlib.util
import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor, nn

from alphago.errors import ExportError, MismatchError
from alphago.files import reason, sync_folder
from alphago.games.game import Game, GameSpec
from alphago.network.export_metadata import PREFIX, describe_network
from alphago.network.freezing import freeze
from alphago.network.graph import LOGITS, OBSERVATIONS, VALUE
from alphago.network.leela_zero import leela_zero_fault, write_leela_zero
from alphago.network.leela_zero_reader import LeelaZeroBackend
from alphago.network.network import (
    NetworkConfig,
    PolicyValueNet,
    load_weights,
    make_network,
    weights_of,
)
from alphago.network.openvino_api import Core, Type, save_model
from alphago.network.openvino_backend import make_model
from alphago.network.precision import Backend
from alphago.network.torch_backend import as_tensor
from alphago.network.weights import NetworkInfo, read_weights
from alphago.types import Evaluation, UInt8Array, Weights

NUM_POSITIONS = 64  # that a file is checked on
# Of the greatest logit or value, beside a little for networks whose numbers are all small. Sums in
# another order differ by a hundredth of this; a transposed board or a missing layer by far more.
RELATIVE_LIMIT = 1e-4
ABSOLUTE_LIMIT = 1e-6

_jit: Any = torch.jit  # its functions have no types
METADATA_FILE = "alphago.json"  # in a TorchScript archive
_ONNX_PACKAGES = ("onnx", "onnxruntime")


class Subject(NamedTuple):
    """What is exported.

    Attributes:
        network: in evaluation mode, on the CPU.
        game: the game it is exported for, with the planes that it has learnt from.
        info: what its checkpoint says.
    """

    network: PolicyValueNet
    game: Game
    info: NetworkInfo

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says about the network."""
        return describe_network(self.game, self.info)


class Difference(NamedTuple):
    """The greatest differences between a file's answers and the network's."""

    logits: float
    value: float


class Format(NamedTuple):
    """One form of exported networks.

    Attributes:
        suffix: of the file's name.
        write: writes a subject to a path that ends in the suffix.
        load: reads such a file back. It is told the game, which some files do not hold.
    """

    suffix: str
    write: Callable[[Subject, Path], None]
    load: Callable[[Path, GameSpec], Backend]


def make_subject(game: Game, info: NetworkInfo, weights: Weights) -> Subject:
    """Makes the network of a checkpoint ready for export.

    Raises:
        CheckpointError: if the weights do not fit.
    """
    return Subject(_restore(game.spec, info.network, weights), game, info)


def _restore(spec: GameSpec, config: NetworkConfig, weights: Weights) -> PolicyValueNet:
    """Returns the network of some weights, ready to be evaluated and no more to be trained."""
    network = make_network(spec, config, seed=0).eval()
    load_weights(network, weights)
    return network.requires_grad_(False)  # which a traced network would remember


def export_fault(format_name: str, subject: Subject) -> str | None:
    """Says in one line why a network cannot be exported in a format, None where it can."""
    missing = [name for name in _ONNX_PACKAGES if importlib.util.find_spec(name) is None]
    if format_name == "onnx" and missing:
        names = ", ".join(missing)
        return f"{names} missing, of the extra export: .venv/bin/pip install -e '.[export]'"
    if format_name == "leela-zero":
        return leela_zero_fault(subject.game.spec, subject.info.network)
    return None


def files_of(format_name: str, path: Path) -> list[Path]:
    """Returns the files that an export to a path makes."""
    return [path, path.with_suffix(".bin")] if format_name == "openvino" else [path]


def export_network(
    subject: Subject, path: Path, *, format_name: str, positions: UInt8Array
) -> Difference:
    """Writes a network to a file, which takes its place only if it answers as the network does.

    Args:
        subject: the network.
        path: the file; ends in the format's suffix. An older one is replaced.
        format_name: one of `FORMATS`.
        positions: observations uint8 [M, C, H, W] to compare answers on.

    Returns:
        The greatest differences.

    Raises:
        ExportError: if the network has no form in this format, or the file cannot be written.
        MismatchError: if the file does not answer as the network does; it is removed.
    """
    fault = export_fault(format_name, subject)
    if fault is not None:
        raise ExportError(f"{format_name}: {fault}")
    form = FORMATS[format_name]
    expected = _ModuleBackend(subject.network).evaluate(positions)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            written = Path(folder) / path.name
            form.write(subject, written)
            answer = _read_back(form, written, subject.game.spec, positions)
            difference = _compare(answer, expected)
            _move_into_place(Path(folder), path.parent)
    except OSError as error:
        raise ExportError(f"{path}: cannot be written ({reason(error)})") from error
    except MismatchError as error:
        raise MismatchError(f"{path}: removed, {error}") from error
    return difference


def _read_back(form: Format, path: Path, spec: GameSpec, positions: UInt8Array) -> Evaluation:
    """Returns what a file answers.

    Raises:
        MismatchError: if it cannot be loaded or run.
    """
    try:
        return form.load(path, spec).evaluate(positions)
    except Exception as error:  # the loaders' own have no class in common
        raise MismatchError(f"it cannot be read back ({error})") from error


def _compare(answer: Evaluation, expected: Evaluation) -> Difference:
    """Returns the greatest differences.

    Raises:
        MismatchError: if they are more than rounding explains.
    """
    found = []
    for name, got, wanted in zip(("logits", "values"), answer, expected, strict=True):
        assert got.shape == wanted.shape, f"{name}: {got.shape} in place of {wanted.shape}"
        difference = float(np.abs(got - wanted).max())
        limit = ABSOLUTE_LIMIT + RELATIVE_LIMIT * float(np.abs(wanted).max())
        if not difference <= limit:  # nan is not
            raise MismatchError(
                f"its {name} differ by up to {difference:.2g} from the network's in torch,"
                f" allowed: {limit:.2g}"
            )
        found.append(difference)
    return Difference(*found)


def _move_into_place(source: Path, target: Path) -> None:
    """Moves the files of a folder, whole and on the disk, into another on the same disk."""
    files = sorted(source.iterdir())  # .bin before .xml: the one that is opened comes last
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
    for file in files:
        file.replace(target / file.name)
    sync_folder(target)


class _ModuleBackend:
    """Evaluates arrays with a module of torch, in float32 on the CPU."""

    def __init__(self, module: Callable[[Tensor], tuple[Tensor, Tensor]]) -> None:
        self._module = module

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        with torch.inference_mode():
            logits, value = self._module(as_tensor(observations).float())
        return Evaluation(logits.numpy(), value.reshape(-1).numpy())


# --- safetensors ---


def _write_safetensors(subject: Subject, path: Path) -> None:
    # safetensors writes the memory of an array as it lies, whatever its strides.
    arrays = {
        name: np.asarray(array, order="C") for name, array in weights_of(subject.network).items()
    }
    path.write_bytes(safetensors.numpy.save(arrays, metadata=subject.metadata))


def _load_safetensors(path: Path, spec: GameSpec) -> Backend:
    weights, metadata = read_weights(path)
    config = NetworkConfig(**json.loads(metadata[f"{PREFIX}network"]))
    return _ModuleBackend(_restore(spec, config, weights))


# --- TorchScript ---


class _Scripted(nn.Module):
    """The network with the outputs that all formats have."""

    def __init__(self, network: PolicyValueNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        logits, value = self.network(observations)
        return logits, value.unsqueeze(1)


@contextmanager
def _quiet_tracing() -> Iterator[None]:
    """Silences what torch says of every trace, and of those of networks that pool."""
    with warnings.catch_warnings():
        # Deprecated since torch 2.13, and yet what programs in C++ load.
        warnings.filterwarnings("ignore", r"`torch\.jit\.\w+` is deprecated", DeprecationWarning)
        # The board's size becomes a constant, which it is.
        warnings.filterwarnings(
            "ignore", "Converting a tensor to a Python float", _jit.TracerWarning
        )
        yield


def _write_torchscript(subject: Subject, path: Path) -> None:
    example = torch.zeros(2, *subject.game.spec.observation_shape)
    content = io.BytesIO()
    with _quiet_tracing():
        # Not checked by torch: the file is, on positions that are not all zeros.
        traced = _jit.trace(_Scripted(subject.network).eval(), example, check_trace=False)
        metadata = json.dumps(subject.metadata)
        _jit.save(traced, content, _extra_files={METADATA_FILE: metadata})
    path.write_bytes(content.getvalue())


def _load_torchscript(path: Path, spec: GameSpec) -> Backend:
    with _quiet_tracing():
        return _ModuleBackend(_jit.load(path, map_location="cpu"))


# --- ONNX ---


def _write_onnx(subject: Subject, path: Path) -> None:
    from alphago.network.onnx_model import make_onnx_model  # of an extra that may be missing

    graph = freeze(subject.network, subject.game.spec)
    path.write_bytes(make_onnx_model(graph, subject.metadata).SerializeToString())


def _load_onnx(path: Path, spec: GameSpec) -> Backend:
    from alphago.network.onnx_model import OnnxBackend

    return OnnxBackend(path)


# --- OpenVINO ---


class _OpenVinoFile:
    """Evaluates arrays with a model that OpenVINO has read, in float32."""

    def __init__(self, path: Path) -> None:
        properties = {"INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}
        core = Core()
        self._compiled = core.compile_model(core.read_model(path), "CPU", properties)

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        answer = self._compiled({OBSERVATIONS: observations.astype(np.float32)})
        return Evaluation(answer[LOGITS], answer[VALUE][:, 0])


def _write_openvino(subject: Subject, path: Path) -> None:
    model = make_model(freeze(subject.network, subject.game.spec), ranges=None)
    model.get_parameters()[0].set_element_type(Type.f32)  # bytes are for our own use
    model.validate_nodes_and_infer_types()
    for key, value in subject.metadata.items():
        model.set_rt_info(value, key.split("."))
    try:
        save_model(model, path, compress_to_fp16=False)
    except RuntimeError as error:  # all that it reports, a full disk in words of its own
        raise OSError(f"disk full? OpenVINO says {error}") from error


def _load_openvino(path: Path, spec: GameSpec) -> Backend:
    return _OpenVinoFile(path)


# --- Leela Zero ---


def _write_leela_zero(subject: Subject, path: Path) -> None:
    with path.open("wb") as file:
        write_leela_zero(file, subject.network)


def _load_leela_zero(path: Path, spec: GameSpec) -> Backend:
    return LeelaZeroBackend(path)


FORMATS: Mapping[str, Format] = {
    "safetensors": Format(".safetensors", _write_safetensors, _load_safetensors),
    "torchscript": Format(".pt", _write_torchscript, _load_torchscript),
    "onnx": Format(".onnx", _write_onnx, _load_onnx),
    "openvino": Format(".xml", _write_openvino, _load_openvino),
    "leela-zero": Format(".txt", _write_leela_zero, _load_leela_zero),
}
