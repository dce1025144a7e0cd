"""What a stream holds whose tuples bring their own ends, alone or within another window.

| written | holds at τ |
| --- | --- |
| `FROM s`, where s has EXPIRES BY e | the tuples with `ts <= τ < e` |
| `FROM s [RANGE d]` | those of them with `τ < ts + d` too: a tuple leaves with the first of its two ends |
| `FROM s [RANGE d SLIDE t]` | what `[RANGE d]` holds at the last multiple of t that is not after τ |
| `FROM s [RANGE d OFFSET o]` | what `[RANGE d]` held at `τ - o`: the ends of tuples are put off, too |

A tuple whose end is NULL stays until the window lets it go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from panes.plan.durations import MICROSECONDS_IN
from panes.plan.stream import TimestampBy
from panes.plan.update_pattern import WEAK, Labeled
from panes.plan.windows import FOREVER, Instants, Reach, UnboundedWindow, WindowSpec, round_up


@dataclass(frozen=True)
class LifetimeWindow(WindowSpec):
    """The tuples of a stream that are alive by a column of theirs, as far as another window holds them."""

    ends: TimestampBy
    """The column, by its name in the plan, and how to read it."""
    within: WindowSpec = field(default_factory=UnboundedWindow)

    @property
    def slide_us(self) -> int | None:
        return self.within.slide_us

    @property
    def offset_us(self) -> int:
        return self.within.offset_us

    @property
    def partition_by(self) -> tuple[str, ...]:
        return (self.ends.column,)

    def lifetime(self, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:  # noqa: ARG002
        raise TypeError("a tuple brings its own end, which its time does not tell")

    def lifetime_in(self, rows: pa.Table, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
        enters, leaves = self.within.lifetime(ts, seen)
        ends = ends_of(rows.column(self.ends.column), self.ends)
        if self.offset_us:
            ends = np.minimum(ends, FOREVER - self.offset_us) + self.offset_us
        if self.slide_us is not None:
            # Rounding up must not go beyond the last instant there is.
            is_near = ends < FOREVER - self.slide_us
            ends = np.where(is_near, round_up(np.where(is_near, ends, 0), self.slide_us), FOREVER)
        return enters, np.minimum(leaves, ends)

    def reach(self, now: int) -> Reach:
        return self.within.reach(now)

    def retained(self) -> int | None:
        return self.within.retained()

    def label(self) -> Labeled:
        return Labeled(WEAK, "a tuple leaves at a time that it brings")

    def text(self, quote: Callable[[str], str] = str) -> str:
        """
        >>> LifetimeWindow(TimestampBy("s.until", "SECONDS")).text()
        '[RANGE UNBOUNDED EXPIRES BY s.until]'
        """
        return f"{self.within.text(quote).removesuffix(']')} EXPIRES BY {quote(self.ends.column)}]"

    def without_slide(self) -> LifetimeWindow:
        return replace(self, within=self.within.without_slide())


def ends_of(column: pa.ChunkedArray, by: TimestampBy) -> Instants:
    """The instants that a column says, in microseconds; FOREVER for NULL, and for what lies beyond."""
    step = 1 if by.unit == "TIMESTAMP" else MICROSECONDS_IN[by.unit.removesuffix("S")]
    if by.unit == "TIMESTAMP":
        column = column.cast(pa.timestamp("us", tz="UTC"))
    numbers = column.cast(pa.int64()).fill_null(FOREVER).to_numpy()
    last = FOREVER // step
    return np.where(numbers > last, FOREVER, np.clip(numbers, -last, last) * step)


def ends_sql(column: str, by: TimestampBy) -> str:
    """The same as SQL over a column: microseconds, NULL where a tuple never leaves."""
    if by.unit == "TIMESTAMP":
        return f"epoch_us({column})"
    return f"CAST({column} AS HUGEINT) * {MICROSECONDS_IN[by.unit.removesuffix('S')]}"
