"""Two processes that learn together on the CPU, started by `torchrun`."""

import copy
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch

from alphago.errors import ConfigError
from alphago.network.network import make_network, weights_of
from scripts.main import main
from tests.scripts.tiny_run import TINY as TINY_RUN
from tests.train import team_worker
from tests.train.training_setups import (
    TINY,
    TINY_AUXILIARY,
    TTT,
    auxiliary_rows,
    make_trainer,
    random_rows,
)
from train import trainer as trainer_module
from train.distributed import Team
from train.losses import auxiliary_losses
from train.targets import TrainingRows
from train.trainer import num_threads_for

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 240  # for a process that hangs; they take seconds, and a minute where kernels compile
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
ALPHAGO = (*TORCHRUN, "-m", "scripts.main")

State = dict[str, np.ndarray]


def start(*words: str) -> subprocess.Popen[str]:
    """Starts a command; standard output and error are one pipe."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # torchrun would say that it sets it
    return subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(*words: str) -> tuple[int, list[str]]:
    """Runs a command to its end; returns its exit code and its lines."""
    with start(*words) as process:
        output, _ = process.communicate(timeout=LIMIT_S)
    return process.returncode, output.splitlines()


# ----- steps


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder and the lines of a team that went through all scenarios of `team_worker`."""
    folder = tmp_path_factory.mktemp("team")
    code, lines = finish(*TORCHRUN, "-m", "tests.train.team_worker", str(folder))
    assert code == 0, "\n".join(lines)
    return folder, lines


def state(folder: Path, scenario: str, *, rank: int) -> State:
    with np.load(folder / f"{scenario}-{rank}.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def stepped_by_hand(rows: TrainingRows) -> tuple[State, float, float]:
    """Makes the first step of SGD in plain torch: the gradients of two halves, added.

    Returns:
        Parameters and the first half's statistics by name, the loss and the gradient's norm.
    """
    network = make_network(TTT.spec, TINY, seed=0).train()
    halves = [network, copy.deepcopy(network)]  # each measures batch norm's statistics for itself
    total = 0.0
    for half, part in zip(halves, (slice(0, 8), slice(8, 16)), strict=True):
        observations, policies, values = (torch.tensor(array[part]) for array in rows.arrays())
        logits, answers = half(observations.float())
        policy = -(policies * torch.log_softmax(logits, dim=1)).sum(dim=1)
        losses = policy + (answers - values) ** 2
        loss = losses.sum() / 16
        loss.backward()
        total += loss.item()
    pairs = zip(network.parameters(), halves[1].parameters(), strict=True)
    gradients = [one.grad + other.grad for one, other in pairs]
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm().item()
    with torch.no_grad():
        for weight, gradient in zip(network.parameters(), gradients, strict=True):
            decay = 0.01 if weight.ndim > 1 else 0.0
            weight -= 0.5 * (gradient * min(1.0, 1.0 / norm) + decay * weight)
    return {name: t.numpy() for name, t in network.state_dict().items()}, total, norm


def test_the_first_step_equals_one_by_hand(team: tuple[Path, list[str]]) -> None:
    expected, _, _ = stepped_by_hand(random_rows(1))
    ours = state(team[0], "first_step", rank=0)
    for name, array in expected.items():
        got = ours[f"network.{name}"]
        np.testing.assert_allclose(got, array, rtol=1e-4, atol=1e-6, err_msg=name)


def test_the_metrics_are_those_of_the_whole_minibatch(team: tuple[Path, list[str]]) -> None:
    _, loss, norm = stepped_by_hand(random_rows(1))
    (line,) = [line for line in team[1] if line.startswith("metrics ")]
    metrics = [float(number) for number in line.split()[1:]]
    assert metrics[0] == pytest.approx(loss, rel=1e-5)
    assert metrics[1] == pytest.approx(norm, rel=1e-4)


def test_the_targets_of_auxiliary_heads_are_dealt_out(team: tuple[Path, list[str]]) -> None:
    network = make_network(TTT.spec, TINY_AUXILIARY, seed=0).train()
    rows = auxiliary_rows(4)
    parts = [
        network.all_outputs(torch.tensor(rows.observations[half]).float())
        for half in (slice(0, 8), slice(8, 16))
    ]
    said = {name: torch.cat([part.auxiliary[name] for part in parts]) for name in rows.auxiliary}
    targets = {name: torch.tensor(array) for name, array in rows.auxiliary.items()}
    losses = auxiliary_losses(said, targets)
    (line,) = [line for line in team[1] if line.startswith("auxiliary ")]
    got = [float(number) for number in line.split()[1:]]
    assert got == pytest.approx([loss.item() for loss in losses.values()], rel=1e-5)


@pytest.mark.parametrize("scenario", team_worker.SCENARIOS)
def test_all_processes_end_with_the_same_weights_and_moments(
    team: tuple[Path, list[str]], scenario: str
) -> None:
    leader, follower = (state(team[0], scenario, rank=rank) for rank in (0, 1))
    own = {name for name in leader if name.startswith("average.")}
    assert leader.keys() - own == follower.keys()
    for name, array in follower.items():
        if "running_" not in name:  # each process measures batch norm's statistics for itself
            np.testing.assert_array_equal(array, leader[name], err_msg=name)


def test_a_resumed_leader_hands_its_state_on(team: tuple[Path, list[str]]) -> None:
    alone = make_trainer(**team_worker.RESUMED_SETTINGS)
    for number in range(6):
        alone.step(random_rows(number), 0.5 * (number >= 3))
    leader = state(team[0], "resumed", rank=0)
    assert leader["num_steps"] == 6
    assert leader["optimizer.step.stem.weight"] == 6
    assert leader["average.stem_norm.num_batches_tracked"] == 6
    # Other numbers than one process finds: batch norm sees other rows. But not far from them.
    weights = alone.state_dict()[0]["network.stem.weight"]
    np.testing.assert_allclose(leader["network.stem.weight"], weights, atol=0.03)


def test_a_share_that_diverges_stops_all_and_changes_nothing(
    team: tuple[Path, list[str]],
) -> None:
    folder, lines = team
    assert len([line for line in lines if line.startswith("diverged step 0: ")]) == 1
    for rank in (0, 1):
        after, expected = (state(folder, name, rank=rank) for name in ("diverged", "first_step"))
        for name, array in expected.items():
            np.testing.assert_array_equal(array, after[name], err_msg=name)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have names in /proc, on Linux alone")
def test_threads_of_gloo_end_with_the_team(team: tuple[Path, list[str]]) -> None:
    # One that ends while the interpreter does aborts the process, after a run that went well.
    ends = [line.split()[1:] for line in team[1] if line.startswith("threads ")]
    assert len(ends) == 2
    assert not any("gloo" in name for names in ends for name in names), ends


# ----- whole runs


def test_a_run_of_two_processes_can_be_resumed_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    code, lines = finish(*ALPHAGO, "train", *TINY_RUN, f"run_dir={folder}", "games=16")
    assert code == 0, "\n".join(lines)
    assert len([line for line in lines if line.startswith("run: ")]) == 1
    (end,) = [line for line in lines if line.startswith("stopped: ")]
    num_steps = int(end.split(" and ")[1].split()[0])
    assert num_steps > 0
    assert main(["resume", str(folder), "games=24"]) == 0
    assert max(int(path.name) for path in (folder / "checkpoints").iterdir()) > num_steps


def test_a_minibatch_that_cannot_be_shared_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    words = ("train", *TINY_RUN, "train.batch_size=17", f"run_dir={tmp_path / 'run'}")
    _, lines = finish(*ALPHAGO, *words)
    assert [line for line in lines if line.startswith("alphago")] == [
        "alphago train: error: train.batch_size: got 17, allowed: a multiple of the 2 processes,"
        " with two rows for each"
    ]
    # Torchrun's own exit code is 1; it reports that of the first process.
    assert [line.split()[2] for line in lines if "exitcode  :" in line] == ["2"]
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_help_ends_all_processes() -> None:
    code, lines = finish(*ALPHAGO, "train", "--help")
    assert code == 0
    assert len([line for line in lines if line.startswith("usage: ")]) == 1


def running(tmp_path: Path) -> tuple[subprocess.Popen[str], list[psutil.Process], list[str]]:
    """Starts a run without an end; returns it, leader and follower, once it has learnt."""
    words = ("train", *TINY_RUN, f"run_dir={tmp_path / 'run'}", "games=null")
    process = start(*ALPHAGO, *words)
    assert process.stdout is not None
    lines = []
    limit = threading.Timer(LIMIT_S, process.terminate)  # which ends the lines as well
    limit.start()
    for line in process.stdout:
        lines.append(line)
        if line.startswith("gate at step"):
            break
    limit.cancel()
    workers = sorted(psutil.Process(process.pid).children(), key=lambda worker: worker.pid)
    assert len(workers) == 2, "".join(lines)
    return process, workers, lines


def test_ctrl_c_saves_and_ends_all_processes(tmp_path: Path) -> None:
    process, workers, _ = running(tmp_path)
    with process:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=LIMIT_S)
    lines = output.splitlines()
    assert len([line for line in lines if line.startswith("stopped: interrupted")]) == 1, output
    assert psutil.wait_procs(workers, timeout=LIMIT_S)[1] == []
    assert main(["resume", str(tmp_path / "run"), "games=1"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_killed_ends_the_others(tmp_path: Path, victim: int) -> None:
    process, workers, _ = running(tmp_path)
    with process:
        workers[victim].kill()
        output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    assert "RuntimeError" not in output
    assert psutil.wait_procs(workers, timeout=LIMIT_S)[1] == []
    assert main(["resume", str(tmp_path / "run"), "games=1"]) == 0


# ----- this process alone


def test_every_process_needs_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    team = SimpleNamespace(size=4, local_size=4)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    Team.check(team, batch_size=8, device=torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    Team.check(team, batch_size=8, device=torch.device("cpu"))
    with pytest.raises(ConfigError, match="one process per GPU: 4 processes, 3 GPUs"):
        Team.check(team, batch_size=8, device=torch.device("cuda"))


@pytest.mark.parametrize("batch_size", [4, 6])
def test_every_process_needs_two_rows_and_as_many_as_the_others(batch_size: int) -> None:
    team = SimpleNamespace(size=4, local_size=4)
    with pytest.raises(ConfigError, match=f"got {batch_size}, allowed: a multiple of the 4"):
        Team.check(team, batch_size=batch_size, device=torch.device("cpu"))


def test_batch_norm_over_all_gpus_keeps_names_and_answers() -> None:
    network = make_network(TTT.spec, TINY, seed=0).eval()
    planes = torch.tensor(random_rows(0).observations).float()
    with torch.no_grad():
        expected = network(planes)
        converted = torch.nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(network))
        for one, other in zip(converted(planes), expected, strict=True):
            torch.testing.assert_close(one, other)
    assert list(weights_of(converted)) == list(weights_of(network))
    assert [name for name, _ in converted.named_parameters()] == [
        name for name, _ in network.named_parameters()
    ]


def test_a_trainer_alone_makes_no_process_group() -> None:
    make_trainer().step(random_rows(0), 0.0)
    assert not torch.distributed.is_initialized()


def test_steps_use_the_usable_cpus_and_a_team_shares_those_of_its_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trainer_module, "usable_cpus", lambda: 5)
    assert num_threads_for(None) == 5
    assert num_threads_for(SimpleNamespace(local_size=2)) == 2
    assert num_threads_for(SimpleNamespace(local_size=8)) == 1
    seen = []
    trainer = make_trainer(num_threads=None)
    trainer.network.stem.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    trainer.step(random_rows(0), 0.0)
    trainer.validate(random_rows(0))
    assert seen == [5, 5]
