"""The two ways to watch the demo: a screen that changes in place, and lines for a pipe or a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from panes.cli.snapshot import ShownAnswer, Snapshot
from panes.cli.tables import size
from panes.cli.value_text import text
from panes.plan.kept_text import kept_text

PANEL_WIDTH = 38
"""Columns of the screen that a panel needs at least."""

PANEL_FRAME = 4
"""Lines of a panel that are not rows: its border and the head of its table."""

STATUS_LINES = 3
SECONDS_BETWEEN_LINES = 2.0


class View(Protocol):
    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, snapshot: Snapshot) -> None: ...


def status_line(snapshot: Snapshot) -> str:
    """How the database is doing, in one line."""
    clock = snapshot.clock.strftime("%H:%M:%S") if snapshot.clock else "–"
    lag = "–" if snapshot.lag_seconds is None else f"{snapshot.lag_seconds:.1f} s"
    return (
        f"epoch {snapshot.epoch} ({snapshot.epoch_seconds:.1f} s)  clock {clock}  "
        f"{snapshot.rows_per_second:,.0f} rows/s  lag {lag}  state {size(snapshot.state_bytes)}{_kept(snapshot)}"
    )


def _kept(snapshot: Snapshot) -> str:
    """How many queries shed rows, and the least share that one of them keeps; nothing when none does."""
    shares = [(share, stream) for kept in snapshot.kept.values() for stream, share in kept.items()]
    if not shares:
        return ""
    share, stream = min(shares)
    queries = "1 query keeps" if len(snapshot.kept) == 1 else f"{len(snapshot.kept)} queries keep at least"
    return f"  {queries} {kept_text(stream, share)}"


class LiveView:
    """All answers side by side, redrawn in place; the last of them stay on the screen at the end."""

    def __init__(self, out: Console, seconds: float) -> None:
        self._out = out
        self._seconds = seconds
        self._live = Live(console=out, screen=True, auto_refresh=False)
        self._last: Snapshot | None = None

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        if self._last:
            self._out.print(self._panels(self._last))

    def show(self, snapshot: Snapshot) -> None:
        self._last = snapshot
        self._live.update(self.screen(snapshot), refresh=True)

    def screen(self, snapshot: Snapshot) -> RenderableType:
        left = f"ends in {max(0.0, self._seconds - snapshot.elapsed):.0f} s or at Ctrl-C"
        state = left if snapshot.has_answers else "waiting for the first answers"
        screen = Table.grid(expand=True)
        screen.add_column(no_wrap=True)
        screen.add_row(Text(f"Panes: {len(snapshot.answers)} standing queries; {state}"))
        screen.add_row(Text(status_line(snapshot), style="bold"))
        screen.add_row(Text(snapshot.last_change))
        screen.add_row(self._panels(snapshot))
        return screen

    def _panels(self, snapshot: Snapshot) -> RenderableType:
        """As many panels in a row as fit, and in each as many rows as its share of the height holds."""
        across = max(1, min(len(snapshot.answers), self._out.width // PANEL_WIDTH))
        down = -(-len(snapshot.answers) // across)
        height = max(PANEL_FRAME + 1, (self._out.height - STATUS_LINES) // down)
        grid = Table.grid(expand=True)
        for _ in range(across):
            grid.add_column(ratio=1)
        for first in range(0, len(snapshot.answers), across):
            grid.add_row(*(_panel(a, height) for a in snapshot.answers[first : first + across]))
        return grid


class PlainView:
    """A line about the database and one for each query, every few seconds."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._last_epoch: int | None = None
        self._last_change = ""
        self._next = 0.0

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        if not snapshot.has_answers or snapshot.epoch == self._last_epoch or snapshot.elapsed < self._next:
            return
        self._last_epoch, self._next = snapshot.epoch, snapshot.elapsed + SECONDS_BETWEEN_LINES
        self._line(status_line(snapshot))
        if snapshot.last_change != self._last_change:
            self._last_change = snapshot.last_change
            self._line(f"  {snapshot.last_change}")
        for answer in snapshot.answers:
            first = ", ".join(f"{k} {compact(v)}" for k, v in answer.rows[0].items()) if answer.rows else "–"
            self._line(f"  {answer.query.title}: {first}{_of(answer)}")

    def _line(self, line: str) -> None:
        self._out.print(line, highlight=False, markup=False, soft_wrap=True)


def _panel(answer: ShownAnswer, height: int) -> Panel:
    return Panel(
        rows_table(answer.columns, answer.rows[: height - PANEL_FRAME]),
        title=Text(f"{answer.query.title} ({answer.count})", style="bold"),
        title_align="left",
        subtitle=Text(answer.query.window),
        subtitle_align="left",
        height=height,
    )


def rows_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows under their column names, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        is_number = any(isinstance(row[name], (int, float)) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(compact(row[name])) for name in columns))
    return table


def compact(value: object) -> str:
    """A value in little space: numbers with two decimals.

    >>> compact(2 / 3), compact("tcp")
    ('0.67', 'tcp')
    """
    return f"{value:.2f}" if isinstance(value, float) else text(value)


def _of(answer: ShownAnswer) -> str:
    return f"   (first of {answer.count} rows)" if answer.count > 1 else ""
