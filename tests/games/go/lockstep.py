"""Random games played by the engine, a batch at a time, and by the referee, compared at every ply.

On the way the batch is turned or mirrored, and now and then the move is given to the other player,
so that histories have to survive both.
"""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.go.game import Go
from alphago.games.symmetry import compose, inverse, transform_actions
from alphago.types import States
from tests.games.go.engine import make_go, make_rules
from tests.reference.go_referee import BLACK, EMPTY, WHITE, GoReferee

PASS_SHARE = 0.02  # of the moves where others are legal; few passes let games run into superko
CAPTURE_SHARE = 0.8  # of the moves where stones can be taken: without captures there is no ko
TURN_SHARE = 0.05  # of the plies at which the batch is transformed
GIVE_MOVE_SHARE = 0.03  # of the plies at which the other player gets the move
PASS_ALIVE_SHARE = 0.1  # of the plies at which living stones are compared, which is slow
MAX_STONES_SET_UP = 0.5  # share of the points


class Tally(NamedTuple):
    """What a batch of games met."""

    num_games: int
    num_plies: int  # positions compared
    num_ko: int  # positions with a point that the ko rule forbids
    num_superko: int  # positions with a point that simple ko would allow


class GoBatch:
    """Games of one board and one set of rules, at the same ply."""

    def __init__(
        self, height: int, width: int, *, ko: str, suicide: bool, rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.komi = float(rng.integers(-20, 21)) / 2
        self.max_moves = 3 * height * width + 40
        self.options = {"ko": ko, "suicide": suicide}
        area = {"komi": self.komi, "max_moves": self.max_moves}
        self.go: Go = make_go(height, width, **self.options, **area)
        territory = make_rules(**self.options, scoring="territory", komi=self.komi)
        self.counting_territory = self.go.with_rules(territory)
        self.symmetry = self.go.spec.symmetries[0]  # from the referee's board to the engine's
        self.states: States = self.go.initial_states(0)
        self.referees: list[GoReferee] = []

    def start(self, num_games: int, *, set_up: bool) -> None:
        """Begins games from the empty board, or from stones set up at random."""
        if not set_up:
            self.states = self.go.initial_states(num_games)
            stones = [([], [])] * num_games
            to_play = BLACK
        else:
            stones = [self._random_stones() for _ in range(num_games)]
            to_play = int(self.rng.integers(2))
            self.states = np.concatenate([self.go.position(*s, to_play) for s in stones])
        size = (self.go.height, self.go.width)
        self.referees = [
            GoReferee(*size, **self.options, black=black, white=white, to_play=to_play)
            for black, white in stones
        ]

    def _random_stones(self) -> tuple[list[int], list[int]]:
        """Returns points for Black and White on which every chain has a liberty."""
        num_points = self.go.height * self.go.width
        num_stones = int(num_points * MAX_STONES_SET_UP * self.rng.random())
        board = np.full(num_points, EMPTY)
        board[self.rng.permutation(num_points)[:num_stones]] = self.rng.integers(2, size=num_stones)
        geometry = GoReferee(self.go.height, self.go.width, ko="simple", suicide=False).geometry
        if not geometry.is_legal_board(tuple(board.tolist())):
            return self._random_stones()
        black, white = (np.flatnonzero(board == player).tolist() for player in (BLACK, WHITE))
        return black, white

    def play(self) -> Tally:
        """Plays the games to their ends and compares each position."""
        num_games, num_plies, num_ko, num_superko = len(self.referees), 0, 0, 0
        while self.referees:
            self._compare()
            if self.rng.random() < PASS_ALIVE_SHARE:
                self._compare_pass_alive()
            num_plies += len(self.referees)
            num_ko += sum(bool(referee.ko_illegal()) for referee in self.referees)
            if self.options["ko"] != "simple":
                num_superko += sum(bool(referee.superko_only()) for referee in self.referees)
            self._drop_finished_games()
            if self.referees:
                self._move()
        return Tally(num_games, num_plies, num_ko, num_superko)

    def _drop_finished_games(self) -> None:
        is_over = self.go.is_over(self.states)
        self.states = self.states[~is_over]
        self.referees = [r for r, over in zip(self.referees, is_over, strict=True) if not over]

    def _move(self) -> None:
        """Plays one random action in every game."""
        if self.rng.random() < TURN_SHARE:
            self._transform()
        if self.rng.random() < GIVE_MOVE_SHARE:
            self._give_move()
        actions = [self._choose(referee) for referee in self.referees]
        for referee, action in zip(self.referees, actions, strict=True):
            referee.play(action)
        self.states = self.go.step(self.states, self._to_engine(actions))

    def _choose(self, referee: GoReferee) -> int:
        *plays, pass_action = referee.legal_actions()
        if not plays or self.rng.random() < PASS_SHARE:
            return pass_action
        captures = [point for point in plays if referee.after_play(point)[1] > 0]
        if captures and self.rng.random() < CAPTURE_SHARE:
            return int(self.rng.choice(captures))
        return int(self.rng.choice(plays))

    def _transform(self) -> None:
        symmetries = self.go.spec.symmetries
        symmetry = symmetries[int(self.rng.integers(len(symmetries)))]
        self.states = self.go.apply_symmetry(self.states, symmetry)
        self.symmetry = compose(self.symmetry, symmetry)

    def _give_move(self) -> None:
        player = 1 - self.referees[0].to_play
        self.states = self.go.with_to_play(self.states, player)
        for referee in self.referees:
            referee.set_to_play(player)
        self._compare()

    def _to_engine(self, actions: list[int]) -> npt.NDArray[np.int64]:
        return transform_actions(np.array(actions, dtype=np.int64), self.symmetry)

    def _compare(self) -> None:
        back = inverse(self.symmetry)
        go, states, referees = self.go, self.states, self.referees
        flat = (len(referees), -1)
        is_over = go.is_over(states)
        truncated = go.is_truncated(states)
        legal = go.legal_actions(states)[:, back.actions]
        boards = go.board(states).reshape(flat)[:, back.cells]
        owners = go.owners(states).reshape(flat)[:, back.cells]
        dead = [self._random_dead_stones(referee) for referee in referees]
        dead_mask = np.array(dead)[:, self.symmetry.cells].reshape(-1, go.height, go.width)
        area, area_left = go.score(states), go.score(states, dead=dead_mask)
        territory = self.counting_territory.score(states, dead=dead_mask)
        counters = (go.to_play(states), go.num_moves(states), go.num_passes(states))
        captures, last_actions = go.captures(states), go.last_action(states)
        for b, referee in enumerate(referees):
            dead_points = np.flatnonzero(dead[b]).tolist()
            is_cut_off = len(referee.actions) == self.max_moves and not referee.is_over()
            expected_legal = [] if is_cut_off else referee.legal_actions()
            assert np.flatnonzero(legal[b]).tolist() == expected_legal, self._where(referee)
            assert (is_over[b], truncated[b]) == (referee.is_over() or is_cut_off, is_cut_off)
            assert tuple(boards[b]) == referee.board, self._where(referee)
            assert tuple(owners[b]) == referee.owners(), self._where(referee)
            assert area[b] == referee.area() - self.komi, self._where(referee)
            assert area_left[b] == referee.area(dead_points) - self.komi, self._where(referee)
            assert territory[b] == referee.territory(dead_points) - self.komi, self._where(referee)
            expected_counters = (referee.to_play, len(referee.actions), referee.num_passes)
            assert tuple(counter[b] for counter in counters) == expected_counters, self._where(
                referee
            )
            assert captures[b].tolist() == referee.captures, self._where(referee)
            last = self._to_engine(referee.actions[-1:]).tolist() or [-1]
            assert last_actions[b] == last[0], self._where(referee)

    def _compare_pass_alive(self) -> None:
        cells = inverse(self.symmetry).cells
        alive = self.go.pass_alive(self.states).reshape(len(self.referees), -1)[:, cells]
        for b, referee in enumerate(self.referees):
            assert tuple(alive[b]) == referee.pass_alive(), self._where(referee)

    def _random_dead_stones(self, referee: GoReferee) -> npt.NDArray[np.bool_]:
        """Returns a mask of about a third of the chains."""
        dead = np.zeros(referee.pass_action, dtype=bool)
        for inside, _ in referee.geometry.regions(referee.board):
            if referee.board[min(inside)] != EMPTY and self.rng.random() < 1 / 3:
                dead[list(inside)] = True
        return dead

    def _where(self, referee: GoReferee) -> str:
        """Describes a position such that it can be played again."""
        size = f"{referee.geometry.width}x{referee.geometry.height}"
        moves = " ".join(map(referee.geometry.vertex, referee.actions))
        return f"{size} {self.options} {self.symmetry.name} moves: {moves}"


def play_random_games(
    ko: str, games_by_size: Mapping[tuple[int, int], int], *, rng: np.random.Generator
) -> Tally:
    """Compares random games under one ko rule.

    Args:
        ko: the ko rule.
        games_by_size: the number of games, a multiple of 4, for each height and width. Half of them
            allow suicide; half of these start from stones set up at random.
        rng: draws everything.

    Returns:
        The sums over all games.
    """
    tallies = []
    for (height, width), num_games in games_by_size.items():
        for suicide, set_up in product((False, True), repeat=2):
            batch = GoBatch(height, width, ko=ko, suicide=suicide, rng=rng)
            batch.start(num_games // 4, set_up=set_up)
            tallies.append(batch.play())
    return Tally(*(sum(column) for column in zip(*tallies, strict=True)))
