from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import ConfigError, RecordError
from alphago.games import make_game
from alphago.games.game import Game
from selfplay.record_store import RecordStore
from selfplay.records import GameRecord, is_held_out
from tests.games.playthrough import GOLDEN_NAMES
from tests.reference.game_records import make_record, random_records
from train import games_to_rows
from train.games_to_rows import append_games, append_sound_games
from train.replay_buffer import ReplayBuffer, ReplayConfig, bytes_of_window, window_size
from train.targets import TrainingRows, rows_from_records

TTT = make_game("tic_tac_toe")
C4 = make_game("connect_four")


def replay_config(**changes: object) -> ReplayConfig:
    settings: dict[str, object] = {
        "window_size": 100,
        "window_growth": "fixed",
        "window_min": 20,
        "window_exponent": 0.65,
        "window_scale": 0.4,
        "samples_per_position": 1000.0,
        "holdout_fraction": 0.0,
        "root_value_share": 0.0,
        "root_value_horizon": 1.0,
    }
    return ReplayConfig(**(settings | changes))


def numbered_rows(game: Game, begin: int, end: int) -> TrainingRows:
    """Rows that carry their number as value; no position is equal to its mirror image."""
    num_rows = end - begin
    observations = np.zeros((num_rows, *game.spec.observation_shape), np.uint8)
    observations[:, 0, 0, 0] = 1
    policies = np.zeros((num_rows, game.spec.num_actions), np.float32)
    policies[:, 0] = 1
    numbers = np.arange(begin, end, dtype=np.float32)
    return TrainingRows(observations, policies, numbers)


def test_the_memory_of_a_window_is_known_before_it_is_taken() -> None:
    # 3 planes of 3 x 3 are 27 bits, 4 bytes; 9 moves of 2 bytes; a value of 4 bytes.
    config = replay_config(window_size=1000, holdout_fraction=0.1)
    num_planes = TTT.spec.observation_shape[0]
    per_row = -(-num_planes * 9 // 8) + 9 * 2 + 4
    assert bytes_of_window(TTT.spec, config, auxiliary=()) == 1100 * per_row
    buffer = ReplayBuffer(TTT.spec, config)
    assert buffer._learnt.num_bytes + buffer._held_out.num_bytes == 1100 * per_row


def test_the_newest_positions_are_kept() -> None:
    for sizes in ([100, 30], [30, 100], [250], [99, 1, 1], [7] * 30):
        buffer = ReplayBuffer(TTT.spec, replay_config())
        seen = 0
        for size in sizes:
            buffer.append(numbered_rows(TTT, seen, seen + size))
            seen += size
        drawn = buffer.sample(5000, np.random.default_rng(0)).value_targets
        assert buffer.positions_seen == seen
        assert buffer.num_positions == buffer.window == 100
        assert set(drawn.tolist()) == set(range(seen - 100, seen))


@pytest.mark.parametrize("size", [10**15, 10**30, 10**400], ids=["10**15", "10**30", "10**400"])
def test_a_window_that_memory_does_not_hold_is_refused_by_its_name(size: int) -> None:
    with pytest.raises(ConfigError, match=r"^replay\.window_size: got 10.*fits into memory$"):
        ReplayBuffer(TTT.spec, replay_config(window_size=size))


def positions(buffer: ReplayBuffer) -> list[np.ndarray]:
    """Returns the learnt and the held-out rows, newest first."""
    rings = (buffer._learnt, buffer._held_out)
    return [array for ring in rings for array in ring.take(np.arange(ring.num_rows))]


def test_stored_games_that_do_not_replay_are_left_out_and_told() -> None:
    records = random_records(TTT, num_games=300, seed=3)
    faulty = {2: "move 1 is illegal", 7: "the record says", 290: "move 1 is illegal"}
    records[7] = replace(records[7], returns=np.array([0.5, -0.5], np.float32))
    for number in (2, 290):
        records[number].actions[1] = records[number].actions[0]
    config = replay_config(window_size=5000, holdout_fraction=0.25)  # 7 is held out
    buffer = ReplayBuffer(TTT.spec, config)
    faults = append_sound_games(buffer, TTT, records)
    for fault, (number, words) in zip(faults, faulty.items(), strict=True):
        assert f"game {number} of actor 2" in fault
        assert words in fault
    expected = ReplayBuffer(TTT.spec, config)
    append_games(expected, TTT, [r for n, r in enumerate(records) if n not in faulty])
    assert buffer.positions_seen == expected.positions_seen
    for one, other in zip(positions(buffer), positions(expected), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(RecordError, match="game 2 of actor 2"):  # games just played still raise
        append_games(buffer, TTT, records)


def test_sampling_is_uniform_over_the_window() -> None:
    buffer = ReplayBuffer(TTT.spec, replay_config(window_size=20))
    buffer.append(numbered_rows(TTT, 0, 20))
    drawn = buffer.sample(20_000, np.random.default_rng(0)).value_targets
    counts = np.bincount(drawn.astype(int), minlength=20)
    # Mean 1000, standard deviation 31.
    assert counts.min() > 850
    assert counts.max() < 1150


def test_observations_are_drawn_from_the_window_and_count_as_no_samples() -> None:
    buffer = ReplayBuffer(TTT.spec, replay_config())
    rows = numbered_rows(TTT, 0, 130)
    bits = np.arange(130)[:, None] >> np.arange(8) & 1  # each row shows its number
    rows.observations.reshape(130, -1)[:, :8] = bits
    buffer.append(rows)
    buffer._learnt.take = None  # nothing but observations is copied
    drawn = buffer.draw_observations(np.random.default_rng(0), num_rows=3000)
    assert drawn.dtype == np.uint8
    assert drawn.shape == (3000, *TTT.spec.observation_shape)
    numbers = (drawn.reshape(3000, -1)[:, :8].astype(int) << np.arange(8)).sum(axis=1)
    assert set(numbers.tolist()) == set(range(30, 130))  # the newest 100
    assert buffer.samples_drawn == 0


def test_before_symmetries_a_row_comes_back_as_it_went_in() -> None:
    (record,) = random_records(C4, num_games=1, seed=4)
    rows = rows_from_records(C4, [record])
    buffer = ReplayBuffer(C4.spec, replay_config(holdout_fraction=0.5))
    buffer.append_held_out(rows)
    held_out = buffer.newest_held_out(1000)
    np.testing.assert_array_equal(held_out.observations, rows.observations[::-1])
    np.testing.assert_allclose(held_out.policy_targets, rows.policy_targets[::-1], rtol=1e-3)
    np.testing.assert_allclose(held_out.policy_targets.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(held_out.value_targets, rows.value_targets[::-1])
    assert len(buffer.newest_held_out(2).value_targets) == 2


def test_one_visit_of_800_is_kept_within_two_percent_and_zero_stays_zero() -> None:
    rows = numbered_rows(TTT, 1, 2)
    rows.policy_targets[0] = [799 / 800, 1 / 800, 0, 0, 0, 0, 0, 0, 0]
    buffer = ReplayBuffer(TTT.spec, replay_config())
    buffer.append(rows)
    policies = buffer.sample(100, np.random.default_rng(0)).policy_targets
    assert (np.count_nonzero(policies, axis=1) == 2).all()
    smallest = np.where(policies > 0, policies, 1).min(axis=1)
    np.testing.assert_allclose(smallest, 1 / 800, rtol=0.02)
    np.testing.assert_allclose(policies.sum(axis=1), 1, atol=1e-5)


def test_a_mirrored_connect_four_row_by_hand() -> None:
    # First stone in column 1, target all on column 2; mirrored: stone in column 7, target 6.
    states = C4.step(C4.initial_states(1), [0])
    policy = np.array([[0, 1, 0, 0, 0, 0, 0]], np.float32)
    buffer = ReplayBuffer(C4.spec, replay_config())
    buffer.append(TrainingRows(C4.observe(states), policy, np.ones(1, np.float32)))
    rows = buffer.sample(200, np.random.default_rng(0))
    stones = rows.observations[:, 1, -1, :].argmax(axis=1)  # the opponent's, bottom row
    assert (rows.observations[:, 1].sum(axis=(1, 2)) == 1).all()
    targets = rows.policy_targets.argmax(axis=1)
    assert set(zip(stones.tolist(), targets.tolist(), strict=True)) == {(0, 1), (6, 5)}
    assert 60 < (stones == 0).sum() < 140


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_samples_are_exactly_the_images_under_the_games_symmetries(name: str) -> None:
    game = make_game(name)
    (record,) = random_records(game, num_games=1, seed=8)
    rows = rows_from_records(game, [record])
    middle = rows.with_arrays([array[3:4] for array in rows.arrays()])
    # The target is uniform over the legal actions, so an image is again the image of the mask.
    state = game.initial_states(1)
    for action in record.actions[: np.flatnonzero(record.is_target)[3]]:
        state = game.step(state, [action])
    images = [game.apply_symmetry(state, symmetry) for symmetry in game.spec.symmetries]
    expected = {
        (game.observe(image).tobytes(), game.legal_actions(image).tobytes()) for image in images
    }
    buffer = ReplayBuffer(game.spec, replay_config())
    buffer.append(middle)
    sample = buffer.sample(500, np.random.default_rng(1))
    got = {
        (observation.tobytes(), (policy > 0).tobytes())
        for observation, policy in zip(sample.observations, sample.policy_targets, strict=True)
    }
    assert got == expected


def test_the_same_stream_draws_the_same_rows() -> None:
    buffers = [ReplayBuffer(TTT.spec, replay_config()) for _ in range(2)]
    for buffer in buffers:
        append_games(buffer, TTT, random_records(TTT, num_games=10, seed=1))
    samples = [buffer.sample(64, np.random.default_rng(7)) for buffer in buffers]
    for one, other in zip(*(sample.arrays() for sample in samples), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("growth", ["fixed", "katago"])
def test_a_rebuilt_buffer_goes_on_like_one_that_never_stopped(tmp_path: Path, growth: str) -> None:
    config = replay_config(window_size=150, window_growth=growth, holdout_fraction=0.2)
    never_stopped = ReplayBuffer(TTT.spec, config)
    store = RecordStore(tmp_path, "tic_tac_toe")
    rng = np.random.default_rng(3)
    for call in range(30):
        records = random_records(TTT, num_games=1 + call % 4, seed=call, first=store.num_games)
        store.append(records)
        append_games(never_stopped, TTT, records)
        never_stopped.sample(16, rng)
        if call == 24:  # the last checkpoint; five more calls reached the disk before the kill
            state, num_games = never_stopped.state_dict(), store.num_games
            samples_since = never_stopped.samples_drawn

    reopened = RecordStore(tmp_path, "tic_tac_toe")
    rebuilt = ReplayBuffer(TTT.spec, config)
    newest = reopened.newest(config.window_size, end=num_games, holdout_fraction=0.2)
    append_games(rebuilt, TTT, newest)
    rebuilt.load_state_dict(state)
    append_games(rebuilt, TTT, reopened.since(num_games))

    assert rebuilt.positions_seen == never_stopped.positions_seen > 300
    assert rebuilt.window == never_stopped.window
    assert rebuilt.samples_drawn == samples_since == never_stopped.samples_drawn - 5 * 16
    pairs = [
        [buffer.sample(200, np.random.default_rng(5)) for buffer in (rebuilt, never_stopped)],
        [buffer.newest_held_out(1000) for buffer in (rebuilt, never_stopped)],
    ]
    for pair in pairs:
        for one, other in zip(*(rows.arrays() for rows in pair), strict=True):
            np.testing.assert_array_equal(one, other)


def test_held_out_games_never_reach_the_window() -> None:
    records = [make_record(TTT, [0, 3, 1, 4, 2], number=number) for number in range(10)]
    records[4] = make_record(TTT, [8, 3, 7, 4, 6], number=4)
    assert is_held_out(records[4], 0.2)
    buffer = ReplayBuffer(TTT.spec, replay_config(holdout_fraction=0.2))
    append_games(buffer, TTT, records)
    assert buffer.positions_seen == buffer.num_positions == 8 * 5
    assert buffer.num_held_out == 2 * 5
    held_out = buffer.newest_held_out(100)
    assert len(np.unique(held_out.observations, axis=0)) == 9  # the empty board is common


def test_the_use_of_positions_is_bounded() -> None:
    buffer = ReplayBuffer(TTT.spec, replay_config(samples_per_position=1.5))
    rng = np.random.default_rng(0)
    assert buffer.samples_allowed() == 0
    buffer.append(numbered_rows(TTT, 0, 11))
    assert buffer.samples_allowed() == 16
    buffer.sample(10, rng)
    assert buffer.samples_allowed() == 6
    with pytest.raises(AssertionError, match="bound"):
        buffer.sample(7, rng)
    assert buffer.samples_drawn == 10
    buffer.append(numbered_rows(TTT, 11, 12))
    assert buffer.samples_allowed() == 8


def test_the_window_law_of_katago_by_hand() -> None:
    config = replay_config(
        window_size=10**6, window_growth="katago", window_min=10_000, window_exponent=0.5
    )
    assert window_size(config, 500) == 500
    assert window_size(config, 10_000) == 10_000
    # 10000 + 0.4 * (200 - 100) / (0.5 * 10000^-0.5) = 10000 + 40 / 0.005
    assert window_size(config, 40_000) == 18_000
    # Its slope at the start is the scale.
    assert window_size(config, 10_100) == pytest.approx(10_040, abs=1)
    assert window_size(replay_config(window_growth="katago"), 10**9) == 100
    assert window_size(replay_config(), 50) == 50
    assert window_size(replay_config(), 5000) == 100


def test_a_growing_window_leaves_older_positions_unused() -> None:
    config = replay_config(window_size=100, window_growth="katago", window_min=10)
    buffer = ReplayBuffer(TTT.spec, config)
    buffer.append(numbered_rows(TTT, 0, 60))
    drawn = buffer.sample(5000, np.random.default_rng(0)).value_targets
    assert buffer.num_positions == 60
    assert 10 < buffer.window < 60
    assert set(drawn.tolist()) == set(range(60 - buffer.window, 60))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("window_size", 0),
        ("window_growth", "linear"),
        ("window_min", 0),
        ("window_exponent", 0.0),
        ("window_scale", float("inf")),
        ("samples_per_position", float("nan")),
        ("holdout_fraction", 0.6),
        ("root_value_share", 1.1),
        ("root_value_horizon", 0.5),
        ("root_value_horizon", float("inf")),
    ],
)
def test_settings_out_of_range_are_named(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"replay.{key}"):
        replay_config(**{key: value})


@pytest.mark.parametrize("num_moves", [1, 40])
def test_batches_that_are_bounded_by_moves_give_the_same_rows(
    num_moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = random_records(TTT, num_games=30, seed=3)
    config = replay_config(window_size=500, holdout_fraction=0.25)
    whole, parted = (ReplayBuffer(TTT.spec, config) for _ in range(2))
    append_games(whole, TTT, records)
    sizes: list[int] = []

    def count(game: Game, games: list[GameRecord], **options: object) -> TrainingRows:
        sizes.append(sum(len(record.actions) for record in games))
        return rows_from_records(game, games, **options)

    monkeypatch.setattr(games_to_rows, "MOVES_PER_REPLAY", num_moves)
    monkeypatch.setattr(games_to_rows, "rows_from_records", count)
    append_games(parted, TTT, records)
    assert max(sizes) <= max(num_moves, 9)  # the longest game of Tic-tac-toe
    for one, other in zip(positions(whole), positions(parted), strict=True):
        np.testing.assert_array_equal(one, other)
