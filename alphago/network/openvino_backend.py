"""`OpenVinoBackend`: runs a `Graph` with OpenVINO, the fastest way on a CPU.

int8 is part of the model: a `FakeQuantize` rounds the planes that a convolution reads to 256 steps
of their range, and its weights are int8 with one scale per output channel. OpenVINO turns that into
a convolution of integers. Linear layers are never quantized.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache

import numpy as np
import torch

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
from alphago.network.hardware import native_precision
from alphago.network.openvino_api import Core, InferRequest, Model, Node, opset13
from alphago.network.quantization import NUM_LEVELS, Ranges, plane_factors, quantize_weight
from alphago.types import Evaluation, FloatArray, UInt8Array

_BOARD_AXES = np.array([2, 3])  # H, W
_COPY_BATCH = 0  # in a shape: as many as the input has
_STRIDES = _DILATIONS = [1, 1]
_CPU = torch.device("cpu")
_HINTS = {"fp32": "f32", "bf16": "bf16"}  # OpenVINO's names

# OpenVINO prepares every layer anew where a batch has another size than the one before. On Go 9x9
# (4 x 32, int8, about 60 positions) that is a fifth of the time, and 90 such batches take as much
# longer as it takes to compile the model once more, for one size alone.
_BATCHES_TO_PAY = 100
_MOST_SIZES = 8  # with a model of their own


class OpenVinoBackend:
    """Evaluates arrays with compiled models, one batch at a time and of any size.

    One compiled model takes every size. Sizes that come often get one of their own.
    """

    def __init__(
        self, graph: Graph, *, precision: str, ranges: Ranges | None, num_threads: int | None
    ) -> None:
        """Compiles the model.

        Args:
            graph: the network.
            precision: "fp32", "bf16" or "int8". With int8, what is not quantized is computed in
                bf16 where the processor can.
            ranges: of all planes that convolutions read; None unless the precision is int8.
            num_threads: CPU threads of one evaluation, None for all.
        """
        assert (precision == "int8") == (ranges is not None), "ranges belong to int8"
        # Where OpenVINO emulates bf16, int8 takes nearly twice as long.
        unrounded = native_precision(_CPU) if precision == "int8" else precision
        properties: dict[str, object] = {
            "INFERENCE_PRECISION_HINT": _HINTS[unrounded],
            "NUM_STREAMS": 1,
            # A thread pinned to a core that another process holds waits there, at every layer.
            "ENABLE_CPU_PINNING": False,
        }
        if num_threads is not None:
            properties["INFERENCE_NUM_THREADS"] = num_threads
        self._model = make_model(graph, ranges)
        self._properties = properties
        self._any_size = self._compile()
        self._own: dict[int, InferRequest] = {}  # by size of the batch
        self._num_batches: Counter[int] = Counter()  # by size

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        """See `Backend.evaluate`."""
        batch = np.require(observations, requirements=["C"])
        request = self._request_for(len(batch))
        # Shared in every call: after a request has copied an input once, sharing a later one of
        # another size corrupts its memory (OpenVINO 2025.2 to 2026.4).
        answer = request.infer({0: batch}, share_inputs=True, share_outputs=True)
        # The request's own memory is written over by the next call.
        return Evaluation(answer[0].copy(), answer[1][:, 0].copy())

    def _request_for(self, size: int) -> InferRequest:
        """Returns what evaluates batches of a size; compiles a model for it where that pays."""
        if size not in self._own:
            self._num_batches[size] += 1
            if self._num_batches[size] < _BATCHES_TO_PAY or len(self._own) == _MOST_SIZES:
                return self._any_size
            # Not a model of that shape alone: in float32 its answers differ in the last bits.
            self._own[size] = self._compile()
        return self._own[size]

    def _compile(self) -> InferRequest:
        compiled = _core().compile_model(self._model, "CPU", self._properties)
        request: InferRequest = compiled.create_infer_request()
        return request


def make_model(graph: Graph, ranges: Ranges | None) -> Model:
    """Returns a graph as OpenVINO's model, for batches of any size.

    Args:
        graph: the network.
        ranges: of all planes that convolutions read, for int8; None quantizes nothing.
    """
    observations = opset13.parameter([-1, *graph.observation_shape], np.uint8, OBSERVATIONS)
    observations.output(0).set_names({OBSERVATIONS})
    nodes = {OBSERVATIONS: opset13.convert(observations, np.float32)}
    quantizer = None if ranges is None else _Quantizer(nodes, ranges)
    for operation in graph.operations:
        nodes[operation.output] = _make_node(operation, nodes, quantizer)
    results = [opset13.result(_named(nodes[name], name)) for name in (LOGITS, VALUE)]
    return Model(results, [observations], "policy_value")


class _Quantizer:
    """Inserts the roundings of int8; planes that several convolutions read are rounded once."""

    def __init__(self, nodes: Mapping[str, Node], ranges: Ranges) -> None:
        self._nodes = nodes  # grows while the model is made
        self._ranges = ranges
        self._quantized: dict[str, Node] = {}

    def observations(self, factors: FloatArray) -> Node:
        low, high = (np.float32(limit) for limit in self._ranges[OBSERVATIONS])
        highs = (high / factors)[None, :, None, None]
        return opset13.fake_quantize(self._nodes[OBSERVATIONS], low, highs, low, high, NUM_LEVELS)

    def planes(self, name: str) -> Node:
        if name not in self._quantized:
            limits = [np.float32(limit) for limit in self._ranges[name]]
            self._quantized[name] = opset13.fake_quantize(
                self._nodes[name], *limits, *limits, NUM_LEVELS
            )
        return self._quantized[name]

    def weight(self, weight: FloatArray) -> Node:
        integers, scale = quantize_weight(weight)
        converted = opset13.convert(opset13.constant(integers), np.float32)
        return opset13.multiply(converted, opset13.constant(scale))


def _make_node(
    operation: Operation, nodes: Mapping[str, Node], quantizer: _Quantizer | None
) -> Node:
    match operation:
        case Convolution():
            return _make_convolution(operation, nodes, quantizer)
        case Pooling():
            planes = nodes[operation.input]
            mean = opset13.reduce_mean(planes, _BOARD_AXES)
            return opset13.concat([mean, opset13.reduce_max(planes, _BOARD_AXES)], 1)
        case Flatten():
            return _flatten(nodes[operation.input])
        case Linear():
            return _make_linear(operation, nodes[operation.input])
        case CellLinear():
            weight = opset13.constant(operation.weight[:, :, None, None])
            return _flatten(_convolve(nodes[operation.input], weight, operation.bias))
        case Concatenation():
            return opset13.concat([nodes[name] for name in operation.inputs], 1)


def _make_convolution(
    operation: Convolution, nodes: Mapping[str, Node], quantizer: _Quantizer | None
) -> Node:
    if quantizer is None:
        planes, weight = nodes[operation.input], opset13.constant(operation.weight)
    elif operation.input == OBSERVATIONS:
        factors = plane_factors(operation.weight)
        planes = quantizer.observations(factors)
        weight = quantizer.weight(operation.weight / factors[:, None, None])
    else:
        planes, weight = quantizer.planes(operation.input), quantizer.weight(operation.weight)
    result = _convolve(planes, weight, operation.bias)
    if operation.residual is not None:
        # Rounded as well, since the sum is then part of the convolution's own call.
        residual = operation.residual
        result = opset13.add(result, quantizer.planes(residual) if quantizer else nodes[residual])
    if operation.cell_bias is not None:
        result = opset13.add(result, opset13.unsqueeze(nodes[operation.cell_bias], _BOARD_AXES))
    return opset13.relu(result)


def _convolve(planes: Node, weight: Node, bias: FloatArray) -> Node:
    padding = [weight.shape[-1] // 2] * 2
    result = opset13.convolution(planes, weight, _STRIDES, padding, padding, _DILATIONS)
    return opset13.add(result, opset13.constant(bias.reshape(1, -1, 1, 1)))


def _make_linear(operation: Linear, features: Node) -> Node:
    product = opset13.matmul(features, opset13.constant(operation.weight), False, True)
    result = opset13.add(product, opset13.constant(operation.bias[None]))
    activate = {"none": lambda node: node, "relu": opset13.relu, "tanh": opset13.tanh}
    return activate[operation.activation](result)


def _flatten(planes: Node) -> Node:
    return opset13.reshape(planes, np.array([_COPY_BATCH, -1]), special_zero=True)


def _named(node: Node, name: str) -> Node:
    node.output(0).set_names({name})
    return node


@cache
def _core() -> Core:
    """Returns OpenVINO's entry point; loading its plugin for CPUs takes a while."""
    return Core()
