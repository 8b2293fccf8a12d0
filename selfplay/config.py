"""How self-play games are played, and by how many actors."""

import math
from dataclasses import dataclass

from alphago.errors import check_config, check_count
from alphago.types import MAX_ACTORS, MAX_GROUPS, MAX_PLIES, MAX_SIMULATIONS

MODES = ("ray", "inline")
SEARCHES = ("puct", "gumbel")
MAX_IN_FLIGHT = 1000  # calls that an actor has not begun; each is a message in Ray


@dataclass(kw_only=True)
class SelfPlayConfig:
    """How games are played.

    Attributes:
        mode: `ray` (actor processes) or `inline` (in this process, equal bit for bit for equal
            seeds).
        search: how full searches explore: `puct` (noise at the root) or `gumbel` (without
            `search.noise_*`, see `exploration.py`). Fast searches, gates and players always go by
            PUCT without noise.
        num_actors: actor processes, on several GPUs a multiple of their number; null for what suits
            the usable CPUs and GPUs (see `resources.py`), without a GPU one per CPU.
        groups_per_actor: groups of games in an actor, each with a thread of its own; null for one
            on a CPU and two on a GPU. Only with one is `inline` equal bit for bit.
        num_games: games that one group plays in lockstep; the batch of its network.
        num_simulations: simulations of a full search (AlphaGo Zero: 1600).
        simulations_growth: by how much they grow over a run, evenly, with every network that is
            promoted: at its end a full search has so many times `num_simulations` (MiniZero,
            "progressive simulation"); 1 for no growth.
        fast_num_simulations: simulations of a fast search, which has no noise and gives no policy
            target.
        full_search_probability: share of moves with a full search; 1 turns fast searches off
            (KataGo: 0.25).
        decided_value: size of the search's value, at the last `DECIDED_PLIES` moves, from which a
            game counts as decided; null if none ever does (KataGo: 0.9).
        decided_full_search_probability: takes the place of `full_search_probability` while a game
            is decided, where it is the lower one: few simulations for moves that teach little, and
            yet every game goes to its end (KataGo's soft resignation, KataGoMethods).
        tree_reuse: whether a fast search goes on with what the last one found below the move, with
            a budget that counts all visits (KataGo). Full searches start afresh, unbiased.
        temperature_early: temperature of the first moves (AlphaGo Zero: 1). Full searches by
            `gumbel` choose their moves themselves, at any temperature.
        temperature_late: temperature of all later moves (AlphaGo Zero: 0).
        temperature_moves: number of moves of a game that use `temperature_early` (AlphaGo Zero:
            30).
        random_opening_probability: share of games that start with random moves.
        random_opening_plies: such a game starts with 1 to this many random moves.
        pass_guard: share of the board, 0 to 1, that must be occupied before self-play considers a
            pass; 0 for no guard. It changes priors, never what is legal (see `prior_guard.py`).
        eye_guard: whether self-play keeps from filling own eyes, likewise; of no effect in games
            without eyes.
        cache_size: positions whose evaluations a group of games keeps until its network changes,
            so that the next search need not ask for them again; 0 for none. Games stay
            the same but for rounding, since batches have other sizes.
        games_per_call: finished games after which an actor hands its records over; an actor of Ray
            hands over what there is when they take long.
        max_in_flight: calls an actor may have open, the bound on records nobody has fetched yet.
        max_restarts: actors that died, failed or hung and are replaced on one machine in one
            sitting of a run; with the next one no actor is started there any more, and without a
            machine the run ends.
        silence_limit_minutes: minutes without an answer after which an actor counts as hung, and
            without one of any actor after which a run that waits for one ends. More than an actor's
            share of a gate or suite takes; self-play is answered for in time, however long games
            are.
    """

    mode: str
    search: str
    num_actors: int | None
    groups_per_actor: int | None
    num_games: int
    num_simulations: int
    simulations_growth: float
    fast_num_simulations: int
    full_search_probability: float
    decided_value: float | None
    decided_full_search_probability: float
    tree_reuse: bool
    temperature_early: float
    temperature_late: float
    temperature_moves: int
    random_opening_probability: float
    random_opening_plies: int
    pass_guard: float
    eye_guard: bool
    cache_size: int
    games_per_call: int
    max_in_flight: int
    max_restarts: int
    silence_limit_minutes: float

    def __post_init__(self) -> None:
        """Checks the values."""
        check_config("selfplay.mode", self.mode, self.mode in MODES, " or ".join(MODES))
        is_known = self.search in SEARCHES
        check_config("selfplay.search", self.search, is_known, " or ".join(SEARCHES))
        for name, highest in (("num_actors", MAX_ACTORS), ("groups_per_actor", MAX_GROUPS)):
            value = getattr(self, name)
            check_count(f"selfplay.{name}", value, at_least=1, at_most=highest, or_null=True)
        for name in ("num_games", "games_per_call"):
            check_count(f"selfplay.{name}", getattr(self, name), at_least=1)
        for name, highest in (
            ("num_simulations", MAX_SIMULATIONS),
            ("fast_num_simulations", MAX_SIMULATIONS),
            ("random_opening_plies", MAX_PLIES),
            ("max_in_flight", MAX_IN_FLIGHT),
        ):
            check_count(f"selfplay.{name}", getattr(self, name), at_least=1, at_most=highest)
        growth, most = self.simulations_growth, MAX_SIMULATIONS / self.num_simulations
        check_config(
            "selfplay.simulations_growth", growth, 1 <= growth <= most, f"from 1 to {most:g}"
        )
        for name in ("temperature_moves", "max_restarts", "cache_size"):
            check_count(f"selfplay.{name}", getattr(self, name), at_least=0)
        limit = self.silence_limit_minutes
        is_limit = 0 < limit < math.inf
        check_config("selfplay.silence_limit_minutes", limit, is_limit, "a number above 0")
        decided = self.decided_value
        is_value = decided is None or 0 < decided <= 1
        check_config("selfplay.decided_value", decided, is_value, "above 0, at most 1, or null")
        for name in (
            "full_search_probability",
            "decided_full_search_probability",
            "random_opening_probability",
            "pass_guard",
        ):
            value = getattr(self, name)
            check_config(f"selfplay.{name}", value, 0 <= value <= 1, "a number from 0 to 1")
        for name in ("temperature_early", "temperature_late"):
            value = getattr(self, name)
            # At an infinite temperature illegal actions would be as likely as all others.
            check_config(f"selfplay.{name}", value, 0 <= value < math.inf, "a number of at least 0")
        check_config(
            "selfplay.full_search_probability",
            self.full_search_probability,
            self.full_search_probability > 0,
            "above 0: without full searches there is nothing to learn",
        )

    @property
    def most_simulations(self) -> int:
        """The simulations of the largest search of a run."""
        return max(self.full_search_budget(1.0), self.fast_num_simulations)

    def full_search_budget(self, progress: float) -> int:
        """Returns the simulations of a full search when a share of the run, 0 to 1, is over."""
        return round(self.num_simulations * (1 + (self.simulations_growth - 1) * progress))
