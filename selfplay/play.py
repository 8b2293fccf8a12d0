"""Self-play: many games at once in lockstep, one search per game, every finished game a record.

The games share nothing but the network's batch. A game that has spent its simulations makes its
move and starts the next search at once; a game that ends is replaced by a new one.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil

from alphago.errors import memory_for
from alphago.games.game import Game
from alphago.games.notation import replay
from alphago.games.random_play import random_actions
from alphago.search import BatchSearch, GumbelConfig, SearchConfig, choose_actions, visit_probs
from alphago.search.evaluation_cache import EvaluationCache
from alphago.search.tree import state_bytes
from alphago.types import BoolArray, Evaluator, FloatArray, States
from selfplay.config import SelfPlayConfig
from selfplay.evaluators import TrainableEvaluator
from selfplay.exploration import make_exploration
from selfplay.game_in_progress import GameInProgress, has_sure_winner, movers_of, note_move
from selfplay.policy_targets import pack
from selfplay.prior_guard import PriorGuard
from selfplay.records import GameName, GameRecord
from selfplay.reports import ActorMemory, NewNetwork, PlayReport, PlayStats
from selfplay.snapshots import game_from_json, game_to_json, read_count


class SelfPlay:
    """Plays games against itself with one network; the plain class behind every actor."""

    def __init__(
        self,
        game: Game,
        evaluator: TrainableEvaluator,
        search_config: SearchConfig,
        gumbel_config: GumbelConfig,
        config: SelfPlayConfig,
        *,
        seed: int,
        actor: int,
    ) -> None:
        """Sets up empty games; `set_network` must be called before `play`.

        Args:
            game: the rules.
            evaluator: the network, with weights to be given.
            search_config: the constants of PUCT.
            gumbel_config: the constants of Gumbel's rule.
            config: how games are played.
            seed: root of the run's random streams.
            actor: number of this actor; (seed, actor, game index) names the stream of each game.

        Raises:
            ConfigError: if cache or trees do not fit into memory.
        """
        self._game = game
        self._network = evaluator
        with memory_for("selfplay.cache_size", config.cache_size):
            self._cache = EvaluationCache(game, evaluator, num_entries=config.cache_size)
        self._exploration = make_exploration(config, search_config)
        self._config = config
        search_evaluator = self._make_evaluator()
        self._seed = seed
        self._actor = actor
        self._version = 0
        self._full_budget = config.num_simulations
        self._num_games_begun = 0
        self._num_simulations = 0
        self._num_positions = 0
        with memory_for("selfplay.num_games", config.num_games):
            self._search = BatchSearch(
                game,
                search_evaluator,
                search_config,
                num_rows=config.num_games,
                max_simulations=config.most_simulations,
                gumbel_config=gumbel_config if config.search == "gumbel" else None,
            )
        self._num_kept = np.zeros(config.num_games, np.int64)  # visits a row's search began with
        self._states = game.initial_states(config.num_games)
        # Numpy copies structured rows field by field; bytes are copied several times faster.
        self._state_bytes = state_bytes(self._states)
        self._games: list[GameInProgress] = []
        self._searches_are_stale = True

    @property
    def bytes_per_game(self) -> float:
        """The memory of the search of one game, its share of the cache included."""
        return (self._search.num_bytes + self._cache.num_bytes) / self._config.num_games

    def _make_evaluator(self) -> Evaluator:
        """Returns the network as the search asks it: behind its cache and the guard."""
        config = self._config
        evaluator: Evaluator = self._cache if config.cache_size > 0 else self._network
        if config.pass_guard == 0 and not config.eye_guard:
            return evaluator
        return PriorGuard(
            self._game,
            evaluator,
            occupied_share=config.pass_guard,
            guards_eyes=config.eye_guard,
        )

    def set_network(self, network: NewNetwork) -> None:
        """Plays on with another network; searches that it did not begin start afresh."""
        self._network.load_weights(network.weights, network.positions)
        self._version = network.version
        self._full_budget = network.full_budget or self._config.num_simulations
        self._searches_are_stale = True

    def play(self, num_games: int) -> PlayReport:
        """Plays until at least `num_games` have finished; the others wait for the next call."""
        return self.play_until(lambda num_finished: num_finished >= num_games)

    def play_until(self, is_enough: Callable[[int], bool]) -> PlayReport:
        """Plays until it is enough; unfinished games wait for the next call.

        Args:
            is_enough: asked before each simulation, with the number of games finished in this call.
        """
        before = self._totals()
        self._begin_or_restart()
        records: list[GameRecord] = []
        while not is_enough(len(records)):
            self._search.run_simulation()
            self._explore()
            rows = self._search.finished_rows()
            while rows.size:  # again: a search that goes on may have its visits already
                records += self._make_moves(rows)
                rows = self._search.finished_rows()
        done = zip(self._totals(), before, strict=True)
        stats = PlayStats._make(now - then for now, then in done)
        return PlayReport(records, stats, self._memory())

    def _memory(self) -> ActorMemory:
        """Returns what this process and these games take of the memory."""
        resident = int(psutil.Process().memory_info().rss)
        return ActorMemory(resident, self._search.num_bytes, self._cache.num_bytes)

    def _totals(self) -> PlayStats:
        """Returns what was done since the beginning, and the time."""
        return PlayStats(
            seconds=time.perf_counter(),
            seconds_evaluating=self._search.seconds_evaluating,
            num_positions=self._num_positions,
            num_simulations=self._num_simulations,
            num_evaluations=self._search.num_batches * self._config.num_games
            - self._cache.num_hits,
            num_cached=self._cache.num_hits,
            num_leaves=self._search.num_leaves,
        )

    def snapshot(self) -> dict[str, Any]:
        """Returns the unfinished games as plain data for JSON; running searches start afresh."""
        self._searches_are_stale = True
        return {
            "actor": self._actor,
            "num_games_begun": self._num_games_begun,
            "games": [game_to_json(game) for game in self._games],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on with the unfinished games of a snapshot, as the actor that played them.

        Games for which there is no row are dropped; rows without a game begin new ones.

        Raises:
            KeyError, TypeError, ValueError: if it is no snapshot; nothing is restored then.
        """
        actor, num_games_begun = (read_count(snapshot, key) for key in ("actor", "num_games_begun"))
        saved = snapshot["games"][: self._config.num_games]
        games = [game_from_json(self._game, each) for each in saved]
        self._actor, self._num_games_begun = actor, num_games_begun
        self._games = games
        for row, game in enumerate(games):
            self._states[row : row + 1] = replay(self._game, game.actions)
        self._searches_are_stale = True

    def _begin_or_restart(self) -> None:
        """Gives every row a game and, where the old ones are of no use, a search."""
        rows = np.arange(self._config.num_games)
        self._games += [self._begin_game(int(row)) for row in rows[len(self._games) :]]
        if self._searches_are_stale:
            # What other searches found is forgotten as well: a run that goes on from a checkpoint
            # does not know it either, and the two shall be equal.
            self._cache.clear()
            self._start_searches(rows, has_tree=np.zeros(len(rows), np.bool_))
            self._searches_are_stale = False

    def _begin_game(self, row: int) -> GameInProgress:
        """Sets a row to a new game, some of which start with a few random moves."""
        index = self._num_games_begun
        self._num_games_begun += 1
        rng = np.random.default_rng([self._seed, self._actor, index])
        game = GameInProgress(index=index, network_version=self._version, rng=rng)
        if rng.random() < self._config.random_opening_probability:
            num_moves = int(rng.integers(1, self._config.random_opening_plies, endpoint=True))
            game.actions = random_actions(self._game, rng, num_moves=num_moves)
            game.targets = [None] * len(game.actions)
            game.root_values = [0.0] * len(game.actions)
            game.movers = movers_of(self._game, game.actions)
        self._states[row : row + 1] = replay(self._game, game.actions)
        return game

    def _states_of(self, rows: npt.NDArray[np.int64]) -> States:
        """Returns a copy of the states of some rows, [K]."""
        states: States = self._state_bytes[rows].view(self._states.dtype)[:, 0]
        return states

    def _start_searches(self, rows: npt.NDArray[np.int64], *, has_tree: BoolArray) -> None:
        """Starts the next search of each row, a full or a fast one (KataGo 3.1).

        Args:
            rows: int [K], the rows.
            has_tree: bool [K], whether the last search of the row led to its position.
        """
        budgets = np.full(len(rows), self._config.fast_num_simulations)
        is_fresh = np.ones(len(rows), np.bool_)
        for k, row in enumerate(rows.tolist()):
            game = self._games[row]
            game.is_full_search = bool(game.rng.random() < self._full_search_probability(game))
            if game.is_full_search:
                budgets[k] = self._full_budget
            elif has_tree[k] and self._config.tree_reuse:
                is_fresh[k] = not self._go_on(row, game.actions[-1])
        fresh = rows[is_fresh]
        self._num_kept[fresh] = 0
        self._search.start(fresh, self._states_of(fresh), budgets[is_fresh])

    def _full_search_probability(self, game: GameInProgress) -> float:
        """Returns how likely the next search of a game is a full one."""
        probability = self._config.full_search_probability
        decided_value = self._config.decided_value
        if decided_value is None:
            return probability
        if has_sure_winner(game.root_values, game.movers, decided_value=decided_value):
            return min(probability, self._config.decided_full_search_probability)
        return probability

    def _go_on(self, row: int, action: int) -> bool:
        """Lets a fast search go on with what the last one knows of the action that was played.

        Its budget counts all visits. False if nothing is known; the row is to be started then.
        """
        if not self._search.advance(row, action):
            return False
        self._num_kept[row] = self._search.root_visits(row) - 1
        num_missing = self._config.fast_num_simulations - int(self._num_kept[row])
        self._search.resume(row, max(0, num_missing))
        return True

    def _explore(self) -> None:
        """Lets full searches explore whose roots the last simulation has evaluated."""
        rows = self._search.evaluated_roots()
        rows = rows[self._are_full(rows)]
        if rows.size:
            rngs = [self._games[row].rng for row in rows]
            self._exploration.explore(self._search, rows, rngs)

    def _are_full(self, rows: npt.NDArray[np.int64]) -> BoolArray:
        """Returns which rows [K] have a full search."""
        return np.array([self._games[row].is_full_search for row in rows], np.bool_)

    def _make_moves(self, rows: npt.NDArray[np.int64]) -> list[GameRecord]:
        """Plays a move in each row whose search has ended; returns the games that it ended."""
        result = self._search.result(rows)
        self._num_simulations += int(result.visit_counts.sum() - self._num_kept[rows].sum())
        self._num_positions += len(rows)
        found = self._exploration.conclude(self._search, rows, result, self._are_full(rows))
        movers, actions = self._game.to_play(self._states_of(rows)), []
        for k, row in enumerate(rows):
            game = self._games[row]
            action = self._draw_move(game, found.move_counts[k])
            note_move(
                game,
                action,
                mover=int(movers[k]),
                policy_target=found.policy_targets[k],
                root_value=float(found.root_values[k]),
            )
            actions.append(action)
        self._game.play(self._states, np.array(actions), rows)
        is_over = self._game.is_over(self._states_of(rows))
        records = self._end_games(rows[is_over]) if is_over.any() else []
        self._start_searches(rows, has_tree=~is_over)
        return records

    def _end_games(self, rows: npt.NDArray[np.int64]) -> list[GameRecord]:
        """Returns the records of the games of some rows, which are over, and begins new ones."""
        states = self._states_of(rows)
        returns, truncated = self._game.returns(states), self._game.is_truncated(states)
        records = []
        for k, row in enumerate(rows.tolist()):
            game = self._games[row]
            records.append(self._record(game, returns[k], truncated=bool(truncated[k])))
            self._games[row] = self._begin_game(row)
        return records

    def _draw_move(self, game: GameInProgress, counts: npt.NDArray[np.int32]) -> int:
        """Draws the move of one game by visit counts [A]."""
        config = self._config
        is_early = len(game.actions) < config.temperature_moves
        temperature = config.temperature_early if is_early else config.temperature_late
        probs = visit_probs(counts[np.newaxis], temperature)
        return int(choose_actions(probs, game.rng)[0])

    def _record(self, game: GameInProgress, returns: FloatArray, *, truncated: bool) -> GameRecord:
        """Returns the record of a game that ended with these returns [P]."""
        return GameRecord(
            game=self._game.spec.name,
            rules=self._game.spec.rules,
            network_version=game.network_version,
            name=GameName(self._seed, self._actor, game.index),
            actions=np.array(game.actions, np.int16),
            root_values=np.array(game.root_values, np.float32),
            returns=returns,
            truncated=truncated,
            **pack(game.targets),
        )
