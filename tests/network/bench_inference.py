"""Evaluations per CPU-second of the forms a network can be evaluated in, on one CPU thread.

    python -m tests.network.bench_inference

Prints the best of five runs of half a second each. Copies from and to numpy are part of it.
"""

import time

import torch

from alphago.network import NetworkConfig, make_network
from alphago.network.inference import FoldedNetwork, OneDnnConvolution, PlainConvolution
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
    return FoldedNetwork(
        module,
        board_shape=spec.observation_shape[1:],
        device=torch.device("cpu"),
        dtype=dtype,
        convolution=convolution,
    )


def main():
    torch.set_num_threads(1)
    spec = make_spec(3, 6, 7, 7)
    print("| blocks x channels | batch |", " | ".join(FORMS), "|")
    for num_blocks, num_channels in NETWORKS:
        config = NetworkConfig(
            num_blocks=num_blocks,
            num_channels=num_channels,
            policy_channels=4,
            value_channels=4,
            value_hidden=64,
        )
        module = make_network(spec, config, seed=0).eval()
        for num_rows in BATCHES:
            observations = random_observations(spec, num_rows, seed=0)
            with torch.inference_mode():
                rates = [
                    evaluations_per_cpu_second(make_form(module, spec, form), observations)
                    for form in FORMS.values()
                ]
            cells = " | ".join(f"{rate:,.0f}" for rate in rates)
            print(f"| {num_blocks} x {num_channels} | {num_rows} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
