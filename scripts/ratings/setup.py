"""What a ladder is played with: its folder, anchors and settings, and the workers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.arguments import read_number, seed_from

if TYPE_CHECKING:
    from eval.ladder_files import Ladder
    from eval.rating_store import RatingSettings, RatingStore
    from scripts.ratings.rounds import LadderRounds

NUM_GAMES = 20  # of a match; a checkpoint asks for about five


@contextmanager
def open_store(folder: Path) -> "Iterator[RatingStore]":
    """Opens the folder of a ladder, made if need be, for this process alone.

    Raises:
        CheckpointError: if another process uses it, or it cannot be made.
        LadderError: if it holds something else.
    """
    from eval.rating_store import RatingStore
    from train.run_folder import locked, write_errors

    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        yield RatingStore(folder)


def choose_ladder(values: Mapping[str, str], store: "RatingStore", game: str) -> "Ladder":
    """Returns the anchors: those named, those of the results so far, or those of the game.

    Args:
        values: the words of the command line.
        store: the results so far.
        game: the game to be rated in.

    Raises:
        LadderError: if a file is no ladder, or one for other rules.
    """
    from alphago.games import make_game
    from eval.ladder_files import (
        LADDERS,
        Ladder,
        LadderError,
        find_ladder,
        has_rules_of,
        load_ladder,
    )

    stored = store.settings()
    if "ladder" in values:
        path = Path(values["ladder"])
        shipped = LADDERS / f"{path}.yaml"
        ladder = load_ladder(shipped if not path.exists() and shipped.exists() else path)
        if ladder.game is not None and not has_rules_of(game, ladder.game):
            raise LadderError(f"{path}: is for {ladder.game}, but the game is {game}")
        return ladder
    if stored is not None:
        _check_programs(stored.anchors, find_ladder(make_game(game).spec), folder=store.folder)
        return Ladder(game=stored.game, opening_plies=stored.opening_plies, anchors=stored.anchors)
    return find_ladder(make_game(game).spec)


def _check_programs(anchors: Iterable[str], ladder: "Ladder", *, folder: Path) -> None:
    """Refuses programs that nobody but the folder names: it may come from a stranger.

    Raises:
        LadderError: if an anchor is a program, and none of the game's own ladder.
    """
    from alphago.players.text import is_engine
    from eval.ladder_files import LadderError

    for anchor in anchors:
        if is_engine(anchor) and anchor not in ladder.anchors:
            raise LadderError(
                f"{folder}: its anchor {anchor!r} is a program, which is not started because a"
                " folder says so; name the ladder again: ladder=FILE"
            )


def choose_settings(
    values: Mapping[str, str],
    store: "RatingStore",
    ladder: "Ladder",
    *,
    game: str,
    simulations: int | None,
) -> "RatingSettings":
    """Returns what everything is played with: as named, else as before, else by default.

    Args:
        values: the words of the command line.
        store: the results so far.
        ladder: the anchors.
        game: the game to be rated in. Fixed ratings are met in the game they were measured in; Go
            with a GTP program has room for any sensible game, as in matches.
        simulations: per move, where nothing else is named; None where no checkpoint is rated.

    Raises:
        CommandLineError: if a number is none, or not allowed.
    """
    from alphago.games import game_text
    from alphago.types import MAX_SIMULATIONS
    from eval.ladder_files import has_rules_of
    from eval.rating_store import RatingSettings
    from scripts.players import choose_game, refuse_people

    refuse_people(list(ladder.anchors))
    stored = store.settings()
    chosen = choose_game(list(ladder.anchors), game_name=None, other_name=ladder.game or game)
    if simulations is not None:
        simulations = read_number(
            values,
            "simulations",
            kind=int,
            default=simulations if stored is None else stored.simulations,
            allowed=f"an integer from 0 to {MAX_SIMULATIONS}",
            check=lambda number: number is not None and 0 <= number <= MAX_SIMULATIONS,
        )
    text = game_text(chosen.spec)
    if stored is not None and has_rules_of(stored.game, text):
        text = stored.game  # an anchor that has come or gone may have changed the cap on moves
    return RatingSettings(
        game=text,
        simulations=simulations,
        games=read_number(
            values,
            "games",
            kind=int,
            default=NUM_GAMES if stored is None else stored.games,
            allowed="an even integer of at least 2",
            check=lambda number: number >= 2 and number % 2 == 0,
        ),
        opening_plies=ladder.opening_plies,
        seed=seed_from(values) if "seed" in values or stored is None else stored.seed,
        anchors=dict(ladder.anchors),
    )


def begin(
    store: "RatingStore", settings: "RatingSettings", ladder: "Ladder"
) -> tuple[list[str], list[str]]:
    """Makes every anchor once, and notes what the ladder is played with.

    So a misspelt anchor shows while it can be mended: no result is there yet.

    Returns:
        The anchors that play, weakest first, and those whose programs are not installed.

    Raises:
        PlayerError: if an anchor cannot be made.
        LadderError: if no anchor is left, or the results there were played with something else.
    """
    from alphago.games import make_game
    from alphago.players import make_player
    from eval.ladder_files import without_missing_programs

    playing, left_out = without_missing_programs(ladder)
    game = make_game(settings.game)
    for anchor in playing.anchors:
        make_player(anchor, game=game)
    store.begin(settings)
    return list(playing.anchors), left_out


@contextmanager
def ladder_rounds(
    store: "RatingStore", settings: "RatingSettings", anchors: Sequence[str], *, num_workers: int
) -> "Iterator[LadderRounds]":
    """Makes what plays a ladder, for the time of the block.

    Raises:
        TrainingError: if Ray does not start.
    """
    from scripts.progress_bar import progress_bar
    from scripts.ratings.rounds import LadderRounds
    from scripts.workers import workers

    with workers(num_workers) as pool, progress_bar("games") as show:
        yield LadderRounds(store, settings, anchors=anchors, workers=pool, show=show)
