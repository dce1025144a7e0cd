"""What a terminal shows while `run` takes in what the sources hold, or many rows are loaded; in files and pipes,
nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from panes.clock import Clock
from panes.status import Epoch


@contextmanager
def progress_bar(
    where: Console | bool | None, files_left: Callable[[], int | None], clock: Clock
) -> Iterator[Callable[[Epoch], None] | None]:
    """Gives what is to be told of every epoch while the bar stands; None when none is shown.

    `where` is a console, or whether to show the bar on standard error; None means: if that is a terminal.
    """
    console = _console(where)
    if console is None:
        yield None
        return
    with ProgressBar(console, files_left, clock) as bar:
        yield bar.update


@contextmanager
def progress_line(where: Console | bool | None, words: str) -> Iterator[None]:
    """Shows for how long something has been going on, where `progress_bar` shows a bar."""
    console = _console(where)
    if console is None:
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(escape(words), total=None)
        yield


def _console(where: Console | bool | None) -> Console | None:
    """Where progress is shown; None when it is not."""
    if where is False:
        return None
    console = where if isinstance(where, Console) else Console(stderr=True)
    return None if where is None and not console.is_terminal else console


class ProgressBar:
    """A line that is drawn over and over, and gone at the end."""

    def __init__(self, console: Console, files_left: Callable[[], int | None], clock: Clock) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}"),
            console=console,
            transient=True,
        )
        self._files_left = files_left
        self._clock = clock
        self._began: float | None = None
        """When the first epoch began: starting Spark is not part of the rate."""
        self._rows = 0
        self._all_files = files_left()
        self._task = self._progress.add_task("starting", total=self._all_files or None, words="")

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, epoch: Epoch) -> None:
        now = self._clock.elapsed()
        if self._began is None:
            self._began = now - epoch.seconds
        self._rows += epoch.rows
        left = self._files_left()
        done = None if left is None or self._all_files is None else max(0, self._all_files - left)
        self._progress.update(
            self._task,
            description=f"epoch {epoch.number}",
            completed=done,
            words=words(epoch, self._rows, now - self._began, left, self._clock.now_us()),
        )


def words(epoch: Epoch, rows: int, seconds: float, files_left: int | None, now_us: int) -> str:
    """What there is to say after an epoch: rows so far in this run, how fast, and how far it has come.

    >>> from panes.clock import to_datetime
    >>> words(Epoch(3, to_datetime(90_000_000), 500, 0.5), 2000, 4.0, 7, 0)
    '2,000 rows  500 rows/s  clock 1970-01-01 00:01:30  7 files left'
    >>> words(Epoch(3, to_datetime(90_000_000), 500, 0.5), 2000, 4.0, None, 91_500_000)
    '2,000 rows  500 rows/s  clock 1970-01-01 00:01:30  1.5 s behind'
    """
    parts = [f"{rows:,} rows"]
    if seconds > 0:
        parts.append(f"{rows / seconds:,.0f} rows/s")
    if epoch.clock is not None:
        parts.append(f"clock {epoch.clock:%Y-%m-%d %H:%M:%S}")
    if files_left is not None:
        parts.append(f"{files_left:,} files left")
    elif epoch.clock is not None:
        parts.append(f"{now_us / 1_000_000 - epoch.clock.timestamp():,.1f} s behind")
    return "  ".join(parts)
