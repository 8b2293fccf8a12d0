"""A slow, plain Go referee that stores every board of a game, written apart from the kernels.

A board is a tuple of height * width cells, row by row from the top as drawn; a cell is EMPTY or the
id of the stone's player (0 Black, 1 White). A point, and a play, is the number of a cell; the pass
is height * width. Boards of any size; the legal set is found by making every play.

The rules, in the words of Tromp and Taylor with the usual options:

    play         put a stone; remove the opponent's chains without liberty, then one's own
    suicide      the removal of one's own chain: of one stone never legal (the board stays as it
                 is), of several only where the rules allow it
    simple ko    a play that takes exactly one stone, with a stone that then stands alone with one
                 liberty, may not bring back the board before the opponent's play just made
    positional   a play may not bring back any earlier board
    situational  a play may not bring back any earlier board with the same player to move; boards
                 made by passes, and by a change of the player to move, are among the earlier ones
    end          two passes in a row; a change of the player to move between them breaks the row
"""

from collections.abc import Container, Iterable, Sequence

EMPTY = -1
BLACK, WHITE = 0, 1
LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"

Board = tuple[int, ...]


class Geometry:
    """Which points of a board touch."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width
        self.num_points = height * width
        self.neighbours = [self._touching(point) for point in range(self.num_points)]

    def _touching(self, point: int) -> list[int]:
        row, column = divmod(point, self.width)
        steps = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        return [
            r * self.width + c for r, c in steps if 0 <= r < self.height and 0 <= c < self.width
        ]

    def region(self, board: Sequence[int], start: int) -> tuple[set[int], set[int]]:
        """Returns the connected points of the same content as `start`, and what touches them."""
        content = board[start]
        inside, border, queue = {start}, set(), [start]
        while queue:
            for point in self.neighbours[queue.pop()]:
                if board[point] != content:
                    border.add(point)
                elif point not in inside:
                    inside.add(point)
                    queue.append(point)
        return inside, border

    def regions(
        self, board: Board, contents: Container[int] = (EMPTY, BLACK, WHITE)
    ) -> list[tuple[set[int], set[int]]]:
        """Returns every region once, chains of stones and empty ones, and what touches it."""
        seen: set[int] = set()
        found = []
        for point in range(self.num_points):
            if board[point] in contents and point not in seen:
                inside, border = self.region(board, point)
                seen |= inside
                found.append((inside, border))
        return found

    def is_legal_board(self, board: Board) -> bool:
        """Returns whether every chain has a liberty."""
        return all(
            board[min(inside)] == EMPTY or any(board[point] == EMPTY for point in border)
            for inside, border in self.regions(board)
        )

    def point(self, vertex: str) -> int:
        """Reads a GTP vertex."""
        if vertex.lower() == "pass":
            return self.num_points
        column, row = LETTERS.index(vertex[0].upper()), self.height - int(vertex[1:])
        assert 0 <= column < self.width and 0 <= row < self.height, vertex
        return row * self.width + column

    def vertex(self, point: int) -> str:
        if point == self.num_points:
            return "pass"
        row, column = divmod(point, self.width)
        return f"{LETTERS[column]}{self.height - row}"


class GoReferee:
    """One game, changed by `play` and `set_to_play`."""

    def __init__(
        self,
        height: int,
        width: int,
        *,
        ko: str,
        suicide: bool,
        black: Iterable[int] = (),
        white: Iterable[int] = (),
        to_play: int = BLACK,
    ) -> None:
        assert ko in ("simple", "positional", "situational"), ko
        self.geometry = Geometry(height, width)
        self.ko, self.suicide = ko, suicide
        cells = [EMPTY] * (height * width)
        for player, points in ((BLACK, black), (WHITE, white)):
            for point in points:
                assert cells[point] == EMPTY, point
                cells[point] = player
        self.board: Board = tuple(cells)
        assert self.geometry.is_legal_board(self.board)
        self.to_play = to_play
        self.boards = {self.board}  # every board of the game so far
        self.situations = {(self.board, to_play)}  # the same with the player to move
        self.outcomes: dict[int, tuple[Board, int, int]] = {}  # of the plays asked about by now
        self.last_play: tuple[int, Board] | None = None  # who played, the board before; no pass
        self.captures = [0, 0]  # stones each player has captured
        self.num_passes = 0  # in a row, at the end
        self.actions: list[int] = []

    @property
    def pass_action(self) -> int:
        return self.geometry.num_points

    def is_over(self) -> bool:
        return self.num_passes >= 2

    def play(self, action: int) -> None:
        """Makes a legal play or a pass."""
        assert self.is_legal(action), self.geometry.vertex(action)
        mover = self.to_play
        self.actions.append(action)
        if action == self.pass_action:
            self.num_passes += 1
            self.last_play = None
        else:
            before = self.board
            self.board, taken, lost = self.after_play(action)
            self.captures[mover] += taken
            self.captures[1 - mover] += lost
            self.num_passes = 0
            self.last_play = (mover, before)
        self.to_play = 1 - mover
        self._remember()

    def set_to_play(self, player: int) -> None:
        """Gives the move to a player, as when one colour plays twice in a row."""
        if player != self.to_play:
            self.to_play = player
            self.num_passes = 0
            self._remember()

    def _remember(self) -> None:
        self.outcomes.clear()
        self.boards.add(self.board)
        self.situations.add((self.board, self.to_play))

    def after_play(self, point: int) -> tuple[Board, int, int]:
        """Returns the board after a play, how many stones it takes, and how many it loses."""
        if point not in self.outcomes:
            self.outcomes[point] = self._outcome(point)
        return self.outcomes[point]

    def _outcome(self, point: int) -> tuple[Board, int, int]:
        cells = list(self.board)
        cells[point] = self.to_play
        num_taken = 0
        for near in self.geometry.neighbours[point]:
            if cells[near] == 1 - self.to_play:
                chain, border = self.geometry.region(cells, near)
                if all(cells[other] != EMPTY for other in border):
                    num_taken += len(chain)
                    for stone in chain:
                        cells[stone] = EMPTY
        chain, border = self.geometry.region(cells, point)
        if any(cells[other] == EMPTY for other in border):
            return tuple(cells), num_taken, 0
        for stone in chain:
            cells[stone] = EMPTY
        return tuple(cells), num_taken, len(chain)

    def is_legal(self, action: int) -> bool:
        if self.is_over():
            return False
        return action == self.pass_action or self.verdict(action) == "legal"

    def verdict(self, point: int) -> str:
        """Returns "legal" or why a play is not: "occupied", "suicide" or "ko"."""
        if self.board[point] != EMPTY:
            return "occupied"
        after, num_taken, num_lost = self.after_play(point)
        if num_lost == 1 or (num_lost > 1 and not self.suicide):
            return "suicide"
        return "ko" if self.is_ko(after, point=point, num_taken=num_taken) else "legal"

    def is_ko(self, after: Board, *, point: int, num_taken: int) -> bool:
        """Returns whether the ko rule forbids a play that leads to the board `after`."""
        if self.ko == "positional":
            return after in self.boards
        if self.ko == "situational":
            return (after, 1 - self.to_play) in self.situations
        return self.retakes_a_ko(after, point=point, num_taken=num_taken)

    def retakes_a_ko(self, after: Board, *, point: int, num_taken: int) -> bool:
        """Returns whether a play takes back, at once, in a ko of single stones."""
        if self.last_play is None:
            return False
        last_mover, board_before = self.last_play
        chain, border = self.geometry.region(after, point)
        liberties = [other for other in border if after[other] == EMPTY]
        single_stones = num_taken == 1 and len(chain) == 1 and len(liberties) == 1
        return single_stones and last_mover != self.to_play and after == board_before

    def legal_actions(self) -> list[int]:
        return [action for action in range(self.pass_action + 1) if self.is_legal(action)]

    def ko_illegal(self) -> list[int]:
        """Returns the points forbidden by the ko rule alone."""
        return [point for point in range(self.pass_action) if self.verdict(point) == "ko"]

    def superko_only(self) -> list[int]:
        """Returns the points that a superko rule forbids and simple ko would not."""
        points = []
        for point in self.ko_illegal():
            after, num_taken, _ = self.after_play(point)
            if not self.retakes_a_ko(after, point=point, num_taken=num_taken):
                points.append(point)
        return points

    # --- scoring ---

    def without(self, dead: Iterable[int]) -> Board:
        gone = set(dead)
        return tuple(EMPTY if point in gone else cell for point, cell in enumerate(self.board))

    def owners(self, dead: Iterable[int] = ()) -> Board:
        """Returns who owns each point: stones left and the empty points only they touch."""
        board = self.without(dead)
        owners = list(board)
        for inside, border in self.geometry.regions(board, [EMPTY]):
            touched = {board[point] for point in border}
            if len(touched) == 1:
                for point in inside:
                    owners[point] = min(touched)
        return tuple(owners)

    def area(self, dead: Iterable[int] = ()) -> int:
        """Returns Black's stones and surrounded points minus White's."""
        owners = self.owners(dead)
        return owners.count(BLACK) - owners.count(WHITE)

    def territory(self, dead: Iterable[int] = ()) -> int:
        """Returns Black's surrounded points and prisoners minus White's."""
        dead = set(dead)
        board, owners = self.without(dead), self.owners(dead)
        points = [0, 0]
        for player in (BLACK, WHITE):
            empty = [cell == EMPTY and o == player for cell, o in zip(board, owners, strict=True)]
            num_dead = sum(self.board[point] == 1 - player for point in dead)
            points[player] = sum(empty) + self.captures[player] + num_dead
        return points[BLACK] - points[WHITE]

    def pass_alive(self) -> Board:
        """Returns whose each point is for good, even if that player passes for ever (Benson).

        A chain lives when two regions are vital to it: the opponent cannot fill them, as every
        empty point of theirs (where suicide is allowed every point: filled up, it may be emptied)
        is next to the chain. Regions in which other chains than living ones take part do not count.
        The territory of living stones: regions bordered by them alone with at most one point that
        touches none of them, too few for two eyes.
        """
        owners = [EMPTY] * self.pass_action
        for player in (BLACK, WHITE):
            for point in self._pass_alive_points(player):
                owners[point] = player
        return tuple(owners)

    def _pass_alive_points(self, player: int) -> set[int]:
        two_sided = tuple(int(cell == player) for cell in self.board)  # the opponent's as empty
        parts = self.geometry.regions(two_sided)
        chains = [inside for inside, _ in parts if two_sided[min(inside)]]
        regions = [(inside, border) for inside, border in parts if not two_sided[min(inside)]]
        alive, alive_before = chains, []
        while alive != alive_before:
            alive_before = alive
            stones = set().union(*alive)
            regions = [(inside, border) for inside, border in regions if border <= stones]
            alive = [c for c in alive if sum(self._is_vital(r, c) for r, _ in regions) >= 2]
        stones = set().union(*alive)
        territory = [r for r, _ in regions if sum(not self._touch(p, stones) for p in r) <= 1]
        return stones.union(*territory) if alive else set()

    def _is_vital(self, region: set[int], chain: set[int]) -> bool:
        must_touch = [p for p in region if self.suicide or self.board[p] == EMPTY]
        return all(self._touch(point, chain) for point in must_touch)

    def _touch(self, point: int, stones: set[int]) -> bool:
        return any(near in stones for near in self.geometry.neighbours[point])
