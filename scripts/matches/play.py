"""Plays the parts of a match that are missing, and stops when a sequential test has decided."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alphago.games import Game
from alphago.players import Player
from eval.match_plan import MatchPart
from eval.matches import MatchResult
from eval.openings import paired_openings, read_openings
from scripts.arguments import CommandLineError
from scripts.matches.players import MatchPlayer
from scripts.matches.settings import POLICY, RANDOM, MatchSettings
from scripts.matches.so_far import MatchSoFar
from scripts.progress_bar import Show
from scripts.workers import MatchTask, MatchWorker, workers

OnPart = Callable[[int, MatchResult], None]


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """A match that is about to be played.

    Attributes:
        game: the game as text.
        players: the first and the second player.
        parts: its games.
        timeout_s: seconds that a move of a GTP program may take.
    """

    game: str
    players: tuple[MatchPlayer, MatchPlayer]
    parts: list[MatchPart]
    timeout_s: float

    @property
    def num_games(self) -> int:
        """The games of all parts."""
        return sum(part.num_games for part in self.parts)

    def task(self, part: MatchPart) -> MatchTask:
        """Returns what a worker has to know to play a part."""
        first, second = self.players
        return MatchTask(
            self.game,
            (first.text, second.text),
            part,
            timeout_s=self.timeout_s,
            names=(first.typed, second.typed),
            networks=(first.network, second.network),
        )


def draw_openings(
    game: Game, players: tuple[Player, Player], settings: MatchSettings
) -> list[list[int]]:
    """Returns the openings of a match, one for two games.

    Raises:
        CommandLineError: if there are too few in the file, or no player has a policy to draw from.
        OpeningsError: if the file cannot be used.
        ConfigError: if no opening is so long.
    """
    if settings.openings not in (RANDOM, POLICY):
        return _openings_from_file(game, Path(settings.openings), num_games=settings.num_games)
    assert settings.num_games is not None, "only a file leaves it open"
    num_pairs, num_plies, seed = settings.num_games // 2, settings.num_plies, settings.seed
    if settings.openings == RANDOM:
        return paired_openings(game, num_pairs=num_pairs, num_plies=num_plies, seed=seed)
    from alphago.players.network_player import NetworkPlayer
    from eval.policy_openings import policy_openings

    for player in players:
        if isinstance(player, NetworkPlayer):
            return policy_openings(player, num_pairs=num_pairs, num_plies=num_plies, seed=seed)
    raise CommandLineError(
        f"openings: got {POLICY}, allowed: {RANDOM} or a file, since neither player is a network"
    )


def _openings_from_file(game: Game, file: Path, *, num_games: int | None) -> list[list[int]]:
    openings = read_openings(game, file)
    most = 2 * len(openings)
    if num_games is not None and num_games > most:
        raise CommandLineError(
            f"games: got {num_games}, allowed: at most {most}, two for each opening of {file}"
        )
    return openings if num_games is None else openings[: num_games // 2]


def match_header(plan: MatchPlan, settings: MatchSettings) -> dict[str, Any]:
    """Returns what makes a match another one than others, for its file of results.

    The games follow from it, but for GTP programs and players that think by the clock. The test is
    no part of it: it only decides how many of them count.
    """
    openings = [opening for part in plan.parts for opening in part.openings]
    kind = settings.openings if settings.openings in (RANDOM, POLICY) else "file"
    return {
        "players": [player.typed for player in plan.players],
        "networks": [player.network for player in plan.players],
        "game": plan.game,
        "seed": settings.seed,
        "games": plan.num_games,
        "openings": kind,
        "opening_plies": None if kind == "file" else settings.num_plies,
        "openings_sha256": hashlib.sha256(json.dumps(openings).encode()).hexdigest(),
        "sgf": None if settings.sgf_folder is None else str(settings.sgf_folder),
    }


def play_missing(
    plan: MatchPlan,
    so_far: MatchSoFar,
    *,
    num_workers: int,
    here: MatchWorker,
    store: OnPart | None,
    show: Show,
) -> None:
    """Plays the parts of a match that have not finished, until the test has decided.

    Args:
        plan: the match.
        so_far: the parts that have; completed in place.
        num_workers: how many parts to play at a time.
        here: the worker of this process, which plays alone where `num_workers` is 1.
        store: is given each part before it counts; None for nobody.
        show: is told how far the match has come.

    Raises:
        AlphagoError: as in `Workers.run`, and what `store` raises.
        MatchInterruptedError, KeyboardInterrupt: on Ctrl-C.
    """
    missing = [part for part in plan.parts if part.number not in so_far.parts]
    if not missing or so_far.has_decided:
        return
    num_workers = min(num_workers, len(missing))
    if num_workers > 1:
        here.close()  # its networks and programs would only take room

    def show_plies(done: int, total: int, num_plies: int) -> None:
        # Games side by side end late, and all at once: the plies show that something goes on.
        show(so_far.num_games + done, plan.num_games, f"ply {num_plies}")

    with (
        workers(num_workers, here=here) as pool,
        contextlib.closing(pool.run(map(plan.task, missing), progress=show_plies)) as results,
    ):
        for task, result in results:
            if store is not None:
                store(missing[task].number, result)
            so_far.add(missing[task].number, result)
            part = f"part {len(so_far.parts)} of {len(plan.parts)}"
            show(so_far.num_games, plan.num_games, part)
            if so_far.has_decided:
                return
