"""Plays the parts of a match that are missing, and stops when a sequential test has decided."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from alphago.games import Game
from alphago.players import Player
from alphago.players.text import ENGINE_PREFIX, KINDS, split_text
from eval.match_plan import MatchPart, pair_counts
from eval.matches import MatchResult, merge_matches
from eval.openings import paired_openings, read_openings
from eval.sprt import SprtConfig, SprtState, sprt
from scripts.arguments import CommandLineError
from scripts.match_settings import POLICY, RANDOM, MatchSettings
from scripts.progress_bar import Show
from scripts.workers import MatchTask, MatchWorker, workers

OnPart = Callable[[int, MatchResult], None]


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """A match that is about to be played.

    Attributes:
        game: the game as text.
        players: the first and the second player as text.
        parts: its games.
        timeout_s: seconds that a move of a GTP program may take.
        test: when to stop early; None for never.
    """

    game: str
    players: tuple[str, str]
    parts: list[MatchPart]
    timeout_s: float
    test: SprtConfig | None

    @property
    def num_games(self) -> int:
        """The games of all parts."""
        return sum(part.num_games for part in self.parts)


class Verdict(NamedTuple):
    """Where the sequential test of a match stands."""

    config: SprtConfig
    state: SprtState
    num_parts: int  # it has looked at so many parts, in order
    num_games: int  # of these parts


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

    The games follow from it, but for GTP programs. The test is no part of it: it only decides how
    many of them count.
    """
    openings = [opening for part in plan.parts for opening in part.openings]
    kind = settings.openings if settings.openings in (RANDOM, POLICY) else "file"
    return {
        "players": plan.players,
        "networks": [_network_digest(text) for text in plan.players],
        "game": plan.game,
        "seed": settings.seed,
        "games": plan.num_games,
        "openings": kind,
        "opening_plies": None if kind == "file" else settings.num_plies,
        "openings_sha256": hashlib.sha256(json.dumps(openings).encode()).hexdigest(),
        "sgf": None if settings.sgf_folder is None else str(settings.sgf_folder),
    }


def _network_digest(text: str) -> str | None:
    """Returns the hash of a player's network, which a run that goes on replaces; None without."""
    subject, options = split_text(text)
    if subject in (*KINDS, ENGINE_PREFIX):
        return None
    from alphago.players.loading import find_network

    step = options.get("step")
    found = find_network(Path(subject), step=int(step) if step and step.isdecimal() else step)
    digest = hashlib.sha256()
    for name in sorted(found.weights):
        digest.update(name.encode() + found.weights[name].tobytes())
    return digest.hexdigest()


def play_missing(
    plan: MatchPlan,
    finished: dict[int, MatchResult],
    *,
    num_workers: int,
    here: MatchWorker,
    store: OnPart | None,
    show: Show,
) -> None:
    """Plays the parts of a match that have not finished, until the test has decided.

    Args:
        plan: the match.
        finished: the parts that have, by number; completed in place.
        num_workers: how many parts to play at a time.
        here: the worker of this process, which plays alone where `num_workers` is 1.
        store: is given each part before it counts; None for nobody.
        show: is told how far the match has come.

    Raises:
        AlphagoError: as in `Workers.run`, and what `store` raises.
        MatchInterruptedError, KeyboardInterrupt: on Ctrl-C.
    """
    missing = [part for part in plan.parts if part.number not in finished]
    if not missing or has_decided(plan, finished):
        return
    tasks = (MatchTask(plan.game, plan.players, part, plan.timeout_s) for part in missing)

    def show_plies(done: int, total: int, num_plies: int) -> None:
        # Games side by side end late, and all at once: the plies show that something goes on.
        show(_num_games(finished) + done, plan.num_games, f"ply {num_plies}")

    with (
        workers(min(num_workers, len(missing)), here=here) as pool,
        contextlib.closing(pool.run(tasks, progress=show_plies)) as results,
    ):
        for task, result in results:
            if store is not None:
                store(missing[task].number, result)
            finished[missing[task].number] = result
            show(_num_games(finished), plan.num_games, f"part {len(finished)} of {len(plan.parts)}")
            if has_decided(plan, finished):
                return


def judge(plan: MatchPlan, finished: Mapping[int, MatchResult]) -> Verdict | None:
    """Runs the test on the finished parts in order, as far as none is missing; None without a test.

    It looks after each part, and parts beyond a decision do not count: the verdict does not depend
    on who has played which part when.
    """
    if plan.test is None:
        return None
    in_order: list[MatchResult] = []
    state = sprt([0] * 5, plan.test)
    for part in plan.parts:
        if part.number not in finished or state.decision is not None:
            break
        in_order.append(finished[part.number])
        state = sprt(pair_counts(in_order), plan.test)
    num_games = sum(len(part.games) for part in in_order)
    return Verdict(plan.test, state, len(in_order), num_games)


def has_decided(plan: MatchPlan, finished: Mapping[int, MatchResult]) -> bool:
    """Tells whether the test has."""
    verdict = judge(plan, finished)
    return verdict is not None and verdict.state.decision is not None


def result_so_far(
    plan: MatchPlan, finished: Mapping[int, MatchResult], *, partial: MatchResult | None = None
) -> MatchResult | None:
    """Returns the result of the parts that count, None if there is none.

    Args:
        plan: the match.
        finished: the finished parts by number.
        partial: the finished games of a part that was broken off.
    """
    verdict = judge(plan, finished)
    has_ended = verdict is not None and verdict.state.decision is not None
    counted = verdict.num_parts if verdict is not None and has_ended else len(plan.parts)
    results = [finished[number] for number in sorted(finished) if number < counted]
    if partial is not None:
        results.append(partial)
    return merge_matches(results) if results else None


def _num_games(finished: Mapping[int, MatchResult]) -> int:
    return sum(len(result.games) for result in finished.values())
