"""Evaluations per CPU-second of the forms a network can be evaluated in, on one CPU thread.

    python -m tests.network.bench_inference

Prints the best of five runs of half a second each. Copies from and to numpy are part of it. The
second table shows what global pooling costs, on Go 9x9 in the fastest form.
"""

import time

import torch

from alphago.network import NetworkConfig, make_network
from alphago.network.convolution import OneDnnConvolution, PlainConvolution
from alphago.network.inference import FoldedNetwork, Target
from tests.network.fake_game import make_spec, random_observations

NETWORKS = ((4, 32), (4, 64), (5, 64))  # blocks, channels
BATCHES = (64, 128, 256)
FORMS = {  # of the convolutions; None is the module as it is
    "eager fp32": None,
    "folded fp32": (torch.float32, PlainConvolution),
    "folded bf16": (torch.bfloat16, PlainConvolution),
    "oneDNN fp32": (torch.float32, OneDnnConvolution),
    "oneDNN bf16": (torch.bfloat16, OneDnnConvolution),
}
GO_NETWORKS = ((4, 32), (6, 64))  # blocks, channels
POOLINGS = {
    "no pooling": {"pooling_channels": 0, "heads": "fixed"},
    "in blocks": {"pooling_channels": 16, "heads": "fixed"},
    "in blocks and heads": {
        "pooling_channels": 16,
        "heads": "pooled",
        "policy_channels": 16,
        "value_channels": 16,
    },
}
HEAD_SIZES = {"policy_channels": 4, "value_channels": 4, "value_hidden": 64}


def evaluations_per_cpu_second(network, observations, *, runs=5, seconds=0.5):
    """Returns the best rate of several runs; CPU time and the best leave out what others do."""
    best = 0.0
    for _ in range(runs):
        num_calls, start = 0, time.process_time()
        while (elapsed := time.process_time() - start) < seconds:
            for answer in network(torch.from_numpy(observations)):
                answer.numpy()
            num_calls += 1
        best = max(best, num_calls * len(observations) / elapsed)
    return best


def make_form(module, spec, form):
    """Returns a function from uint8 observations to logits and values."""
    if form is None:
        return lambda observations: module(observations.float())
    dtype, convolution = form
    target = Target(
        board_shape=spec.observation_shape[1:],
        device=torch.device("cpu"),
        dtype=dtype,
        convolution=convolution,
    )
    return FoldedNetwork(module, target)


def measure(spec, sizes, *, num_rows, form):
    """Returns the rate of a fresh network of these sizes, in one form."""
    module = make_network(spec, NetworkConfig(**(HEAD_SIZES | sizes)), seed=0).eval()
    observations = random_observations(spec, num_rows, seed=0)
    with torch.inference_mode():
        return evaluations_per_cpu_second(make_form(module, spec, form), observations)


def print_forms():
    """Prints how the forms compare on Connect Four."""
    spec = make_spec(3, 6, 7, 7)
    print("| blocks x channels | batch |", " | ".join(FORMS), "|")
    for num_blocks, num_channels in NETWORKS:
        sizes = {"num_blocks": num_blocks, "num_channels": num_channels} | POOLINGS["no pooling"]
        for num_rows in BATCHES:
            rates = [measure(spec, sizes, num_rows=num_rows, form=form) for form in FORMS.values()]
            cells = " | ".join(f"{rate:,.0f}" for rate in rates)
            print(f"| {num_blocks} x {num_channels} | {num_rows} | {cells} |", flush=True)


def print_poolings():
    """Prints what global pooling costs on Go 9x9."""
    spec = make_spec(17, 9, 9, 82)
    print("| blocks x channels | batch |", " | ".join(POOLINGS), "|")
    for num_blocks, num_channels in GO_NETWORKS:
        rates = [
            measure(
                spec,
                {"num_blocks": num_blocks, "num_channels": num_channels} | pooling,
                num_rows=64,
                form=FORMS["oneDNN bf16"],
            )
            for pooling in POOLINGS.values()
        ]
        cells = " | ".join(f"{rate:,.0f}" for rate in rates)
        print(f"| {num_blocks} x {num_channels} | 64 | {cells} |", flush=True)


def main():
    torch.set_num_threads(1)
    print_forms()
    print()
    print_poolings()


if __name__ == "__main__":
    main()
