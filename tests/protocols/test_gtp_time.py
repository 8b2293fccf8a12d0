"""Time control with a watch that is moved by hand."""

from time import process_time

import pytest

from alphago.protocols.gtp_time import (
    LAG,
    NO_LIMIT,
    Clock,
    TimeControl,
    TimeSettings,
    TimeSystem,
    simple_settings,
)
from alphago.protocols.tree_thinker import TreeThinker
from tests.protocols.gtp_helpers import FakeClock, Gtp, network

BLACK, WHITE = 0, 1


def control(settings: TimeSettings) -> tuple[TimeControl, FakeClock]:
    clock = FakeClock()
    time = TimeControl(clock)
    time.set(settings)
    return time, clock


def spend(time: TimeControl, clock: FakeClock, seconds: float) -> Clock:
    """Lets Black think; returns what is left."""
    time.start_move()
    clock.seconds += seconds
    time.end_move(BLACK)
    return time.left(BLACK)


def test_settings_of_the_protocol() -> None:
    assert simple_settings(main=600, period=0, stones=0) == TimeSettings(TimeSystem.ABSOLUTE, 600)
    assert simple_settings(main=600, period=30, stones=5) == TimeSettings(
        TimeSystem.CANADIAN, 600, 30, 5
    )
    assert simple_settings(main=0, period=1, stones=0) == NO_LIMIT
    assert simple_settings(main=0, period=0, stones=0) == NO_LIMIT


def test_absolute_clock() -> None:
    time, clock = control(TimeSettings(TimeSystem.ABSOLUTE, 60))
    assert spend(time, clock, 10) == Clock(50, 0)
    assert time.left(WHITE) == Clock(60, 0)
    time.restart()
    assert time.left(BLACK) == Clock(60, 0)


def test_canadian_clock() -> None:
    time, clock = control(TimeSettings(TimeSystem.CANADIAN, 10, 30, 3))
    assert spend(time, clock, 4) == Clock(6, 0)
    assert spend(time, clock, 8) == Clock(28, 2)  # two seconds of it in the first period
    assert spend(time, clock, 5) == Clock(23, 1)
    assert spend(time, clock, 5) == Clock(30, 3)


def test_byoyomi_clock() -> None:
    time, clock = control(TimeSettings(TimeSystem.BYOYOMI, 10, 5, 3))
    assert spend(time, clock, 9) == Clock(1, 0)
    assert spend(time, clock, 5) == Clock(5, 3)  # four seconds of the first period
    assert spend(time, clock, 4.9) == Clock(5, 3)
    assert spend(time, clock, 6) == Clock(5, 2)
    time, _ = control(TimeSettings(TimeSystem.BYOYOMI, 0, 5, 3))
    assert time.left(BLACK) == Clock(5, 3)


def test_several_byoyomi_periods_in_one_move() -> None:
    for seconds, number in ((4.9, 5), (5, 4), (9.9, 4), (10, 3), (15.1, 2), (20, 1), (1e300, 1)):
        time, clock = control(TimeSettings(TimeSystem.BYOYOMI, 0, 5, 5))
        assert spend(time, clock, seconds) == Clock(5, number)


@pytest.mark.parametrize(
    "lines",
    [
        ("kgs-time_settings byoyomi 0 0 999999999",),
        ("kata-time_settings byoyomi 0 0 999999999",),
        ("kgs-time_settings byoyomi 10 0 5", "time_left b 0 999999999"),
        ("kgs-time_settings byoyomi 0 0.000000001 999999999",),
        ("kgs-time_settings byoyomi 0 1e-300 999999999",),
    ],
)
def test_byoyomi_periods_without_length_and_number_are_counted_at_once(
    lines: tuple[str, ...],
) -> None:
    gtp = Gtp(size=(5, 5), clock_step=1.0)
    for line in lines:
        gtp(line)
    started = process_time()
    assert gtp("genmove b")
    assert process_time() - started < 1
    assert gtp.session.time.left(BLACK).number == 1


def test_fischer_clock() -> None:
    time, clock = control(TimeSettings(TimeSystem.FISCHER, 10, 3))
    assert spend(time, clock, 5) == Clock(8, 0)


def test_allotments_by_hand() -> None:
    time, _ = control(NO_LIMIT)
    assert time.allotment(BLACK, num_points=81, num_moves=0) is None
    time, _ = control(TimeSettings(TimeSystem.ABSOLUTE, 101 + LAG))
    # 0.7 * 361 = 252.7 moves, half of them Black's; a tenth of a second is kept for each.
    share = (101 - 12.635) / 126.35
    assert time.allotment(BLACK, num_points=361, num_moves=0) == pytest.approx(share)
    assert time.allotment(BLACK, num_points=361, num_moves=300) == pytest.approx(99 / 20)
    time, _ = control(TimeSettings(TimeSystem.CANADIAN, 0, 20 + LAG, 5))
    assert time.allotment(BLACK, num_points=81, num_moves=0) == pytest.approx(0.8 * 20 / 5)
    time, _ = control(TimeSettings(TimeSystem.BYOYOMI, 0, 10 + LAG, 5))
    assert time.allotment(BLACK, num_points=81, num_moves=0) == pytest.approx(8)
    time, _ = control(TimeSettings(TimeSystem.BYOYOMI, 600, 10, 5))
    assert time.allotment(BLACK, num_points=361, num_moves=0) == pytest.approx(8)


@pytest.mark.parametrize(
    "settings",
    [
        TimeSettings(TimeSystem.ABSOLUTE, 60),
        TimeSettings(TimeSystem.ABSOLUTE, 20),
        TimeSettings(TimeSystem.CANADIAN, 20, 10, 10),
        TimeSettings(TimeSystem.CANADIAN, 0, 5, 1),
        TimeSettings(TimeSystem.BYOYOMI, 10, 3, 2),
        TimeSettings(TimeSystem.FISCHER, 5, 1),
    ],
)
def test_no_game_is_lost_on_time(settings: TimeSettings) -> None:
    """Every move takes what it is allotted and a tenth of a second more."""
    time, clock = control(settings)
    for num_moves in range(0, 130, 2):
        seconds = time.allotment(BLACK, num_points=81, num_moves=num_moves)
        before = time.left(BLACK)
        left = spend(time, clock, seconds + 0.1)
        if settings.system is TimeSystem.BYOYOMI:
            assert left.number in (0, settings.number)  # no period is ever used up
        elif before.number or settings.system is not TimeSystem.CANADIAN:
            assert before.seconds - seconds - 0.1 > 0


def test_the_controller_knows_better() -> None:
    gtp = Gtp()
    gtp("time_settings 60 10 5")
    gtp("time_left b 3.5 2")
    assert gtp.session.time.left(BLACK) == Clock(3.5, 2)
    gtp("time_left w -0.2 0")
    assert gtp.session.time.left(WHITE) == Clock(0, 0)
    gtp("clear_board")
    assert gtp.session.time.left(BLACK) == Clock(60, 0)


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("kgs-time_settings none", NO_LIMIT),
        ("kgs-time_settings absolute 300", TimeSettings(TimeSystem.ABSOLUTE, 300)),
        ("kgs-time_settings byoyomi 300 30 5", TimeSettings(TimeSystem.BYOYOMI, 300, 30, 5)),
        ("kgs-time_settings canadian 300 30 25", TimeSettings(TimeSystem.CANADIAN, 300, 30, 25)),
        ("kata-time_settings fischer 60 2.5", TimeSettings(TimeSystem.FISCHER, 60, 2.5)),
        ("time_settings 0 1 0", NO_LIMIT),
    ],
)
def test_settings_over_gtp(line: str, settings: TimeSettings) -> None:
    gtp = Gtp()
    assert gtp(line) == ""
    assert gtp.session.time.settings == settings


@pytest.mark.parametrize(
    "line",
    [
        "time_settings 1 2",
        "time_settings a 0 0",
        "time_settings -1 0 0",
        "time_settings 1 1 -1",
        "time_left green 1 1",
        "time_left b x 1",
        "time_left b 1",
        "kgs-time_settings fischer 1 1",
        "kgs-time_settings absolute",
        "kgs-time_settings canadian 1 1 0",
        "kata-time_settings nosuch 1",
        "kata-time_settings none 1",
    ],
)
def test_wrong_settings_are_refused_and_the_old_ones_stay(line: str) -> None:
    gtp = Gtp()
    gtp("time_settings 60 0 0")
    gtp("time_left b 50 0")
    assert gtp.refusal(line)
    assert gtp.session.time.settings == TimeSettings(TimeSystem.ABSOLUTE, 60)
    assert gtp.session.time.left(BLACK) == Clock(50, 0)


def test_clock_shortens_the_search_and_is_charged() -> None:
    gtp = Gtp(network(10_000), size=(5, 5), clock_step=0.01)
    gtp("time_settings 20 0 0")
    assert gtp("genmove b")
    left = gtp.session.time.left(BLACK).seconds
    # A twentieth of what is left beside the lag and the reserve, and what one look at it takes.
    assert 20 - left == pytest.approx((20 - LAG - 2) / 20, abs=0.1)
    assert gtp.session.time.left(WHITE).seconds == 20


def test_with_no_time_left_a_move_comes_at_once() -> None:
    gtp = Gtp(network(10_000), size=(5, 5), clock_step=0.01)
    gtp("time_settings 1 0 0")
    gtp("time_left b 0 0")
    started = gtp.clock.seconds
    assert gtp("genmove b")
    assert gtp.clock.seconds - started < 0.2


def test_seconds_take_the_place_of_simulations() -> None:
    gtp = Gtp(network(3), size=(5, 5), clock_step=0.001, seconds=0.5)
    assert gtp("genmove b")
    assert gtp.session.thinkers.of(gtp.session.board.game).num_visits > 30


@pytest.mark.parametrize("settings", ["time_settings 300 0 0", "kata-time_settings fischer 300 1"])
def test_stones_told_in_a_main_time_are_no_period(settings: str) -> None:
    gtp = Gtp()
    gtp(settings)
    seconds = []
    for stones in (0, 1):
        gtp(f"time_left b 100 {stones}")
        seconds.append(gtp.session.time.allotment(BLACK, num_points=81, num_moves=0))
    assert seconds[0] == seconds[1] < 5


def num_visits(gtp: Gtp) -> int:
    thinker = gtp.session.thinkers.of(gtp.session.board.game)
    assert isinstance(thinker, TreeThinker)
    return thinker.num_visits


def test_a_network_with_a_limit_of_time_of_its_own_keeps_to_it() -> None:
    """A tenth of a second goes by with each look at the clock."""
    gtp = Gtp(network(100_000, seconds=2.0), size=(5, 5), clock_step=0.1)
    gtp("reg_genmove b")
    assert 10 <= num_visits(gtp) <= 25
    few = Gtp(network(6, seconds=2.0), size=(5, 5), clock_step=0.1)
    few("reg_genmove b")
    assert num_visits(few) == 7  # its simulations are spent first; the root is a visit too


def test_a_clock_and_the_engines_option_shorten_that_time() -> None:
    make = network(100_000, seconds=2.0)
    option = Gtp(make, size=(5, 5), clock_step=0.1, seconds=0.5)
    option("reg_genmove b")
    assert num_visits(option) <= 8
    clock = Gtp(make, size=(5, 5), clock_step=0.1)
    clock("time_settings 8 0 0")
    clock("reg_genmove b")
    assert num_visits(clock) <= 8
