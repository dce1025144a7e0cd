"""The windows that turn a stream into a time-varying relation. Lengths are microseconds, instants too.

| written | holds at τ |
| --- | --- |
| `[RANGE d]` | the tuples with `ts <= τ < ts + d` |
| `[RANGE d SLIDE s]` | what `[RANGE d]` holds at the last multiple of s that is not after τ |
| `[ROWS n]` | the n youngest tuples with `ts <= τ`; of tuples with one ts, later ones are younger |
| `[ROWS n SLIDE m]` | what `[ROWS n]` held just after the last tuple whose number is a multiple of m |
| `[PARTITION BY a, b ROWS n]` | the n youngest of each (a, b) |
| `[NOW]` | the tuples with `ts = τ` |
| `[RANGE UNBOUNDED]` | all tuples with `ts <= τ` |

`INTERNAL` bounds what an operator remembers, but results once given stay (append-only output).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RangeWindow:
    range_us: int
    slide_us: int | None = None
    internal: bool = False


@dataclass(frozen=True)
class RowsWindow:
    rows: int
    slide: int | None = None
    partition_by: tuple[str, ...] = ()
    internal: bool = False


@dataclass(frozen=True)
class NowWindow:
    internal: bool = False


@dataclass(frozen=True)
class UnboundedWindow:
    internal: bool = False


@dataclass(frozen=True)
class BeginEndWindow:
    """PSoup's `BEGIN (…) END (…)`, applied when the query is invoked.

    Each end is an instant, or an offset from NOW that is zero or negative; both constant is a snapshot,
    a constant begin a landmark, both relative a sliding window. Tuples with `begin <= ts <= end` are in.
    """

    begin_us: int
    begin_is_relative: bool
    end_us: int
    end_is_relative: bool


WindowSpec = RangeWindow | RowsWindow | NowWindow | UnboundedWindow | BeginEndWindow
