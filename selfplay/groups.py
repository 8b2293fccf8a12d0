"""The groups of games of one actor, each played by a thread of its own.

While the network works for one group, another searches: waiting for it releases Python's lock. See
`resources.py` for how many there are, and why those of an actor on a GPU share one CPU.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from selfplay.cpus import keep_thread_on
from selfplay.play import SelfPlay
from selfplay.reports import ActorMemory, PlayReport, sum_of_stats
from selfplay.snapshots import join_groups, split_groups


def play_groups(
    groups: Sequence[SelfPlay], is_enough: Callable[[int], bool], *, cpu: int | None = None
) -> PlayReport:
    """Plays all groups at once until it is enough; unfinished games wait for the next call.

    Args:
        groups: what to play. A single one is played by the calling thread.
        is_enough: asked by each group before each of its simulations, with the number of games that
            all groups together have finished in this call.
        cpu: the CPU that the threads share; None leaves them to the system.

    Raises:
        Exception: what the first group that failed raised; the others have stopped.
    """
    if len(groups) == 1:
        return groups[0].play_until(is_enough)
    num_finished = [0] * len(groups)
    stopped = threading.Event()

    def is_enough_for(group: int, number: int) -> bool:
        num_finished[group] = number
        return stopped.is_set() or is_enough(sum(num_finished))

    with ThreadPoolExecutor(
        len(groups), thread_name_prefix="group", initializer=keep_thread_on, initargs=(cpu,)
    ) as threads:
        try:
            calls = [
                threads.submit(group.play_until, partial(is_enough_for, number))
                for number, group in enumerate(groups)
            ]
            wait(calls, return_when=FIRST_EXCEPTION)
        finally:  # after Ctrl-C and after an error as well, or the threads would be waited for
            stopped.set()
    return merge_reports([call.result() for call in calls])


def merge_reports(reports: Sequence[PlayReport]) -> PlayReport:
    """Adds up what groups of one process did side by side: counts are sums, times are means."""
    total = sum_of_stats([report.stats for report in reports])
    memory = [report.memory for report in reports]
    return PlayReport(
        records=[record for report in reports for record in report.records],
        stats=total._replace(
            seconds=total.seconds / len(reports),
            seconds_evaluating=total.seconds_evaluating / len(reports),
        ),
        memory=ActorMemory(
            resident_bytes=max(each.resident_bytes for each in memory),
            tree_bytes=sum(each.tree_bytes for each in memory),
            cache_bytes=sum(each.cache_bytes for each in memory),
        ),
    )


def snapshot_groups(groups: Sequence[SelfPlay]) -> dict[str, Any]:
    """Returns the unfinished games of all groups; those of a single one as `SelfPlay` does."""
    return join_groups([group.snapshot() for group in groups])


def restore_groups(groups: Sequence[SelfPlay], snapshot: dict[str, Any]) -> None:
    """Goes on with the unfinished games of a snapshot.

    Where the snapshot has more groups, the games of the last are dropped; where it has fewer, the
    last begin new games.
    """
    for group, part in zip(groups, split_groups(snapshot), strict=False):
        group.restore(part)
