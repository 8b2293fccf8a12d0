import pytest

from alphago.errors import ConfigError
from alphago.games import make_game
from alphago.players import make_player
from eval.gating import GateConfig, decide, passes, play_gate_games
from eval.matches import play_match
from eval.openings import paired_openings
from tests.search.evaluators import FixedEvaluator, HashEvaluator, UniformEvaluator
from tests.search.positions import search_config

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")
CONFIG = {
    "mode": "gate",
    "num_games": 12,
    "num_simulations": 20,
    "threshold_percent": 55,
    "opening_plies": 2,
}


def gate_config(**changes):
    return GateConfig(**{**CONFIG, **changes})


def gate_match(game, candidate, best, config, *, seed):
    """Plays a whole gate, as a run does in parts."""
    openings = paired_openings(
        game, num_pairs=config.num_games // 2, num_plies=config.opening_plies, seed=seed
    )
    return play_gate_games(
        game, candidate, best, search_config(), config, openings=openings, seed=seed
    )


@pytest.mark.parametrize(
    ("wins", "num_games", "passed"),
    [
        (22, 40, True),
        (55, 100, True),
        (110, 200, True),
        (220, 400, True),
        (21, 40, False),
        (54, 100, False),
        (219, 400, False),
    ],
)
def test_exactly_at_the_threshold(wins, num_games, passed):
    losses = num_games - wins
    assert passes(wins=wins, draws=0, losses=losses, threshold_percent=55) == passed
    # Two draws are worth a win and a loss.
    traded = min(wins, losses)
    drawn = {"wins": wins - traded, "draws": 2 * traded, "losses": losses - traded}
    assert passes(**drawn, threshold_percent=55) == passed


def test_more_wins_never_hurt():
    for num_games in (7, 40):
        verdicts = [
            passes(wins=wins, draws=0, losses=num_games - wins, threshold_percent=55)
            for wins in range(num_games + 1)
        ]
        assert verdicts == sorted(verdicts)


def test_without_evidence_there_is_no_promotion():
    assert not passes(wins=0, draws=40, losses=0, threshold_percent=55)
    for threshold_percent in (0, 55):
        assert not passes(wins=0, draws=0, losses=0, threshold_percent=threshold_percent)


def test_thresholds_that_force_the_decision():
    assert not passes(wins=40, draws=0, losses=0, threshold_percent=101)
    assert passes(wins=40, draws=0, losses=0, threshold_percent=100)
    assert passes(wins=0, draws=0, losses=40, threshold_percent=0)


def test_the_stronger_network_passes_and_the_weaker_does_not():
    weak = FixedEvaluator([0.0] * 7, 0.0)
    blind = HashEvaluator(CONNECT_FOUR, 20.0)  # plays its whims whatever the search finds
    config = gate_config(num_games=20, num_simulations=60)
    up = gate_match(CONNECT_FOUR, weak, blind, config, seed=1)
    down = gate_match(CONNECT_FOUR, blind, weak, config, seed=1)
    assert decide(up, config)
    assert up.score > 0.7
    assert (up.first, up.second) == ("candidate", "best")
    assert not decide(down, config)
    assert down.num_distinct_games >= 15
    assert gate_match(CONNECT_FOUR, weak, blind, config, seed=1) == up


def test_an_exact_copy_scores_about_half_and_games_differ():
    evaluator = UniformEvaluator(TIC_TAC_TOE)
    config = gate_config(num_games=40, num_simulations=150)
    match = gate_match(TIC_TAC_TOE, evaluator, evaluator, config, seed=1)
    assert sum(match.total) == 40
    assert abs(match.score - 0.5) < 0.05
    assert match.total.draws > 0
    assert not decide(match, config)


def test_modes():
    openings = [[cell] for cell in range(9)]
    players = [make_player("minimax", game=TIC_TAC_TOE, seed=seed) for seed in (1, 2)]
    drawn = play_match(TIC_TAC_TOE, *players, openings=openings)
    assert not decide(drawn, gate_config())
    assert decide(drawn, gate_config(mode="always"))
    assert decide(None, gate_config(mode="off"))
    for mode in ("gate", "always"):  # games were asked for: no promotion without them
        assert not decide(None, gate_config(mode=mode))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("mode", "on", "gate or off or always"),
        ("num_games", 0, "an even integer from 2 to 1000000"),
        ("num_games", 7, "an even integer from 2 to 1000000"),
        ("num_games", 4.0, "an even integer from 2 to 1000000"),
        ("num_simulations", -1, "an integer from 0 to 1000000"),
        ("threshold_percent", 0.55, "an integer of at least 0"),
        ("threshold_percent", -5, "an integer of at least 0"),
        ("threshold_percent", True, "an integer of at least 0"),
        ("opening_plies", -1, "an integer from 0 to 10000"),
    ],
)
def test_wrong_settings_are_named(key, value, allowed):
    with pytest.raises(ConfigError, match=rf"gate\.{key}: got .*, allowed: {allowed}"):
        gate_config(**{key: value})


def test_settings_at_the_edge_are_allowed():
    gate_config(num_games=2, num_simulations=0, threshold_percent=0, opening_plies=0)
    gate_config(threshold_percent=101)
