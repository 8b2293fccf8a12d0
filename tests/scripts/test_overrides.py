"""Overrides that are right: what Hydra makes of them."""

from pathlib import Path

import pytest
import yaml

from scripts.arguments import CommandLineError
from scripts.composition import compose_config, to_run_config
from scripts.main import main
from scripts.overrides import expand
from train.config import RunConfig


def composed(*words: str) -> RunConfig:
    (job,) = expand(words, multirun=False)
    return to_run_config(compose_config(job))


def test_values_reach_the_dataclasses_with_their_types() -> None:
    config = composed(
        "game=tic_tac_toe", "network=medium", "train.batch_size=512", "minutes=30", "target=null"
    )
    assert config.game.name == "tic_tac_toe"
    assert config.network.num_channels == 64
    assert config.train.batch_size == 512
    assert config.minutes == 30.0
    assert config.target is None


def test_last_of_two_values_wins() -> None:
    assert composed("seed=3", "seed=4").seed == 4


def test_interpolation_of_another_option() -> None:
    texts = ("gate.num_simulations=77", "suite.num_simulations=${gate.num_simulations}")
    assert composed(*texts).suite.num_simulations == 77


@pytest.mark.parametrize(
    "path", ["runs/mit Öl (alt)/x", "/tmp/a=b", "007", "1e3", 'say "hi"', "true", "~/x"]
)
def test_run_dir_is_taken_as_it_is_typed(path: str) -> None:
    assert composed(f"run_dir={path}").run_dir == path


def test_run_dir_null_is_no_folder_of_that_name() -> None:
    assert composed("run_dir=null").run_dir is None
    assert composed("run_dir='null'").run_dir == "null"


def test_multirun_is_the_product_of_all_sweeps() -> None:
    jobs = expand(["seed=1,2", "game=tic_tac_toe", "network=tiny,small"], multirun=True)
    assert jobs == [
        [f"seed={seed}", "game=tic_tac_toe", f"network={network}"]
        for seed in (1, 2)
        for network in ("tiny", "small")
    ]


def test_multirun_knows_ranges() -> None:
    shuffled = expand(["seed=shuffle(range(1,4))"], multirun=True)
    jobs = expand(["seed=range(1,4)"], multirun=True)
    assert sorted(shuffled) == jobs
    assert [to_run_config(compose_config(job)).seed for job in jobs] == [1, 2, 3]


def test_multirun_without_sweep_is_one_job() -> None:
    assert expand(["seed=1"], multirun=True) == [["seed=1"]]


def test_cfg_job_prints_yaml_that_has_every_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--cfg", "job", "experiment=tic_tac_toe_3min", "seed=9"]) == 0
    config = yaml.safe_load(capsys.readouterr().out)
    assert (config["game"]["name"], config["seed"]) == ("tic_tac_toe", 9)
    assert {"network", "search", "selfplay", "replay", "train", "gate", "suite"} < set(config)
    assert list(tmp_path.iterdir()) == []


def test_cfg_job_of_a_multirun_prints_every_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-m", "--cfg", "job", "seed=5,6"]) == 0
    documents = yaml.safe_load_all(capsys.readouterr().out)
    assert [document["seed"] for document in documents] == [5, 6]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("game=go_5x5:komi=6.5,ko=simple", "game=go_5x5 game.komi=6.5 game.ko=simple"),
        ("game=go_11x7", "other boards: game=go_13x13 game.name=go_11x7 game.max_moves=null"),
    ],
)
def test_games_written_as_elsewhere_are_told_how_a_run_writes_them(word: str, message: str) -> None:
    with pytest.raises(CommandLineError, match=message):
        expand([word], multirun=False)
