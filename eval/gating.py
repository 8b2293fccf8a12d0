"""The gate: does the candidate network become the best one?"""

from collections.abc import Sequence
from dataclasses import dataclass

from alphago.errors import check_config, check_count
from alphago.games.game import Game
from alphago.players.network_player import NetworkPlayer
from alphago.search.config import SearchConfig
from alphago.types import MAX_GAMES, MAX_PLIES, MAX_SIMULATIONS, Evaluator
from eval.matches import MatchResult, play_match

MODES = ("gate", "off", "always")


@dataclass(kw_only=True)
class GateConfig:
    """When a candidate becomes the best network.

    Attributes:
        mode: `gate`: games decide (AlphaGo Zero). `off`: no games, every candidate is promoted
            (AlphaZero). `always`: games are played and shown, but every candidate is promoted.
        num_games: games of a match, even: two per opening (AlphaGo Zero: 400).
        num_simulations: simulations per move, 0 for the raw policies (AlphaGo Zero: 1600).
        threshold_percent: the score in percent, a draw counting half, from which the candidate is
            promoted (AlphaGo Zero: 55). Above 100 nothing passes, with 0 everything does.
        opening_plies: random moves before the players take over (AlphaGo Zero: 0, it drew moves
            by temperature instead).
    """

    mode: str
    num_games: int
    num_simulations: int
    threshold_percent: int
    opening_plies: int

    def __post_init__(self) -> None:
        """Checks the values."""
        check_config("gate.mode", self.mode, self.mode in MODES, " or ".join(MODES))
        num_games = self.num_games
        is_even = isinstance(num_games, int) and num_games % 2 == 0
        is_match = is_even and 2 <= num_games <= MAX_GAMES
        allowed = f"an even integer from 2 to {MAX_GAMES}"
        check_config("gate.num_games", num_games, is_match, allowed)
        check_count("gate.threshold_percent", self.threshold_percent, at_least=0)
        for key, most in (("opening_plies", MAX_PLIES), ("num_simulations", MAX_SIMULATIONS)):
            check_count(f"gate.{key}", getattr(self, key), at_least=0, at_most=most)


def passes(*, wins: int, draws: int, losses: int, threshold_percent: int) -> bool:
    """Tells whether a candidate reached the threshold: a score of at least that many percent.

    In integers: 0.55 * 100 is a little more than 55 in floating point, and 55 of 100 would fail.

    Args:
        wins: games the candidate won.
        draws: games drawn, each worth half a point.
        losses: games it lost.
        threshold_percent: the score it needs.

    Returns:
        False whenever there were no games: no promotion without evidence.
    """
    num_games = wins + draws + losses
    return num_games > 0 and 100 * (2 * wins + draws) >= threshold_percent * 2 * num_games


def play_gate_games(
    game: Game,
    candidate: Evaluator,
    best: Evaluator,
    search_config: SearchConfig,
    config: GateConfig,
    *,
    openings: Sequence[Sequence[int]],
    seed: int,
) -> MatchResult:
    """Lets the candidate play the best network, without noise.

    Several processes can share a gate's match: each plays some of the openings.

    Args:
        game: the rules.
        candidate: the network whose side the result takes.
        best: its opponent.
        search_config: the constants of the search.
        config: how many simulations a move.
        openings: each is played from both sides.
        seed: of choices between equally visited moves.

    Returns:
        The result; `merge_matches` puts parts together.
    """
    players = [
        NetworkPlayer(
            game,
            evaluator,
            search_config=search_config,
            num_simulations=config.num_simulations,
            name=name,
            seed=seed,
        )
        for name, evaluator in (("candidate", candidate), ("best", best))
    ]
    return play_match(game, *players, openings=openings)


def decide(match: MatchResult | None, config: GateConfig) -> bool:
    """Tells whether the candidate becomes the best network.

    Args:
        match: all games of the gate from the candidate's side; None if none were played, which
            only `off` promotes.
        config: the mode, and the score that is needed.
    """
    if config.mode != "gate":
        return config.mode == "off" or match is not None
    return match is not None and passes(
        **match.total._asdict(), threshold_percent=config.threshold_percent
    )
