"""Wrong options of `alphago train`: one line, exit code 2, nothing on disk."""

from pathlib import Path

import pytest

from scripts.main import main

# The overrides, and what the line must name: the key, and a hint where there is a near one.
WRONG = [
    (["train.batchsize=1"], ["train.batchsize", "train.batch_size"]),
    (["mcts.num_simulatons=50"], ["mcts.num_simulatons", "selfplay.num_simulations"]),
    (["train.lr=0.1"], ["train.lr", "train.learning_rate"]),
    (["actors=3"], ["actors", "selfplay.num_actors"]),
    (["netwrk=small"], ["netwrk", "network"]),
    (["nothing.like.it=3"], ["nothing.like.it", "--cfg job"]),
    (["+foo=1"], ["+foo=1", "neither added nor removed"]),
    (["++train.batch_size=1"], ["++train.batch_size=1", "write train.batch_size=VALUE"]),
    (["+experiment=tic_tac_toe_3min"], ["write experiment=VALUE"]),
    (["~train.batch_size"], ["~train.batch_size"]),
    (["~network"], ["~network"]),
    (["game=conect4"], ["game", "'conect4'", "connect_four", "tic_tac_toe"]),
    (["game=null"], ["game", "'null'", "connect_four"]),
    (["game=[connect_four,tic_tac_toe]"], ["game", "allowed: connect_four, go_13x13"]),
    (["game.name=go"], ["game", "'go'", "tic_tac_toe"]),
    (["network={num_blocks:3}"], ["network", "tiny"]),
    (["selfplay=inlin"], ["selfplay", "inline"]),
    (["experiment=fast"], ["experiment", "tic_tac_toe_3min"]),
    (["train.learning_rate=abc"], ["train.learning_rate", "'abc'", "a number"]),
    (["train.learning_rate=-1"], ["train.learning_rate", "-1"]),
    (["train.learning_rate=nan"], ["train.learning_rate", "nan"]),
    (["minutes=inf"], ["minutes", "inf", "finite"]),
    (["train.batch_size=1.5"], ["train.batch_size", "'1.5'", "an integer"]),
    (["train.batch_size=null"], ["train.batch_size", "'null'", "an integer"]),
    (["seed=true"], ["seed", "'true'"]),
    (["seed=-1"], ["seed", "-1"]),
    (["selfplay.num_actors=-1"], ["selfplay.num_actors", "-1", "from 1 to"]),
    (["gate.num_games=3"], ["gate.num_games", "3", "even"]),
    (["loop=sync"], ["loop", "'sync'", "synchronous"]),
    (["hydra.ouput_subdir=x"], ["hydra.ouput_subdir", "run_dir"]),
    (["hydra.run.dir=x"], ["hydra.run.dir", "run_dir"]),
    (["hydra/launcher=joblib"], ["hydra/launcher"]),
    (["run_dir='x"], ["run_dir='x", "quote"]),
    (["seed={"], ["seed={", "bracket"]),
    (["minutes="], ["minutes", "''", "a number or null"]),
    (["run_dir="], ["run_dir", "''"]),
    (["=3"], ["=3", "key=value"]),
    (["minutes"], ["minutes", "key=value"]),
    (["minutes=???"], ["minutes", "missing"]),
    (["minutes=${nope}"], ["minutes", "nope"]),
    (["train=5"], ["train", "section", "train.batch_size"]),
    (["search=null"], ["search", "section"]),
    (["train={batchsize: 1}"], ["train.batchsize", "train.batch_size"]),
    (["game@foo=connect_four"], ["game@foo"]),
    (["seed=1,2"], ["seed=1,2", "--multirun"]),
    (["--multirun", "seed=1,x"], ["seed", "'x'"]),
    (["--multirun", "game=connect_four,go"], ["game", "'go'"]),
    (["suite.file=nowhere.json"], ["nowhere.json", "no such file"]),
    (["suite.file=connect_fuor"], ["connect_fuor", "connect_four"]),
    (["game=tic_tac_toe", "suite.file=connect_four"], ["is for connect_four", "tic_tac_toe"]),
    (["target=0.9", "game=go_5x5"], ["target", "0.9", "suite.file"]),
    (["evaluator.backend=torch", "evaluator.precision=int8"], ["evaluator.precision", "'int8'"]),
    (["--multrun"], ["--multrun", "--multirun"]),
    (["--cfg", "all"], ["--cfg", "job"]),
    (["minutes", "3"], ["minutes 3", "write minutes=3"]),
    (["seed=1", "game", "tic_tac_toe", "minutes=3"], ["write game=tic_tac_toe"]),
    (["minutes", "seed=3"], ["minutes", "key=value"]),
    (["--minutes", "3"], ["--minutes", "options are written minutes=3"]),
    (["--steps=100", "seed=3"], ["options are written steps=100"]),
    (["seed=3", "--train.batch-size"], ["options are written train.batch_size=VALUE"]),
    (["--batch-size", "512"], ["unknown option", "options are written train.batch_size=512"]),
    (["--nothing-like-it"], ["--nothing-like-it: unknown option"]),
    # Values that would look something up, or run something.
    (["run_dir=${oc.env:HOME}"], ["run_dir=${oc.env:HOME}", "refer to another option"]),
    (["minutes=${oc.decode:'1'}"], ["refer to another option"]),
    (["suite.file=${oc.${game.name}:HOME}"], ["refer to another option"]),
    (["seed=${hydra:job.num}"], ["refer to another option"]),
    (["seed=${oc.env:SEED,1}"], ["refer to another option"]),
    (["network._target_=os.system"], ["network._target_", "unknown key"]),
    (["network={_target_: os.mkdir, path: x}"], ["network"]),
    (["train={_target_: os.mkdir, path: x}"], ["train._target_"]),
    (["_target_=os.mkdir"], ["_target_", "unknown key"]),
    (["hydra.searchpath=[file:///tmp]"], ["hydra.searchpath", "run_dir"]),
    # Values of endless size or depth.
    (["seed=" + "9" * 4000], ["seed"]),
    (["seed=" + "9" * 5000], ["seed=999", "too long"]),
    (["network.auxiliary=" + "[" * 41], ["network.auxiliary=[[", "too long"]),
    (["network.heads=" + "a" * 4150], ["network.heads", "fixed, pooled"]),
    (["x" * 300 + "=1"], ["xxx: unknown key"]),
    (["\x1b[31mseed=1"], [r"\x1b[31mseed: unknown key"]),
    (["--multirun", "seed=range(0,1000000000)"], ["more than 1000 values"]),
    (["--multirun", "seed=shuffle(range(0,1000000000))"], ["more than 1000 values"]),
    (["--multirun", "minutes=shuffle(range(0.5,1e9))"], ["more than 1000 values"]),
    (["--multirun", "seed=range(0,100)", "keep_checkpoints=range(1,20)"], ["1900 runs"]),
    (["network.num_blocks=1000000000"], ["network.num_blocks", "from 1 to"]),
    (["network.num_blocks=1000", "network.num_channels=4000"], ["network", "weights"]),
    (["evaluator.num_threads=1000000"], ["evaluator.num_threads", "from 1 to"]),
    (["selfplay.num_actors=1000000"], ["selfplay.num_actors", "from 1 to 10000"]),
    # Numbers whose sums or products are none.
    (["replay.samples_per_position=1e308"], ["replay.samples_per_position", "from 1e-09 to"]),
    (["selfplay.random_opening_plies=10000000000000000000"], ["random_opening_plies", "10000"]),
    (["replay.window_growth=katago", "replay.window_scale=1e308"], ["replay.window_scale"]),
    (["replay.window_min=" + "9" * 310], ["replay.window_min", "from 1 to"]),
    (["replay.window_exponent=1e-320"], ["replay.window_exponent", "from 1e-09 to 1"]),
    (["search.noise_concentration=1e-310"], ["search.noise_concentration"]),
]


@pytest.mark.parametrize(("words", "expected"), WRONG, ids=lambda value: " ".join(value)[:60])
def test_wrong_option_is_one_line_and_creates_nothing(
    words: list[str],
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("alphago train: error: ")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    for text in expected:
        assert text in err
    assert list(tmp_path.iterdir()) == []


def test_cuda_that_does_not_work_is_refused_before_anything_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("alphago.network.evaluator.cuda_fault", lambda: "the driver is too old")
    assert main(["train", "evaluator.device=cuda"]) == 2
    assert "evaluator.device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
