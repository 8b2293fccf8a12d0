"""Every YAML file composes to a valid configuration, and says the unit of every number."""

import re
from pathlib import Path

import pytest

from alphago.games import GAME_NAMES, make_game
from eval.suite_files import shipped_suites
from eval.suites import load_suite
from eval.yardstick import check_yardstick
from scripts.composition import compose_config, flatten, to_run_config
from scripts.overrides import CONFIG_FOLDER, GROUPS, group_options, leaf_types

OPTIONS = [(group, option) for group in GROUPS for option in group_options(group)]
YAML_FILES = sorted(CONFIG_FOLDER.rglob("*.yaml"))


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_every_option_of_every_group_composes(group: str, option: str) -> None:
    # Networks that fit every board size are for games whose actions are the cells of the board.
    game = ["game=go_9x9"] if option.startswith("go_") and group == "network" else []
    config = to_run_config(compose_config([*game, f"{group}={option}"]))
    if group == "game":
        assert config.game.name == option
    if group == "selfplay":
        assert config.selfplay.mode == option


def test_default_run_is_half_an_hour_of_go_on_9x9_with_a_yardstick() -> None:
    config = to_run_config(compose_config([]))
    assert (config.game.name, config.minutes) == ("go_9x9", 30)
    assert (config.suite.file, config.suite.every_minutes) == ("go_9x9", 2.5)
    check_yardstick(config.yardstick, make_game(config.game.text))
    assert config.yardstick.player is not None


@pytest.mark.parametrize("name", GAME_NAMES)
def test_every_game_has_a_config_and_a_suite_it_can_play(name: str) -> None:
    config = to_run_config(compose_config([f"game={name}"]))
    assert config.game.name == name
    if config.suite.file is not None:
        load_suite(make_game(config.game.text), config.suite.file)


def test_connect_four_suite_comes_with_the_project() -> None:
    assert "connect_four" in shipped_suites()


def test_experiments_choose_their_game_and_can_be_overridden() -> None:
    config = to_run_config(compose_config(["experiment=tic_tac_toe_3min"]))
    assert (config.game.name, config.minutes, config.suite.file) == (
        "tic_tac_toe",
        2.7,
        "tic_tac_toe",
    )
    config = to_run_config(compose_config(["experiment=connect_four_30min", "minutes=1"]))
    assert (config.game.name, config.minutes) == ("connect_four", 1)


def test_networks_grow_from_tiny_to_large() -> None:
    sizes = [
        to_run_config(compose_config([f"network={name}"])).network
        for name in ("tiny", "small", "medium", "large")
    ]
    assert [(size.num_blocks, size.num_channels) for size in sizes] == [
        (2, 32),
        (4, 32),
        (4, 64),
        (8, 128),
    ]


def test_every_option_has_a_value() -> None:
    assert dict(flatten(compose_config([]))).keys() == leaf_types().keys()


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.stem)
def test_every_number_has_a_comment(path: Path) -> None:
    bare = [
        line
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*\w+: *[-\d\[]", line) and "#" not in line
    ]
    assert bare == []
