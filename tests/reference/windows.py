"""The tuples of a stream that a window holds at an instant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from panes.plan.windows import NowWindow, RangeWindow, RowsWindow, SessionWindow, UnboundedWindow, WindowSpec
from tests.reference.values import Row


class Tuple(NamedTuple):
    """A tuple of a stream; no two of a stream have the same name."""

    ts: int
    name: Any
    row: Row


def held(spec: WindowSpec, stream: Sequence[Tuple], columns: Sequence[str], now: int) -> list[Tuple]:
    """What a window holds of a stream, whose tuples are in the order of time."""
    match spec:
        case RangeWindow():
            at = _moved_on(spec, now) - spec.offset_us
            return [t for t in stream if t.ts <= at < t.ts + spec.range_us]
        case NowWindow():
            return [t for t in stream if t.ts == now - spec.offset_us]
        case UnboundedWindow():
            return [t for t in stream if t.ts <= now - spec.offset_us]
        case RowsWindow():
            return _youngest(spec, [t for t in stream if t.ts <= _moved_on(spec, now)], columns)
        case SessionWindow():
            return _open_sessions(spec, [t for t in stream if t.ts <= now], columns, now)
    raise TypeError(f"the reference does not know {spec}")


def _moved_on(spec: WindowSpec, now: int) -> int:
    return now if spec.slide_us is None else now // spec.slide_us * spec.slide_us


def _partitions(
    by: Sequence[str], came: Sequence[Tuple], columns: Sequence[str]
) -> Iterable[Sequence[Tuple]]:
    partitions: dict[Row, list[Tuple]] = {}
    for t in came:
        key = tuple(t.row[columns.index(name)] for name in by)
        partitions.setdefault(key, []).append(t)
    return partitions.values()


def _open_sessions(
    spec: SessionWindow, came: Sequence[Tuple], columns: Sequence[str], now: int
) -> list[Tuple]:
    found: list[Tuple] = []
    for tuples in _partitions(spec.partition_by, came, columns):
        next_ts = now
        for t in reversed(tuples):
            if next_ts - t.ts >= spec.gap_us:
                break
            found.append(t)
            next_ts = t.ts
    return found


def _youngest(spec: RowsWindow, came: Sequence[Tuple], columns: Sequence[str]) -> list[Tuple]:
    found: list[Tuple] = []
    for tuples in _partitions(spec.partition_by, came, columns):
        last = len(tuples) // (spec.slide or 1) * (spec.slide or 1)
        found += tuples[max(last - spec.rows, 0) : last]
    return found
