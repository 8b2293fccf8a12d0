"""How fast the ways to evaluate a network are, and how far off their answers, on one CPU thread.

    python -m tests.network.bench_inference [RUN ...]

The first two tables are evaluations per CPU-second, beside the ratio to the module as it is trained
("eager"). The ways take turns in one process and the fastest call of each counts, since others may
use the machine. Copies from and to numpy are part of it. Then comes the time that new weights take.
The last table, for the newest networks of the runs that are named, has the errors against float32
on 1,024 positions of the newest games; int8 is calibrated on 256 positions of the games before.
"""

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from alphago.games import make_game
from alphago.network import NetworkConfig, make_network
from alphago.network.freezing import freeze
from alphago.network.inference import InferencePlan, build_backend
from alphago.network.network import load_weights
from alphago.network.onnx_model import OnnxBackend, make_onnx_model
from alphago.network.openvino_backend import OpenVinoBackend
from alphago.network.precision import PrecisionError, measure_error
from alphago.network.quantization import measure_ranges
from alphago.network.torch_backend import Target, TorchBackend
from alphago.players.loading import find_network
from selfplay.records import read_records
from tests.network.fake_game import make_spec, random_observations
from train.targets import rows_from_records

GO, CONNECT_FOUR = make_spec(17, 9, 9, 82), make_spec(3, 6, 7, 7)
NETWORKS = (("Go 9x9", GO, 4, 32), ("Go 9x9", GO, 6, 64), ("Connect Four", CONNECT_FOUR, 4, 64))
FIXED = {
    "heads": "fixed",
    "policy_channels": 4,
    "value_channels": 4,
    "value_hidden": 64,
    "auxiliary": [],
}
POOLED = {
    "heads": "pooled",
    "policy_channels": 16,
    "value_channels": 16,
    "value_hidden": 64,
    "auxiliary": [],
}
POOLINGS = {
    "no pooling": {"pooling_channels": 0} | FIXED,
    "in blocks": {"pooling_channels": 16} | FIXED,
    "in heads": {"pooling_channels": 0} | POOLED,
    "in both": {"pooling_channels": 16} | POOLED,
}
ROUNDS, SECONDS_PER_ROUND = 40, 0.03
NUM_CALIBRATING, NUM_COMPARED = 256, 1024


def make_backends(graph, positions):
    """Returns the functions that evaluate observations, by name."""
    cpu = torch.device("cpu")
    reference = TorchBackend(graph, Target(cpu, torch.float32))
    backends = {
        "torch fp32": reference,
        "torch bf16": TorchBackend(graph, Target(cpu, torch.bfloat16)),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "network.onnx")
        path.write_bytes(make_onnx_model(graph, {}).SerializeToString())
        backends["ONNX Runtime fp32"] = OnnxBackend(path)
    for precision in ("fp32", "bf16", "int8"):
        ranges = measure_ranges(graph, reference, positions) if precision == "int8" else None
        backends[f"openvino {precision}"] = OpenVinoBackend(
            graph, precision=precision, ranges=ranges, num_threads=1
        )
    return {name: backend.evaluate for name, backend in backends.items()}


def make_eager(module):
    def evaluate(observations):
        with torch.inference_mode():
            return [each.numpy() for each in module(torch.from_numpy(observations).float())]

    return evaluate


def rates_in_turns(ways, observations):
    """Returns evaluations per CPU-second of each way, from its fastest round."""
    fastest = dict.fromkeys(ways, math.inf)
    for _ in range(ROUNDS):
        for name, evaluate in ways.items():
            evaluate(observations)  # brings its weights back into the cache
            num_calls, start = 0, time.process_time()
            while (elapsed := time.process_time() - start) < SECONDS_PER_ROUND:
                evaluate(observations)
                num_calls += 1
            fastest[name] = min(fastest[name], elapsed / num_calls)
    return {name: len(observations) / seconds for name, seconds in fastest.items()}


def make_module(spec, num_blocks, num_channels, pooling):
    sizes = {"num_blocks": num_blocks, "num_channels": num_channels} | POOLINGS[pooling]
    return make_network(spec, NetworkConfig(**sizes), seed=0).eval()


def print_row(title, rates):
    base = next(iter(rates.values()))
    cells = (f"{rate:,.0f} ({rate / base:.2f})" for rate in rates.values())
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


def print_ways():
    for game, spec, num_blocks, num_channels in NETWORKS:
        module = make_module(spec, num_blocks, num_channels, "no pooling")
        positions = random_observations(spec, NUM_CALIBRATING, seed=0)
        ways = {"eager fp32": make_eager(module)} | make_backends(freeze(module, spec), positions)
        if (game, num_blocks) == ("Go 9x9", 4):
            print("| game, blocks x channels, batch |", " | ".join(ways), "|")
        for num_rows in (64, 1):
            rates = rates_in_turns(ways, positions[:num_rows])
            print_row(f"{game}, {num_blocks} x {num_channels}, {num_rows}", rates)


def print_poolings(way="openvino int8"):
    print(f"\n| Go 9x9, {way}, batch 64 |", " | ".join(POOLINGS), "|")
    positions = random_observations(GO, NUM_CALIBRATING, seed=0)
    for num_blocks, num_channels in ((4, 32), (6, 64)):
        modules = {name: make_module(GO, num_blocks, num_channels, name) for name in POOLINGS}
        ways = {
            name: make_backends(freeze(module, GO), positions)[way]
            for name, module in modules.items()
        }
        print_row(f"{num_blocks} x {num_channels}", rates_in_turns(ways, positions[:64]))


def print_updates():
    """Prints how long new weights take: calibrating int8, comparing and compiling."""
    positions = random_observations(GO, NUM_CALIBRATING, seed=0)
    limit = PrecisionError(math.inf, math.inf)  # a fresh network is not to try a second precision
    plan = InferencePlan(torch.device("cpu"), "openvino", "int8", limit, num_threads=1)
    print("\n| Go 9x9, new weights in int8 | CPU seconds |")
    for num_blocks, num_channels in ((4, 32), (6, 64)):
        module = make_module(GO, num_blocks, num_channels, "no pooling")
        fastest = math.inf
        for _ in range(5):
            start = time.process_time()
            build_backend(freeze(module, GO), plan, positions)
            fastest = min(fastest, time.process_time() - start)
        print(f"| {num_blocks} x {num_channels} | {fastest:.2f} |", flush=True)


def newest_positions(run, game, num_positions):
    """Returns observations of a run's newest games, those of the newest last."""
    records = []
    for path in sorted((run / "records").glob("*.npz"), reverse=True):
        records[:0] = read_records(path)
        if sum(len(record.actions) for record in records) >= 4 * num_positions:
            break
    return rows_from_records(game, records).observations


def print_errors(runs):
    print("\n| network | way | policy KL, nats | same best move | value error |")
    rng = np.random.default_rng(0)
    for run in runs:
        found = find_network(run, step="latest")
        game = make_game(found.info.game)
        module = make_network(game.spec, found.info.network, seed=0).eval()
        load_weights(module, found.weights)
        seen = newest_positions(run, game, NUM_CALIBRATING + NUM_COMPARED)
        older, newer = seen[: len(seen) // 4], seen[len(seen) // 4 :]
        calibrating = older[rng.choice(len(older), NUM_CALIBRATING, replace=False)]
        compared = newer[rng.choice(len(newer), NUM_COMPARED, replace=False)]
        ways = make_backends(freeze(module, game.spec), calibrating)
        expected = ways["torch fp32"](compared)
        for name, evaluate in ways.items():
            answer = evaluate(compared)
            error = measure_error(expected, answer)
            moves = (each.prior_logits.argmax(axis=1) for each in (expected, answer))
            share = np.equal(*moves).mean()
            print(
                f"| {run.name}, step {found.info.step} | {name} | {error.policy_kl:.2g} |"
                f" {share:.1%} | {error.value_error:.2g} |",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, nargs="*", help="folder of a run, for the errors")
    runs = parser.parse_args().run
    torch.set_num_threads(1)
    print_ways()
    print_poolings()
    print_updates()
    if runs:
        print_errors(runs)


if __name__ == "__main__":
    main()
