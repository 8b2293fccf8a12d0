"""`Go`: the game behind the `Game` protocol, for boards from 1x1 to 25x25 and any rules."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from alphago.errors import IllegalActionError, RulesError
from alphago.games.game import GameSpec, Symmetry
from alphago.games.go.drawing import draw_game, format_result
from alphago.games.go.heuristic import go_heuristic_values
from alphago.games.go.layout import (
    CAPTURES,
    EMPTY,
    MARK_TO_PLAY,
    NUM_MOVES,
    NUM_PASSES,
    TO_PLAY,
    copy_states,
    go_dtype,
    go_layout,
    go_rows,
)
from alphago.games.go.moves import (
    fill_legal_actions_all,
    legal_room,
    play_all,
    replay_all,
    set_up_all,
)
from alphago.games.go.naming import (
    DEFAULT_PLANES,
    FAMILY,
    check_go,
    default_max_moves,
    go_name,
    options_text,
    parse_go_options,
    parse_size,
)
from alphago.games.go.opening import opening_actions
from alphago.games.go.pass_alive import fill_pass_alive_all, life_room
from alphago.games.go.plane_names import PLANE_NAMES
from alphago.games.go.planes import NUM_PLANES, fill_extended_all, fill_history_all, liberty_counts
from alphago.games.go.playout import own_eyes, playout_actions, playout_returns
from alphago.games.go.rules import KO_RULES, GoRules
from alphago.games.go.scoring import count_points, count_territory, fill_owners_all
from alphago.games.go.setup import check_liberties, go_symmetries, setup_board
from alphago.games.go.vertices import action_to_vertex, handicap_actions, vertex_to_action
from alphago.games.notation import illegal_action, integer_actions
from alphago.games.symmetry import inverse
from alphago.types import NUM_PLAYERS, BoolArray, FloatArray, Int8Array, States, UInt8Array

_CAPTURES = slice(CAPTURES, CAPTURES + NUM_PLAYERS)  # of the facts, by player id


class Go:
    """Go on a board of any size, by any rules; see `Game` for the common functions.

    Player 0 is Black, player 1 White. An action is `row * width + column`, row 0 on top; the last
    action is the pass. Two passes in a row end a game, and so does its cap on moves, which leaves
    it truncated, with the result that the score on the board gives.

    A handicap game starts with fixed stones on the board and White to move.
    """

    def __init__(
        self,
        *,
        height: int,
        width: int,
        rules: GoRules,
        max_moves: int | None = None,
        planes: str = DEFAULT_PLANES,
        handicap: int = 0,
    ) -> None:
        """Describes the game.

        Args:
            height: rows of the board, 1 to 25.
            width: columns of the board, 1 to 25.
            rules: the rules.
            max_moves: cap on the number of moves; None for `default_max_moves`.
            planes: what networks see: "history" or "extended", as in `planes.py`.
            handicap: number of handicap stones, 0 or what the board has points for.

        Raises:
            RulesError: if there is no such game.
        """
        cap = default_max_moves(height, width) if max_moves is None else max_moves
        check_go(height, width, max_moves=cap, planes=planes)
        self.height, self.width = height, width
        self.rules, self.handicap, self.planes = rules, handicap, planes
        num_cells = height * width
        self._spec = GameSpec(
            name=go_name(height, width),
            family=FAMILY,
            rules=options_text(
                height, width, rules=rules, handicap=handicap, max_moves=cap, planes=planes
            ),
            num_actions=num_cells + 1,
            observation_shape=(NUM_PLANES[planes], height, width),
            max_moves=cap,
            state_dtype=go_dtype(num_cells, cap),
            pass_action=num_cells,
            symmetries=go_symmetries(height, width),
        )
        self._layout = go_layout(height, width, cap)
        self._ko_rule = KO_RULES.index(rules.ko)
        self._white_points = rules.komi + rules.bonus(handicap)
        stones = handicap_actions(handicap, height=height, width=width) if handicap else []
        self._initial_state = self.position(stones, [], 1 if handicap else 0)

    @classmethod
    def from_text(cls, name: str, options: Mapping[str, str]) -> Self:
        """Makes a game of its name and options.

        Args:
            name: such as "go_9x9".
            options: as in `parse_go_options`.

        Returns:
            The game.

        Raises:
            UnknownGameError: if the name is no board.
            RulesError: if an option is not allowed.
        """
        height, width = parse_size(name)
        parsed = parse_go_options(options)
        return cls(height=height, width=width, **parsed._asdict())

    def with_rules(self, rules: GoRules) -> "Go":
        """Returns the same game by other rules; its states are states of this one."""
        return Go(
            height=self.height,
            width=self.width,
            rules=rules,
            max_moves=self._spec.max_moves,
            planes=self.planes,
            handicap=self.handicap,
        )

    @property
    def spec(self) -> GameSpec:
        """The facts of this game."""
        return self._spec

    @property
    def plane_names(self) -> tuple[str, ...]:
        """What each plane of an observation shows."""
        return PLANE_NAMES[self.planes]

    # --- positions ---

    def initial_states(self, num_games: int) -> States:
        """Returns [B] boards, empty or with the handicap stones."""
        return self._initial_state.repeat(num_games)

    def position(
        self,
        black: Iterable[int],
        white: Iterable[int],
        to_play: int,
        *,
        captures: Sequence[int] = (0, 0),
    ) -> States:
        """Sets up a position, the first of its superko history.

        Args:
            black: black stones, as actions.
            white: white stones, as actions.
            to_play: the player to move.
            captures: how many stones each player has captured before, by player id.

        Returns:
            [1] the position.

        Raises:
            RulesError: if a stone is off the board, two are on one point, or a chain has no
                liberty.
        """
        self._check_player(to_play)
        states = np.zeros(1, self._spec.state_dtype)
        states["setup"] = setup_board(black, white, height=self.height, width=self.width)
        set_up_all(go_rows(states), self._layout, to_play)
        states["facts"][:, _CAPTURES] = captures
        check_liberties(states, height=self.height, width=self.width)
        return states

    def _check_player(self, player: int) -> None:
        if player not in range(NUM_PLAYERS):
            raise RulesError(f"{self._spec.name}: got player {player}, allowed: 0 or 1")

    def with_to_play(self, states: States, player: int) -> States:
        """Gives the move to a player, as if the other one had passed, but without a move.

        Where that changes who is to move, passes before do not count any more, so that a game ended
        by them goes on. For situational superko the position has then been there with either player
        to move.

        Args:
            states: [B] states.
            player: who shall be to move.

        Returns:
            [B] new states.

        Raises:
            RulesError: if there is no such player.
        """
        self._check_player(player)
        after = copy_states(states)
        changed = np.flatnonzero(after["facts"][:, TO_PLAY] != player)
        after["facts"][changed, TO_PLAY] = player
        after["facts"][changed, NUM_PASSES] = 0
        after["marks"][changed, after["facts"][changed, NUM_MOVES]] |= MARK_TO_PLAY << player
        return after

    # --- playing ---

    def step(self, states: States, actions: npt.ArrayLike) -> States:
        """Plays one action in every game; see `Game.step`."""
        checked = integer_actions(actions, num_games=len(states))
        after = copy_states(states)
        self.play(after, checked, np.arange(len(states)))
        return after

    def play(
        self, states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> None:
        """Plays one action in some games, in place; see `Game.play`."""
        memory, suicide = go_rows(states), self.rules.suicide
        bad = play_all(memory, self._layout, self._ko_rule, suicide, actions, rows)
        if bad >= 0:
            raise illegal_action(self, states, row=int(rows[bad]), action=int(actions[bad]))

    def legal_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], True where the action is legal; all False in a finished game."""
        legal = np.empty((len(states), self._spec.num_actions), np.bool_)
        rows, suicide = go_rows(states), self.rules.suicide
        room = legal_room(self._layout)
        fill_legal_actions_all(rows, self._layout, self._ko_rule, suicide, room, legal)
        return legal

    def to_play(self, states: States) -> Int8Array:
        """Returns int8 [B], the player to move, also after the last move."""
        players: Int8Array = states["facts"][:, TO_PLAY].astype(np.int8)
        return players

    def is_over(self, states: States) -> BoolArray:
        """Returns bool [B], True after two passes in a row, or as many moves as are allowed."""
        facts = states["facts"]
        at_cap = facts[:, NUM_MOVES] >= self._spec.max_moves
        over: BoolArray = at_cap | (facts[:, NUM_PASSES] >= 2)
        return over

    def is_truncated(self, states: States) -> BoolArray:
        """Returns bool [B], True where the number of moves, and no two passes, ended the game."""
        truncated: BoolArray = self.is_over(states) & (states["facts"][:, NUM_PASSES] < 2)
        return truncated

    def returns(self, states: States) -> FloatArray:
        """Returns float32 [B, P]: 1 for whoever has the higher score, -1 for the other."""
        results = np.zeros((len(states), NUM_PLAYERS), np.float32)
        over = np.flatnonzero(self.is_over(states))
        if over.size > 0:
            black = np.sign(self.score(states[over]))
            results[over, 0] = black
            results[over, 1] = -black
        return results

    # --- counting ---

    def owners(self, states: States, dead: BoolArray | None = None) -> Int8Array:
        """Tells who owns each point.

        Args:
            states: [B] states, over or not.
            dead: bool [B, H, W], stones to be taken off first; None for none.

        Returns:
            int8 [B, H, W], the player whose stone is there or whose stones alone surround the
            empty region; EMPTY, -1, for nobody.
        """
        owners = states["board"].copy()
        if dead is not None:
            owners[:, :-1][dead.reshape(len(states), -1)] = EMPTY
        fill_owners_all(owners, self._layout.neighbours, np.empty(owners.shape[1], np.int8))
        return self._as_boards(owners[:, :-1])

    def score(self, states: States, dead: BoolArray | None = None) -> FloatArray:
        """Counts the board by the rules' scoring, see `scoring.py`.

        Args:
            states: [B] states, over or not.
            dead: bool [B, H, W], stones to be taken off first; None if all are alive.

        Returns:
            float32 [B], Black's points minus White's, komi and handicap bonus included; 0 is a
            draw.
        """
        owners, board = self.owners(states, dead), self.board(states)
        points = count_points(owners)
        if self.rules.scoring == "territory":
            removed = np.zeros(board.shape, np.bool_) if dead is None else dead
            points = count_territory(owners, board, removed) + self.captures(states)
        scores: FloatArray = (points[:, 0] - points[:, 1] - self._white_points).astype(np.float32)
        return scores

    def pass_alive(self, states: States) -> Int8Array:
        """Returns int8 [B, H, W], who owns a point whatever happens, by Benson; EMPTY for nobody.

        These are stones that cannot be captured though their owner always passes, and territory in
        which the opponent cannot live; see `pass_alive.py`.
        """
        owners = np.empty((len(states), self._layout.num_cells), np.int8)
        room = life_room(self._layout.num_cells)
        fill_pass_alive_all(go_rows(states), self._layout, self.rules.suicide, room, owners)
        return self._as_boards(owners)

    # --- facts of positions ---

    def _as_boards(self, cells: Int8Array) -> Int8Array:
        return cells.reshape(len(cells), self.height, self.width)

    def board(self, states: States) -> Int8Array:
        """Returns int8 [B, H, W], player ids, EMPTY (-1) where no stone is."""
        return self._as_boards(states["board"][:, :-1].copy())

    def captures(self, states: States) -> npt.NDArray[np.int32]:
        """Returns int32 [B, P], the number of stones each player has captured."""
        captured: npt.NDArray[np.int32] = states["facts"][:, _CAPTURES].astype(np.int32)
        return captured

    def num_moves(self, states: States) -> npt.NDArray[np.int32]:
        """Returns int32 [B], the number of moves played, passes included."""
        counts: npt.NDArray[np.int32] = states["facts"][:, NUM_MOVES].astype(np.int32)
        return counts

    def num_passes(self, states: States) -> npt.NDArray[np.int32]:
        """Returns int32 [B], the number of passes in a row at the end."""
        counts: npt.NDArray[np.int32] = states["facts"][:, NUM_PASSES].astype(np.int32)
        return counts

    def last_action(self, states: States) -> npt.NDArray[np.int64]:
        """Returns int64 [B], the last move; -1 before the first."""
        num_moves = self.num_moves(states)
        actions = states["actions"][np.arange(len(states)), np.maximum(num_moves - 1, 0)]
        return np.where(num_moves > 0, actions.astype(np.int64), -1)

    def observe(self, states: States) -> UInt8Array:
        """Returns uint8 [B, C, H, W], the planes of `planes.py`."""
        num_planes = self._spec.observation_shape[0]
        observations = np.empty((len(states), num_planes, self._layout.num_cells), np.uint8)
        rows = go_rows(states)
        if self.planes == "history":
            fill_history_all(rows, self._layout, observations)
        else:
            fill_extended_all(
                rows,
                self._layout,
                self._ko_rule,
                self.rules.suicide,
                self._white_points,
                legal_room(self._layout),
                liberty_counts(self._layout),
                observations,
            )
        return observations.reshape(len(states), *self._spec.observation_shape)

    def apply_symmetry(self, states: States, symmetry: Symmetry) -> States:
        """Returns [B] transformed games: the same moves, transformed, played from the beginning."""
        transformed = np.zeros(len(states), self._spec.state_dtype)
        transformed["setup"] = states["setup"][:, symmetry.cells]
        images = inverse(symmetry).actions
        replay_all(go_rows(states), self._layout, images, go_rows(transformed))
        transformed["facts"][:, _CAPTURES] = states["facts"][:, _CAPTURES]  # some from before
        return transformed

    # --- guesses and playouts ---

    def heuristic_values(self, states: States) -> FloatArray:
        """Returns float32 [B], guesses for the player to move, see `heuristic.py`."""
        return go_heuristic_values(
            states,
            self._layout,
            is_territory=self.rules.scoring == "territory",
            white_points=self._white_points,
        )

    def own_eyes(self, states: States) -> BoolArray:
        """Returns bool [B, A], the plays that would fill an eye of the player to move."""
        return own_eyes(self, states)

    def playout_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], the legal actions worth trying, see `playout.py`."""
        return playout_actions(self, states)

    def root_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], those of `playout_actions` to choose a move from.

        On large boards these are few at first, see `opening.py`.
        """
        return opening_actions(self, states, self.playout_actions(states))

    def playout_returns(self, states: States, *, rng: np.random.Generator) -> FloatArray:
        """Returns float32 [B, P], the results of one random playout each, see `playout.py`."""
        return playout_returns(self, states, rng=rng)

    # --- texts ---

    def action_to_text(self, action: int) -> str:
        """Returns the move as a GTP vertex, such as "D4" or "pass".

        Raises:
            IllegalActionError: if there is no such action.
        """
        if not 0 <= action < self._spec.num_actions:
            raise IllegalActionError(
                f"{self._spec.name}: got action {action},"
                f" allowed: 0 to {self._spec.num_actions - 1}"
            )
        return action_to_vertex(int(action), height=self.height, width=self.width)

    def text_to_action(self, text: str) -> int:
        """Reads a GTP vertex, upper or lower case; spaces around it are ignored.

        Raises:
            NotationError: if the text names no action of this game.
        """
        return vertex_to_action(text, height=self.height, width=self.width)

    def render(self, state: np.void) -> str:
        """Returns the board with X (Black) and O (White), the last stone in brackets."""
        states = np.array([state], self._spec.state_dtype)
        end = ""
        if self.is_over(states)[0]:
            black = float(self.score(states)[0])
            end = "cut off, " * bool(self.is_truncated(states)[0]) + format_result(black)
        return draw_game(
            self.board(states)[0],
            last_action=int(self.last_action(states)[0]),
            to_play=int(self.to_play(states)[0]),
            captures=self.captures(states)[0],
            komi=self._white_points,
            end=end,
        )
