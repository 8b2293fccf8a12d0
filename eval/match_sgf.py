"""The games of a match of Go as SGF files, one per game: `001.sgf`, `002.sgf`, ..."""

import os
from pathlib import Path

from alphago.errors import SgfError
from alphago.files import reason, replace_file
from alphago.games.game import Game
from alphago.games.go.drawing import format_result
from alphago.games.go.game import Go
from alphago.players.game_follower import ForfeitKind
from alphago.protocols.colors import BLACK
from alphago.protocols.sgf import SgfGame, write_sgf
from alphago.protocols.sgf_games import sgf_of_game
from eval.endings import GameEnding
from eval.matches import MatchResult

# What follows the plus sign of RE; whoever loses otherwise has broken the rules or its program.
_LETTERS = {ForfeitKind.RESIGNATION: "R", ForfeitKind.TIMEOUT: "T"}
_FORFEIT_LETTER = "F"


def prepare_folder(folder: Path, game: Game, *, goes_on: bool = False) -> None:
    """Makes a folder for games, before they are played.

    Args:
        folder: the folder; it may exist, but not hold games.
        game: the rules.
        goes_on: the match began in an earlier sitting, whose games may be there.

    Raises:
        SgfError: if the game is not Go, the folder holds SGF files or cannot be made.
    """
    if not isinstance(game, Go):
        raise SgfError(f"sgf: got {game.spec.name}, allowed: games of Go")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(name for name in os.listdir(folder) if name.endswith(".sgf"))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise SgfError(f"{folder}: no folder for games ({why})") from error
    if names and not goes_on:
        raise SgfError(f"{folder}: holds {names[0]}, allowed: a folder without SGF files")


def write_match(folder: Path, game: Game, result: MatchResult, *, num_games: int) -> None:
    """Writes every game of a match into a folder that `prepare_folder` made.

    What an earlier sitting of the match has left there is replaced or removed.

    Args:
        folder: the folder.
        game: the rules.
        result: the games that have been played.
        num_games: of the whole match.

    Raises:
        SgfError: if a file cannot be written or removed.
    """
    assert isinstance(game, Go), "has been asked when the folder was made"
    num_digits = max(3, len(str(num_games)))
    for index in range(num_games):
        file = folder / f"{index + 1:0{num_digits}}.sgf"
        try:
            if index < len(result.games):
                with replace_file(file) as content:
                    content.write(write_sgf(match_game(game, result, index)).encode())
            else:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise SgfError(f"{file}: cannot be written ({reason(error)})") from error


def match_game(game: Go, result: MatchResult, index: int) -> SgfGame:
    """Returns one game of a match.

    Names, result and moves are by colour: Black has player id 0. The root's comment tells of a cap
    on moves, of forfeits, and of final scores that are not ours.

    Args:
        game: the rules.
        result: the match.
        index: of the game, from 0.
    """
    names = (result.first, result.second)
    first_seat, ending = result.first_seats[index], result.endings[index]
    return sgf_of_game(
        game,
        result.games[index],
        result=_result(ending, first_seat=first_seat),
        black_name=names[first_seat],
        white_name=names[1 - first_seat],
        comment=_comment(game, ending, names=names),
    )


def _result(ending: GameEnding, *, first_seat: int) -> str:
    """Returns the result as SGF has it, by colour."""
    if ending.forfeit is None:
        assert ending.score is not None, "games of Go are counted"
        return format_result(ending.score)
    loser = first_seat if ending.forfeited_by == 0 else 1 - first_seat
    letter = _LETTERS.get(ending.forfeit.kind, _FORFEIT_LETTER)
    return f"{'W' if loser == BLACK else 'B'}+{letter}"


def _comment(game: Go, ending: GameEnding, *, names: tuple[str, str]) -> str:
    """Returns what the result alone does not tell, "" where there is nothing."""
    lines = []
    if ending.truncated:
        lines.append(f"Ended by the cap of {game.spec.max_moves} moves; the board was counted.")
    if ending.forfeit is not None and ending.forfeited_by is not None:
        lines.append(
            f"{names[ending.forfeited_by]}: {ending.forfeit.kind}: {ending.forfeit.reason}"
        )
    for player, claim in enumerate(ending.claims):
        if claim is not None and not ending.agrees(player):
            score = claim if isinstance(claim, str) else format_result(claim)
            lines.append(f"{names[player]}: final score {score}")
    return "\n".join(lines)
