import pytest

from alphago.players import MoveAdvice, advice_table
from alphago.players.advice import is_converged


def searched(*visits):
    total = sum(visits)
    return [
        MoveAdvice(
            action=i,
            move=f"m{i}",
            visit_share=num / total,
            value=0.5 - i / 10 if num else None,
            prior=1 / len(visits),
            num_visits=num,
        )
        for i, num in enumerate(visits)
    ]


def estimated(*values_and_errors):
    return [
        MoveAdvice(i, f"m{i}", 1 / len(values_and_errors), value, 0.25, error, 10)
        for i, (value, error) in enumerate(values_and_errors)
    ]


def test_shows_the_best_moves_and_what_the_others_have():
    lines = advice_table(searched(40, 30, 20, 10, 0), num_moves=2).splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["move", "visits", "value", "prior"],
        ["m0", "40.0%", "+0.50", "20.0%"],
        ["m1", "30.0%", "+0.40", "20.0%"],
    ]
    assert lines[3:] == [
        "3 more: 30.0% of the visits",
        "first move ahead by 10.0% of the visits: not converged (above 50%)",
    ]


def test_columns_are_aligned():
    lines = advice_table(searched(40, 30, 0)).splitlines()
    assert {len(line) for line in lines[:4]} == {len(lines[0])}
    lines = advice_table(estimated((0.5, 0.1), (0.0, 0.123), (-1.0, 0.0))).splitlines()
    assert {len(line) for line in lines[:4]} == {len(lines[0])}


def test_a_list_that_is_not_cut_has_nothing_more():
    assert "more" not in advice_table(searched(40, 30), num_moves=2)


@pytest.mark.parametrize(
    ("visits", "converged"),
    [
        ((50, 50), False),
        ((75, 25), False),  # 50 more could make them equal
        ((76, 24), True),
        ((60, 10, 10, 10, 10), False),
        ((61, 10, 10, 10, 9), True),
        ((3, 0), True),
        ((3,), True),  # the only legal move
    ],
)
def test_a_search_has_converged_when_half_as_many_visits_more_cannot_change_the_move(
    visits, converged
):
    first, second = (*visits, 0)[:2]
    assert (second + sum(visits) // 2 < first) is converged
    assert is_converged(searched(*visits)) is converged
    verdict = "converged" if converged else "not converged"
    assert advice_table(searched(*visits)).endswith(f" of the visits: {verdict} (above 50%)")


def test_estimates_are_shown_as_win_rates_with_their_errors():
    lines = advice_table(estimated((0.5, 0.1), (0.0, 0.02))).splitlines()
    assert lines[0].split() == ["move", "visits", "win", "rate", "prior"]
    assert lines[1].split() == ["m0", "50.0%", "75.0%", "±", "5.0%", "25.0%"]
    # 0.25 and hypot(0.05, 0.01) as win rates.
    assert lines[3] == ("first move ahead by 25.0% ± 5.1%: converged (from 2 standard errors on)")


@pytest.mark.parametrize(
    ("moves", "converged"),
    [
        (((0.5, 0.1), (0.3, 0.0)), True),  # ahead by exactly 2
        (((0.5, 0.1), (0.31, 0.0)), False),
        (((0.5, 0.06), (0.3, 0.08)), True),
        (((0.5, 0.06), (0.3, 0.09)), False),
        (((1.0, 0.0), (1.0, 0.0)), False),  # two moves that both win at once
        (((1.0, 0.0), (0.9, 0.01)), True),
        (((0.2, 0.3), (None, None)), True),  # the only one tried
    ],
)
def test_estimates_have_converged_when_the_lead_is_two_standard_errors(moves, converged):
    assert is_converged(estimated(*moves)) is converged
    assert ("not converged" in advice_table(estimated(*moves))) is not converged


def test_a_player_without_a_search_shows_what_it_has():
    advice = [MoveAdvice(0, "4", 0.0, None, 0.6), MoveAdvice(1, "5", 0.0, None, 0.4)]
    assert [line.split() for line in advice_table(advice).splitlines()] == [
        ["move", "prior"],
        ["4", "60.0%"],
        ["5", "40.0%"],
    ]
    assert is_converged(advice) is None
    scored = [MoveAdvice(0, "4", 0.0, 1.0, 0.0), MoveAdvice(1, "5", 0.0, -0.2, 0.0)]
    assert [line.split() for line in advice_table(scored, num_moves=1).splitlines()] == [
        ["move", "value"],
        ["4", "+1.00"],
        ["1", "more"],
    ]


def test_known_ends_bounds_and_depths_are_shown():
    advice = [
        MoveAdvice(0, "a", 0.0, 0.99, 0.0, plies_to_end=13, depth=14),
        MoveAdvice(1, "b", 0.0, 0.5, 0.0, is_bound=True, depth=13),
        MoveAdvice(2, "c", 0.0, -0.99, 0.0, plies_to_end=2, depth=13),
    ]
    assert advice_table(advice).splitlines() == [
        "  move     value depth",
        "     a win in 13    14",
        "     b   <=+0.50    13",
        "     c loss in 2    13",
    ]
