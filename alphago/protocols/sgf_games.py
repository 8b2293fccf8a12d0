"""SGF games and our rules of Go: replaying a file, alone or many at once, and a game as SGF.

A file is replayed as it is: the colours need not alternate, stones may be set up between moves, and
after two passes the game may go on. The only thing refused is a move or a set-up that the rules
forbid.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from alphago.errors import IllegalActionError, RulesError, SgfError
from alphago.games.go.game import Go
from alphago.games.go.naming import default_max_moves
from alphago.games.go.rules import (
    DEFAULT_RULE_SET,
    RULE_SETS,
    GoRules,
    parse_rules,
    rule_set_name,
    rules_text,
)
from alphago.protocols.colors import BLACK, WHITE
from alphago.protocols.sgf import SgfGame, SgfMove, SgfNode
from alphago.types import States

# How files name rule sets, first the name that we write; compared by letters only.
_RULE_NAMES: Mapping[str, tuple[str, ...]] = {
    "chinese": ("Chinese", "cn", "China"),
    "tromp_taylor": ("Tromp-Taylor", "tt"),
    "aga": ("AGA", "BGA", "French"),
    "japanese": ("Japanese", "jp", "Japan", "Korean", "Korea", "kr"),
    "new_zealand": ("NZ", "New Zealand"),
}
# For files that name no rules: whatever was played, it was hardly under more than the simple ko.
USUAL_RULES = replace(RULE_SETS[DEFAULT_RULE_SET], ko="simple")
# Of a game that is loaded, or played by GTP. A position has room for all moves of its game, and the
# one after each move is kept: 4,000 of them take 210 MB on 25x25, 10,000 would take 1.2 GB.
MOST_MOVES = 4000
_STONES = (BLACK, WHITE)
_BATCH = 128  # games replayed in lockstep: their states fit a processor's cache


class Replay(NamedTuple):
    """The moves of a file from its last set-up on, and the positions on the way.

    Attributes:
        moves: [T] the moves since the last set-up.
        states: [T + 1] batches of one, before each of the moves and after the last.
    """

    moves: list[SgfMove]
    states: list[States]


class _Step(NamedTuple):
    """One move of a file, and what its nodes say before it."""

    stones: Mapping[int, int]  # set up, by point: player ids, -1 where the point is cleared
    to_play: int | None
    move: SgfMove | None  # None after the last one


# ----- rules


def rules_name(rules: GoRules) -> str:
    """Returns what the property RU says of rules: a set's usual name, or all that makes them.

    Komi has a property of its own and is left out where the rest is a named set.
    """
    name = rule_set_name(rules)
    return rules_text(rules) if name is None else _RULE_NAMES[name][0]


def rules_of_sgf(sgf: SgfGame, default: GoRules = USUAL_RULES) -> GoRules:
    """Returns the rules by which a file says that it was played.

    Args:
        sgf: the game.
        default: the rules where it names none that are known.

    Raises:
        SgfError: if its komi is neither an integer nor a half.
    """
    return with_komi(_named_rules(sgf.rules) or default, sgf)


def with_komi(rules: GoRules, sgf: SgfGame) -> GoRules:
    """Returns rules with the komi of a file, where it tells one.

    Raises:
        SgfError: if that is neither an integer nor a half.
    """
    if sgf.komi is None:
        return rules
    try:
        return replace(rules, komi=sgf.komi)
    except RulesError as error:
        raise SgfError(f"{sgf.source}: {error}") from error


def _named_rules(text: str) -> GoRules | None:
    """Reads what `rules_name` writes, and the names that other programs use."""
    if "=" in text:
        pairs = [part.partition("=") for part in text.split(",")]
        try:
            return parse_rules({key.strip(): value.strip() for key, _, value in pairs})
        except RulesError:
            return None  # another program's words
    wanted = _letters(text)
    for name, spellings in _RULE_NAMES.items():
        if wanted in map(_letters, spellings):
            return RULE_SETS[name]
    return None


def _letters(text: str) -> str:
    return re.sub("[^a-z]", "", text.lower())


def go_of_sgf(sgf: SgfGame, *, rules: GoRules | None = None, max_moves: int | None = None) -> Go:
    """Returns the game that a file is played by, with room for all of its moves.

    White's bonus for handicap stones is part of its komi. It follows the number that the file
    declares, wherever its stones are.

    Args:
        sgf: the game.
        rules: the rules, komi included; None for those of the file.
        max_moves: cap on the number of moves; None for one that fits the file.

    Raises:
        SgfError: if its komi is neither an integer nor a half or with the bonus too large, or it
            has too many moves.
    """
    num_moves, usual = len(sgf.moves), default_max_moves(sgf.height, sgf.width)
    if num_moves > MOST_MOVES:
        raise SgfError(f"{sgf.source}: got {num_moves} moves, allowed: at most {MOST_MOVES}")
    if max_moves is None:
        max_moves = usual if num_moves < usual else MOST_MOVES
    told = rules_of_sgf(sgf) if rules is None else rules
    try:
        counted = told.with_bonus(sgf.handicap)
    except RulesError as error:
        raise SgfError(f"{sgf.source}: {error}") from error
    return Go(height=sgf.height, width=sgf.width, rules=counted, max_moves=max_moves)


# ----- replaying


def replay_sgf(game: Go, sgf: SgfGame, *, up_to_move: int | None = None) -> Replay:
    """Plays the main line of a file.

    Who is to move at the end: the player of the next move, else the one of the file's PL, else the
    opponent of the last move. Before any move White begins a handicap game, Black any other.

    Args:
        game: the rules, on a board of the file's size.
        sgf: the game.
        up_to_move: number of the first move that is not played, from 1; None to play all.

    Raises:
        SgfError: naming file, move and reason, if a move or a set-up is against the rules.
    """
    moves: list[SgfMove] = []
    states = [_first_position(game, sgf)]
    has_moves = bool(sgf.moves)
    for number, step in enumerate(_steps(sgf), start=1):
        if _changes_board(game, states[-1], step) or (step.to_play is not None and not has_moves):
            states = [_set_up(game, states[-1], step, where=_place(sgf, number - 1))]
            moves = []
        elif step.to_play is not None and number > 1:
            states[-1] = game.with_to_play(states[-1], step.to_play)
        if step.move is None:
            break
        states[-1] = _give_move(game, states[-1], step.move, where=_place(sgf, number))
        if up_to_move is not None and number >= up_to_move:
            break
        states.append(_play(game, states[-1], step.move, where=_place(sgf, number)))
        moves.append(step.move)
    return Replay(moves, states)


def _steps(sgf: SgfGame) -> Iterator[_Step]:
    """Yields the moves of a file with what is set up before each, and at last what follows them.

    Nodes without a move are taken together: a file may hold millions, but few moves.
    """
    stones: dict[int, int] = {}
    to_play = None
    for node in sgf.nodes:
        for points, stone in zip((node.black, node.white, node.empty), (*_STONES, -1), strict=True):
            stones.update(dict.fromkeys(points, stone))
        if node.to_play is not None:
            to_play = node.to_play
        if node.move is not None:
            yield _Step(stones, to_play, node.move)
            stones, to_play = {}, None
    yield _Step(stones, to_play, None)


def _first_position(game: Go, sgf: SgfGame) -> States:
    """Returns an empty board: a file sets up its handicap stones itself."""
    if (game.height, game.width) != (sgf.height, sgf.width):
        raise SgfError(
            f"{sgf.source}: got a board of {sgf.width}x{sgf.height}, allowed: {game.spec.name}"
        )
    return game.position([], [], _first_player(sgf))


def _first_player(sgf: SgfGame) -> int:
    """Returns who begins: the first to move, else whom the file names, else by the handicap."""
    if sgf.moves:
        return sgf.moves[0].player
    named = [node.to_play for node in sgf.nodes if node.to_play is not None]
    return named[-1] if named else (WHITE if sgf.handicap >= 2 else BLACK)


def _changes_board(game: Go, states: States, step: _Step) -> bool:
    """Tells whether any stone that is set up is not on the board of `states` [1] already."""
    board = game.board(states)[0].reshape(-1)
    return any(board[point] != stone for point, stone in step.stones.items())


def _set_up(game: Go, states: States, step: _Step, *, where: str) -> States:
    """Returns a new beginning: the board of `states` [1] with the stones that are set up.

    Stones that were captured before stay captured.
    """
    board = game.board(states)[0].reshape(-1)
    board[list(step.stones)] = list(step.stones.values())
    black, white = (np.flatnonzero(board == player).tolist() for player in _STONES)
    to_play = int(game.to_play(states)[0]) if step.to_play is None else step.to_play
    try:
        return game.position(black, white, to_play, captures=game.captures(states)[0].tolist())
    except RulesError as error:
        raise SgfError(f"{where}: {error}") from error


def _give_move(game: Go, states: States, move: SgfMove, *, where: str) -> States:
    """Makes the player of a move the next one; a game that two passes have ended goes on.

    Raises:
        SgfError: if the player fills, out of turn, the ko that the same player has just taken. The
            record lacks a move there: nobody passes to let a ko be filled and has it not written.
    """
    to_play = int(game.to_play(states)[0])
    if game.num_passes(states)[0] >= 2:
        states = game.with_to_play(states, 1 - to_play)
    elif to_play != move.player and _is_ko(game, states, move.action):
        raise SgfError(
            f"{where}: {_shown(game, move)}: fills at once the ko that it has just taken"
        )
    return game.with_to_play(states, move.player)


def _is_ko(game: Go, states: States, action: int) -> bool:
    """Tells whether a point is forbidden to the player to move by the simple ko alone."""
    by_ko_rule = game.with_rules(replace(game.rules, ko="simple"))
    if by_ko_rule.is_over(states)[0] or by_ko_rule.legal_actions(states)[0, action]:
        return False
    passed = by_ko_rule.step(states, [game.height * game.width])  # a pass lifts the ko
    again = by_ko_rule.with_to_play(passed, int(game.to_play(states)[0]))
    return bool(by_ko_rule.legal_actions(again)[0, action])


def _play(game: Go, states: States, move: SgfMove, *, where: str) -> States:
    try:
        return game.step(states, [move.action])
    except IllegalActionError as error:
        raise SgfError(f"{where}: {_why_illegal(game, states, move)}") from error


def _why_illegal(game: Go, states: States, move: SgfMove) -> str:
    """Says in words why a move cannot be played."""
    shown = _shown(game, move)
    if game.is_over(states)[0]:
        return f"{shown}: the game is over after {game.spec.max_moves} moves"
    if game.board(states)[0].reshape(-1)[move.action] in _STONES:
        return f"{shown}: the point is occupied"
    without_ko = game.with_rules(replace(game.rules, ko="simple"))
    by_rules = f"by the rules {rules_name(game.rules)}"
    if game.rules.ko != "simple" and without_ko.legal_actions(states)[0, move.action]:
        return f"{shown}: the position repeats an earlier one ({game.rules.ko} superko), {by_rules}"
    return f"{shown}: a ko taken back at once, or suicide, {by_rules}"


def _shown(game: Go, move: SgfMove) -> str:
    return f"{'Black' if move.player == BLACK else 'White'} {game.action_to_text(move.action)}"


def _place(sgf: SgfGame, number: int) -> str:
    return f"{sgf.source}: move {number}"


def replay_together(game: Go, sgfs: Sequence[SgfGame]) -> States:
    """Plays many games, most of them in lockstep, which is much faster than one by one.

    Args:
        game: the rules for all of them.
        sgfs: games on the board of `game`.

    Returns:
        [B] the positions at their ends.

    Raises:
        SgfError: as in `replay_sgf`.
    """
    ends = np.empty(len(sgfs), game.spec.state_dtype)
    # Longest first: those of a batch that go on are then its first rows.
    order = sorted(range(len(sgfs)), key=lambda index: -len(sgfs[index].moves))
    alike = [index for index in order if not _is_changed_later(sgfs[index])]
    for begin in range(0, len(alike), _BATCH):
        batch = alike[begin : begin + _BATCH]
        ends[batch] = _replay_batch(game, [sgfs[index] for index in batch])
    for index in order:
        if _is_changed_later(sgfs[index]):
            ends[index] = replay_sgf(game, sgfs[index]).states[-1][0]
    return ends


def _is_changed_later(sgf: SgfGame) -> bool:
    """Tells whether anything but moves follows the first move."""
    moved = [node.move is not None for node in sgf.nodes]
    later = sgf.nodes[moved.index(True) + 1 :] if True in moved else ()
    return any(node.is_set_up or node.to_play is not None for node in later)


def _replay_batch(game: Go, sgfs: Sequence[SgfGame]) -> States:
    """Plays games in lockstep, one batched step per move; the longest come first."""
    lines = [sgf.moves for sgf in sgfs]
    states = np.concatenate([replay_sgf(game, sgf, up_to_move=1).states[-1] for sgf in sgfs])
    num_playing = len(lines)
    for ply in range(len(lines[0])):
        while len(lines[num_playing - 1]) <= ply:
            num_playing -= 1
        playing = states[:num_playing]
        players = np.array([line[ply].player for line in lines[:num_playing]])
        actions = np.array([line[ply].action for line in lines[:num_playing]])
        odd = np.flatnonzero((game.to_play(playing) != players) | (game.num_passes(playing) >= 2))
        for row in odd.tolist():
            where = _place(sgfs[row], ply + 1)
            one = playing[row : row + 1]
            playing[row : row + 1] = _give_move(game, one, lines[row][ply], where=where)
        try:
            states[:num_playing] = game.step(playing, actions)
        except IllegalActionError:
            _raise_first(game, sgfs[:num_playing], playing, ply=ply)
            raise
    return states


def _raise_first(game: Go, sgfs: Sequence[SgfGame], states: States, *, ply: int) -> None:
    """Raises SgfError for the first of the games whose move number `ply` cannot be played."""
    for row, sgf in enumerate(sgfs):
        _play(game, states[row : row + 1], sgf.moves[ply], where=_place(sgf, ply + 1))


# ----- writing


def sgf_of_game(
    game: Go,
    actions: Iterable[int],
    *,
    comments: Sequence[str] = (),
    result: str | None = None,
    black_name: str = "",
    white_name: str = "",
    comment: str = "",
    name: str = "",
) -> SgfGame:
    """Returns a game that was played from the beginning, the colours alternating.

    Args:
        game: the rules.
        actions: the moves.
        comments: of each move; none at all, or one for each.
        result: as in `SgfGame`.
        black_name: who played Black.
        white_name: who played White.
        comment: of the whole game.
        name: of the game.
    """
    start = game.initial_states(1)
    first = int(game.to_play(start)[0])
    stones = np.flatnonzero(game.board(start)[0].reshape(-1) == BLACK).tolist()
    root = SgfNode(black=tuple(stones), to_play=first if stones else None, comment=comment)
    moves = [SgfMove((first + ply) % 2, int(action)) for ply, action in enumerate(actions)]
    texts = comments or [""] * len(moves)
    nodes = (SgfNode(move=move, comment=text) for move, text in zip(moves, texts, strict=True))
    return SgfGame(
        width=game.width,
        height=game.height,
        nodes=(root, *nodes),
        komi=game.rules.komi,
        rules=rules_name(game.rules),
        handicap=game.handicap,
        black_name=black_name,
        white_name=white_name,
        result=result,
        name=name,
    )
