"""A `Graph` as an ONNX model, and ONNX Runtime to read it back. Needs the extra `export`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from alphago.network.export_metadata import as_text
from alphago.network.graph import (
    LOGITS,
    OBSERVATIONS,
    VALUE,
    CellLinear,
    Concatenation,
    Convolution,
    Flatten,
    Graph,
    Linear,
    Operation,
    Pooling,
)
from alphago.types import Evaluation, FloatArray, UInt8Array

OPSET = 17
IR_VERSION = 8  # the one that came with this opset: older runtimes refuse newer ones
_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh"}


def make_onnx_model(graph: Graph, metadata: Mapping[str, str]) -> ModelProto:
    """Returns a graph as an ONNX model in float32, for batches of any size.

    Args:
        graph: the network.
        metadata: kept as the model's properties, and as its description.
    """
    nodes = _Nodes()
    for operation in graph.operations:
        _add_operation(nodes, operation)
    shapes: dict[str, list[str | int | None]] = {
        OBSERVATIONS: ["batch", *graph.observation_shape],
        LOGITS: ["batch", graph.num_actions],
        VALUE: ["batch", 1],
    }
    infos = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    }
    model = helper.make_model(
        helper.make_graph(
            nodes.nodes,
            "policy_value",
            [infos[OBSERVATIONS]],
            [infos[LOGITS], infos[VALUE]],
            nodes.weights,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="alphago",
        doc_string=as_text(metadata),
    )
    helper.set_model_props(model, dict(metadata))
    return model


class OnnxBackend:
    """Evaluates arrays with a model that ONNX Runtime has read, one batch at a time."""

    def __init__(self, path: Path) -> None:
        """Checks and loads a file."""
        onnx.checker.check_model(str(path), full_check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # more would be pinned to cores, which others may hold
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        """See `Backend.evaluate`."""
        batch = observations.astype(np.float32)
        logits, value = self._session.run([LOGITS, VALUE], {OBSERVATIONS: batch})
        return Evaluation(logits, value[:, 0])


class _Nodes:
    """The nodes and weights of a model that is being made."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Adds a node and returns the name of what it makes, which is also its own."""
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    def weight(self, name: str, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
        """Adds a weight and returns its name."""
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def _add_operation(nodes: _Nodes, operation: Operation) -> None:
    """Adds the nodes of an operation; the last of them makes its output."""
    match operation:
        case Convolution():
            _add_convolution(nodes, operation)
        case Pooling():
            _add_pooling(nodes, operation)
        case Flatten():
            nodes.add("Flatten", [operation.input], operation.output, axis=1)
        case Linear():
            _add_linear(nodes, operation)
        case CellLinear():
            kernel = operation.weight[:, :, None, None]
            cells = f"{operation.output}.cells"
            _convolve(nodes, operation.input, operation.output, kernel, operation.bias, cells)
            nodes.add("Flatten", [cells], operation.output, axis=1)
        case Concatenation():
            nodes.add("Concat", list(operation.inputs), operation.output, axis=1)


def _add_convolution(nodes: _Nodes, operation: Convolution) -> None:
    name = operation.output
    weight, bias = operation.weight, operation.bias
    planes = _convolve(nodes, operation.input, name, weight, bias, f"{name}.convolved")
    if operation.residual is not None:
        planes = nodes.add("Add", [planes, operation.residual], f"{name}.sum")
    if operation.cell_bias is not None:
        axes = nodes.weight(f"{name}.board_axes", np.array([2, 3]))
        cells = nodes.add("Unsqueeze", [operation.cell_bias, axes], f"{name}.cell_bias")
        planes = nodes.add("Add", [planes, cells], f"{name}.sum")
    nodes.add("Relu", [planes], name)


def _convolve(
    nodes: _Nodes, planes: str, name: str, weight: FloatArray, bias: FloatArray, output: str
) -> str:
    """Adds a convolution with the weights of the operation `name`."""
    size = weight.shape[-1]
    inputs = [planes, nodes.weight(f"{name}.weight", weight), nodes.weight(f"{name}.bias", bias)]
    return nodes.add("Conv", inputs, output, kernel_shape=[size] * 2, pads=[size // 2] * 4)


def _add_pooling(nodes: _Nodes, operation: Pooling) -> None:
    name = operation.output
    parts = []
    for part, kind in (("mean", "GlobalAveragePool"), ("maximum", "GlobalMaxPool")):
        pooled = nodes.add(kind, [operation.input], f"{name}.{part}_plane")
        parts.append(nodes.add("Flatten", [pooled], f"{name}.{part}", axis=1))
    nodes.add("Concat", parts, name, axis=1)


def _add_linear(nodes: _Nodes, operation: Linear) -> None:
    name = operation.output
    weight = nodes.weight(f"{name}.weight", operation.weight)
    inputs = [operation.input, weight, nodes.weight(f"{name}.bias", operation.bias)]
    if operation.activation == "none":
        nodes.add("Gemm", inputs, name, transB=1)
    else:
        product = nodes.add("Gemm", inputs, f"{name}.product", transB=1)
        nodes.add(_ACTIVATIONS[operation.activation], [product], name)
