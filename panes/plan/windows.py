"""The windows that turn a stream into a time-varying relation. Lengths are microseconds, instants too.

| written | holds at τ |
| --- | --- |
| `[RANGE d]` | the tuples with `ts <= τ < ts + d` |
| `[RANGE d SLIDE s]` | what `[RANGE d]` holds at the last multiple of s that is not after τ |
| `[RANGE d OFFSET o]` | what `[RANGE d]` held at `τ - o`: the tuples with `ts + o <= τ < ts + o + d` |
| `[RANGE d OFFSET o SLIDE s]` | what `[RANGE d OFFSET o]` holds at the last multiple of s that is not after τ |
| `[ROWS n]` | the n youngest tuples with `ts <= τ`; of tuples with one ts, later ones are younger |
| `[ROWS n SLIDE m]` | what `[ROWS n]` held just after the last tuple whose number is a multiple of m |
| `[ROWS n SLIDE s]`, s a length of time | what `[ROWS n]` holds at the last multiple of s that is not after τ |
| `[PARTITION BY a, b ROWS n]` | the n youngest of each (a, b) |
| `[SESSION d]` | the tuples since the last pause of d or longer; none when nothing came for d |
| `[PARTITION BY a, b SESSION d]` | the same of each (a, b) |
| `[NOW]`, `[NOW OFFSET o]` | the tuples with `ts = τ`; those with `ts = τ - o` |
| `[RANGE UNBOUNDED]`, `[RANGE UNBOUNDED OFFSET o]` | all tuples with `ts <= τ`; all with `ts <= τ - o` |
| `BEGIN (b) END (e)` | the tuples with `b <= ts <= e`, where b and e are instants or offsets from τ |

A tuple that comes late is in no window before it came. `INTERNAL` bounds what an operator remembers, but results
once given stay (append-only output).

All arithmetic of a window is here, as methods of its class: a new kind of window is one class and its parser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.plan.durations import duration_text, instant_text
from panes.plan.update_pattern import MONOTONIC, STRICT, WEAKEST, Labeled

FOREVER = np.iinfo(np.int64).max
"""The `exp` of a row that no window ends."""

BEGINNING = np.iinfo(np.int64).min
"""The clock of a database that has seen nothing."""

Instants = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reach:
    """Which tuples of a stream a window may hold: those with `since <= ts <= until`."""

    since: int
    until: int
    youngest: int | None = None
    """The most of those that it may hold: the last ones."""
    needs_order: bool = False
    """Whether the order of arrival decides which tuples it holds."""


@dataclass(frozen=True)
class WindowSpec(ABC):
    """What every window knows about itself."""

    internal: bool = field(default=False, kw_only=True)
    """Whether results that were given stay when the window moves on."""

    @property
    def is_timed(self) -> bool:
        """Whether the time of a tuple alone decides when it is in the window: then it has a `lifetime`."""
        return True

    @property
    def slide_us(self) -> int | None:
        """By which length of time the window slides; None when it moves on at every instant."""
        return None

    @property
    def offset_us(self) -> int:
        """How long ago the window is as it is now: a tuple enters and leaves that much later."""
        return 0

    @property
    def has_slide(self) -> bool:
        """Whether SLIDE is written, in time or in rows."""
        return self.slide_us is not None

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The columns that decide which tuples the window holds."""
        return ()

    @property
    def begins_at(self) -> int | None:
        """The fixed instant before which no tuple is ever in the window; None when there is none."""
        return None

    @property
    def ends_at(self) -> int | None:
        """The fixed instant after which no tuple is ever in the window; None when there is none."""
        return None

    @property
    def youngest(self) -> int | None:
        """How many of the youngest tuples of a stream the window may hold; None when it does not count them."""
        return None

    @abstractmethod
    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
        """The instants at which tuples enter the window and leave it; those that never enter leave before that.

        `seen` is the instant from which on a tuple can be seen: its time, or later when it came late. Both results
        grow with `ts` where `seen` is `ts`.
        """

    def lifetime_in(self, rows: pa.Table, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:  # noqa: ARG002
        """`lifetime`, of rows of which a column may have a say in it."""
        return self.lifetime(ts, seen)

    @abstractmethod
    def reach(self, now: int) -> Reach:
        """How far back tuples can be that are in the window at an instant."""

    @abstractmethod
    def retained(self) -> int | None:
        """For how long after its time a tuple may be needed: it is in the window at no instant from
        `ts + retained()` on. None when there is no such length."""

    @abstractmethod
    def label(self) -> Labeled:
        """The update pattern of a stream seen through the window, with the reason."""

    @abstractmethod
    def text(self, quote: Callable[[str], str] = str) -> str:
        """The window as it is written in the language; `quote` makes column names safe."""

    def last_slide(self, now: int) -> int:
        """The last instant not after `now` at which the window moved on."""
        return now if self.slide_us is None else now - now % self.slide_us

    def next_slide(self, now: int) -> int:
        """The first instant after `now` at which the window moves on."""
        return now + 1 if self.slide_us is None else self.last_slide(now) + self.slide_us

    def without_slide(self) -> WindowSpec:
        """The same window, moving on at every instant."""
        return self

    def _bracketed(self, inside: str) -> str:
        return f"[{inside}{' INTERNAL' if self.internal else ''}]"


@dataclass(frozen=True)
class RangeWindow(WindowSpec):
    range_us: int
    slide_us: int | None = None
    offset_us: int = 0

    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
        enters, leaves = _entered(ts, seen, self.offset_us), ts + (self.offset_us + self.range_us)
        if self.slide_us is None:
            return enters, leaves
        return round_up(enters, self.slide_us), round_up(leaves, self.slide_us)

    def reach(self, now: int) -> Reach:
        at = self.last_slide(now) - self.offset_us
        return Reach(at - self.range_us + 1, at)

    def retained(self) -> int:
        return self.offset_us + self.range_us + (self.slide_us or 0)

    def label(self) -> Labeled:
        return Labeled(WEAKEST, "rows leave a time window in the order they came")

    def text(self, quote: Callable[[str], str] = str) -> str:  # noqa: ARG002
        """
        >>> RangeWindow(600_000_000, 60_000_000).text()
        '[RANGE 10 MINUTES SLIDE 1 MINUTE]'
        """
        length = f"RANGE {duration_text(self.range_us)}"
        return self._bracketed(f"{length}{_offset_text(self.offset_us)}{_slide_text(self.slide_us)}")

    def without_slide(self) -> RangeWindow:
        return replace(self, slide_us=None)


@dataclass(frozen=True)
class RowsWindow(WindowSpec):
    rows: int
    slide: int | None = None
    """By how many tuples the window slides."""
    partition_by: tuple[str, ...] = ()
    slide_us: int | None = None

    @property
    def is_timed(self) -> bool:
        return False

    @property
    def has_slide(self) -> bool:
        return self.slide is not None or self.slide_us is not None

    @property
    def youngest(self) -> int | None:
        # Of a window that slides in time, any number of younger tuples may have come since the last slide.
        if self.partition_by or self.slide_us is not None:
            return None
        return self.rows + (self.slide or 1) - 1

    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:  # noqa: ARG002
        raise TypeError("a tuple leaves a count window when later ones come, at no known time")

    def numbers(self, number: Instants) -> tuple[Instants, Instants]:
        """With which tuples the tuples of these numbers enter the window and leave it, counted from 1."""
        step = self.slide or 1
        return round_up(number, step), round_up(number + self.rows, step)

    def reach(self, now: int) -> Reach:
        return Reach(BEGINNING, self.last_slide(now), self.youngest, needs_order=True)

    def retained(self) -> None:
        return None

    def label(self) -> Labeled:
        return Labeled(STRICT, "a row leaves a count window when a later one comes")

    def text(self, quote: Callable[[str], str] = str) -> str:
        """
        >>> RowsWindow(100, slide_us=10_000_000).text()
        '[ROWS 100 SLIDE 10 SECONDS]'
        """
        by = f"PARTITION BY {', '.join(map(quote, self.partition_by))} " if self.partition_by else ""
        slide = f" SLIDE {self.slide}" if self.slide else _slide_text(self.slide_us)
        return self._bracketed(f"{by}ROWS {self.rows}{slide}")

    def without_slide(self) -> RowsWindow:
        return replace(self, slide_us=None)


@dataclass(frozen=True)
class SessionWindow(WindowSpec):
    """The session that is open: tuples follow each other by less than the gap, and the last one came less than the
    gap ago. When the gap has passed, all of them leave together.

    A tuple that came late is of the session that is open when it comes.
    """

    gap_us: int
    partition_by: tuple[str, ...] = ()

    @property
    def is_timed(self) -> bool:
        return False

    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:  # noqa: ARG002
        raise TypeError(
            "a tuple leaves a session window when no later one came for the gap, at no known time"
        )

    def reach(self, now: int) -> Reach:
        return Reach(BEGINNING, now)

    def retained(self) -> None:
        return None

    def label(self) -> Labeled:
        return Labeled(STRICT, "every further tuple makes a session last longer")

    def text(self, quote: Callable[[str], str] = str) -> str:
        """
        >>> SessionWindow(30_000_000, ("user",)).text()
        '[PARTITION BY user SESSION 30 SECONDS]'
        """
        by = f"PARTITION BY {', '.join(map(quote, self.partition_by))} " if self.partition_by else ""
        return self._bracketed(f"{by}SESSION {duration_text(self.gap_us)}")


@dataclass(frozen=True)
class NowWindow(WindowSpec):
    offset_us: int = 0

    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
        return _entered(ts, seen, self.offset_us), ts + (self.offset_us + 1)

    def reach(self, now: int) -> Reach:
        return Reach(now - self.offset_us, now - self.offset_us)

    def retained(self) -> int:
        return self.offset_us + 1

    def label(self) -> Labeled:
        return Labeled(WEAKEST, "every row leaves one instant after it came")

    def text(self, quote: Callable[[str], str] = str) -> str:  # noqa: ARG002
        return self._bracketed(f"NOW{_offset_text(self.offset_us)}")


@dataclass(frozen=True)
class UnboundedWindow(WindowSpec):
    offset_us: int = 0

    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
        return _entered(ts, seen, self.offset_us), np.full(len(ts), FOREVER)

    def reach(self, now: int) -> Reach:
        return Reach(BEGINNING, now - self.offset_us)

    def retained(self) -> None:
        return None

    def label(self) -> Labeled:
        return Labeled(MONOTONIC, "rows never leave an unbounded window")

    def text(self, quote: Callable[[str], str] = str) -> str:  # noqa: ARG002
        return self._bracketed(f"RANGE UNBOUNDED{_offset_text(self.offset_us)}")


@dataclass(frozen=True)
class BeginEndWindow(WindowSpec):
    """PSoup's `BEGIN (…) END (…)`, applied when the query is invoked.

    Each end is an instant, or an offset from NOW that is zero or negative; both constant is a snapshot,
    a constant begin a landmark, both relative a sliding window. Tuples with `begin <= ts <= end` are in.
    """

    begin_us: int
    begin_is_relative: bool
    end_us: int
    end_is_relative: bool

    @property
    def begins_at(self) -> int | None:
        return None if self.begin_is_relative else self.begin_us

    @property
    def ends_at(self) -> int | None:
        return None if self.end_is_relative else self.end_us

    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
        if self.end_is_relative:
            enters = np.maximum(seen, ts - self.end_us)
        else:
            enters = np.where(ts > self.end_us, FOREVER, seen)
        if self.begin_is_relative:
            leaves = ts - self.begin_us + 1
        else:
            leaves = np.where(ts < self.begin_us, BEGINNING, FOREVER)
        return enters, leaves

    def reach(self, now: int) -> Reach:
        begin = now + self.begin_us if self.begin_is_relative else self.begin_us
        end = now + self.end_us if self.end_is_relative else self.end_us
        return Reach(begin, min(end, now))

    def retained(self) -> int | None:
        return 1 - self.begin_us if self.begin_is_relative else None

    def label(self) -> Labeled:
        if self.begin_is_relative:
            return Labeled(WEAKEST, "rows leave a sliding window in the order they came")
        return Labeled(MONOTONIC, "rows never leave a window that begins at a fixed instant")

    def text(self, quote: Callable[[str], str] = str) -> str:  # noqa: ARG002
        begin = _end_text(self.begin_us, self.begin_is_relative)
        return f"BEGIN ({begin}) END ({_end_text(self.end_us, self.end_is_relative)})"


def round_up(instants: Instants, step: int) -> Instants:
    """The smallest multiples of the step that are not before the instants."""
    return -(-instants // step) * step


def _entered(ts: Instants, seen: Instants, offset_us: int) -> Instants:
    """When tuples enter a window with an offset: never before they came."""
    return np.maximum(seen, ts + offset_us) if offset_us else seen


def _offset_text(offset_us: int) -> str:
    return f" OFFSET {duration_text(offset_us)}" if offset_us else ""


def _slide_text(slide_us: int | None) -> str:
    return "" if slide_us is None else f" SLIDE {duration_text(slide_us)}"


def _end_text(us: int, is_relative: bool) -> str:
    if not is_relative:
        return f"TIMESTAMP '{instant_text(us)}'"
    return f"NOW - INTERVAL {duration_text(-us)}" if us else "NOW"
