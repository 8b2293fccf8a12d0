"""A progress bar on standard error for work that takes a while; nothing where no terminal is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[int, int, str], None]  # how many are done, of how many, and a remark


@contextmanager
def progress_bar(what: str) -> Iterator[Show]:
    """Shows a bar while the block runs.

    Args:
        what: the things that are counted.

    Yields:
        A function that takes how many are done, of how many, and what to say beside the bar.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        *Progress.get_default_columns()[:2],
        MofNCompleteColumn(),
        TextColumn("{task.fields[remark]}"),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(what, total=None, remark="")

        def show(done: int, total: int, remark: str) -> None:
            progress.update(task, completed=done, total=total, remark=remark)

        yield show
