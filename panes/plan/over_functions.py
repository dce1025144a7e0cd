"""The functions of OVER: a value for each row, from the rows of its partition in their order.

Three kinds: places in the order (`row_number`, `rank`, …), values of other rows (`lag`, `first_value`, …), and
aggregates of a frame. Rows that agree on the sort keys are peers. Functions that tell peers apart go by a total
order, in which peers are sorted by all their other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from panes.plan.durations import duration_text, length_us
from panes.plan.expressions import Expression, Value
from panes.plan.types import Type

Distance = int | timedelta


@dataclass(frozen=True)
class Frame:
    """Which rows of the partition an aggregate sees: from `start` to `end`, both included.

    By rows these are numbers of rows before (below zero) or after the current one. Else they are distances from
    the value of the only sort key, lengths of time where it is an instant, and 0 is the first or the last peer.
    None: from the begin, or to the end of the partition.
    """

    by_rows: bool
    start: Distance | None = None
    end: Distance | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole partition, so that no order matters."""
        return self.start is None and self.end is None

    def __str__(self) -> str:
        return (
            f"{'ROWS' if self.by_rows else 'RANGE'} BETWEEN {_end(self.start, 'PRECEDING')} AND "
            f"{_end(self.end, 'FOLLOWING')}"
        )

    @property
    def has_distance(self) -> bool:
        """Whether it goes by distances from the value of the sort key."""
        return not self.by_rows and bool(self.start or self.end)


def _end(distance: Distance | None, word: str) -> str:
    if distance is None:
        return f"UNBOUNDED {word}"
    if not distance:
        return "CURRENT ROW"
    if isinstance(distance, timedelta):
        text = f"INTERVAL {duration_text(length_us(abs(distance)))}"
        return f"{text} {'PRECEDING' if distance < timedelta(0) else 'FOLLOWING'}"
    return f"{abs(distance)} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"


WHOLE = Frame(by_rows=True)
UP_TO_PEERS = Frame(by_rows=False, end=0)
"""The frame of aggregates with ORDER BY where none is written."""

PLACES = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
NEIGHBORS = ("lag", "lead")
PICKED = ("first_value", "last_value", "nth_value")
OF_VALUES = ("median", "quantile", "quantile_disc", "mode")
"""Aggregates for which all values of a frame are sorted."""
AGGREGATED = ("count", "sum", "avg", "min", "max", *OF_VALUES)

OVER_FUNCTIONS = {
    "row_number()": "the number of the row in its partition, from 1",
    "rank()": "the same number for all peers: that of the first of them",
    "dense_rank()": "the number of the peers, without gaps",
    "percent_rank()": "(rank - 1) / (rows - 1), from 0 to 1",
    "cume_dist()": "the share of rows that are not after the peers of the row",
    "ntile(n)": "the number of the part, when the partition is cut into n parts as equal as can be",
    "lag(x [, n [, default]])": "x of the row n rows before (1), or the default (NULL) where there is none",
    "lead(x [, n [, default]])": "the same of the row n rows after",
    "first_value(x)": "x of the first row of the frame",
    "last_value(x)": "x of the last row of the frame",
    "nth_value(x, n)": "x of the n-th row of the frame, or NULL",
    "count(*), count(x), sum(x), avg(x), min(x), max(x)": "the aggregate of the frame",
    "median(x), quantile(x, p), quantile_disc(x, p), mode(x)": "the same, from all values of the frame",
    "any_value(x), bool_and(x), bool_or(x), count_if(x)": "as min(x), max(x) and count(x) above",
}
"""How each of them is written, and what it gives."""


@dataclass(frozen=True)
class OverFunction:
    """One function of OVER, and the name of its column.

    `arg` is None for places and for count(*). `parameters` are the constants after it: n of ntile and nth_value,
    p of quantile, distance and default of lag and lead.
    """

    name: str
    function: str
    arg: Expression | None
    type: Type
    parameters: tuple[Value, ...] = ()
    frame: Frame | None = None
    """Of aggregates and of first_value and its kin."""

    @property
    def tells_peers_apart(self) -> bool:
        """Whether its value depends on the order of peers."""
        if self.function in AGGREGATED:
            return self.frame is not None and self.frame.by_rows and not self.frame.is_whole
        return self.function in ("row_number", "ntile", *NEIGHBORS, *PICKED)

    def __str__(self) -> str:
        inside = [] if self.arg is None else [str(self.arg)]
        if self.function == "count" and self.arg is None:
            inside = ["*"]
        shown = self.parameters[:1] if self.parameters[1:] == (None,) else self.parameters
        frame = "" if self.frame in (None, WHOLE, UP_TO_PEERS) else f" {self.frame}"
        return f"{self.function}({', '.join([*inside, *map(str, shown)])}){frame}"
