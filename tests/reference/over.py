"""The functions of OVER, row by row over a sorted partition."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from panes.plan.expressions import Aggregate
from panes.plan.nodes import Over
from panes.plan.over_functions import AGGREGATED, Frame, OverFunction
from panes.plan.sort_key import SortKey, total_order
from tests.reference.aggregates import aggregate
from tests.reference.expressions import evaluate
from tests.reference.values import order, plain

Named = Mapping[str, Any]


def over(node: Over, rows: Sequence[Named]) -> list[tuple[Named, list[Any]]]:
    """Each row of a partition with the values of the functions."""
    ordered = _sorted(total_order(node.order, node.child.schema.names), rows)
    return [
        (row, [_value(function, node.order, ordered, place) for function in node.functions])
        for place, row in enumerate(ordered)
    ]


def _sorted(keys: Sequence[SortKey], rows: Sequence[Named]) -> list[Named]:
    return sorted(rows, key=functools.cmp_to_key(lambda a, b: _compared(keys, a, b)))


def _compared(keys: Sequence[SortKey], a: Named, b: Named) -> int:
    for key in keys:
        one, other = a[key.column], b[key.column]
        if one is None or other is None:
            if (one is None) != (other is None):
                return -1 if (one is None) == key.nulls_first else 1
        elif order(one) != order(other):
            return -1 if (order(one) < order(other)) != key.descending else 1
    return 0


def _value(function: OverFunction, keys: Sequence[SortKey], rows: Sequence[Named], place: int) -> Any:
    peers = [n for n, row in enumerate(rows) if _compared(keys, row, rows[place]) == 0]
    match function.function:
        case "row_number":
            return place + 1
        case "rank":
            return peers[0] + 1
        case "dense_rank":
            return sum(n == 0 or _compared(keys, rows[n - 1], rows[n]) != 0 for n in range(place + 1))
        case "percent_rank":
            return peers[0] / (len(rows) - 1) if len(rows) > 1 else 0.0
        case "cume_dist":
            return (peers[-1] + 1) / len(rows)
        case "ntile":
            return _part(len(rows), int(function.parameters[0]), place)  # type: ignore[arg-type]
        case "lag" | "lead":
            distance, default = function.parameters
            at = place + int(distance) * (-1 if function.function == "lag" else 1)  # type: ignore[arg-type]
            return _of(function, rows[at]) if 0 <= at < len(rows) else plain(default)
    assert function.frame is not None
    if function.frame.has_distance and rows[place][keys[0].column] is not None:
        frame = _by_distance(function.frame, keys[0], rows, place)
    else:
        frame = [rows[n] for n in _frame(function.frame, peers, place, len(rows))]
    if function.function in AGGREGATED:
        call = Aggregate(
            function.name, function.function, function.arg, function.type, parameters=function.parameters
        )
        return aggregate(call, frame if function.arg is None else [_of(function, row) for row in frame])
    if function.function == "nth_value":
        number = int(function.parameters[0])  # type: ignore[arg-type]
        return _of(function, frame[number - 1]) if number <= len(frame) else None
    if not frame:
        return None
    return _of(function, frame[0 if function.function == "first_value" else -1])


def _of(function: OverFunction, row: Named) -> Any:
    assert function.arg is not None
    return evaluate(function.arg, row)


def _frame(frame: Frame, peers: Sequence[int], place: int, count: int) -> range:
    if not frame.by_rows:
        return range(0 if frame.start is None else peers[0], count if frame.end is None else peers[-1] + 1)
    assert not isinstance(frame.start, timedelta)
    assert not isinstance(frame.end, timedelta)
    start = 0 if frame.start is None else max(place + frame.start, 0)
    end = count if frame.end is None else min(place + frame.end + 1, count)
    return range(start, end)


def _by_distance(frame: Frame, key: SortKey, rows: Sequence[Named], place: int) -> list[Named]:
    """The rows whose key is not further from that of the row than the frame says; NULL only beside an open end."""
    sign = -1 if key.descending else 1
    own = rows[place][key.column] * sign
    found = []
    for row in rows:
        value = row[key.column]
        if value is None:
            is_in = frame.start is None if key.nulls_first else frame.end is None
        else:
            is_in = (frame.start is None or value * sign >= own + frame.start) and (
                frame.end is None or value * sign <= own + frame.end
            )
        found += [row] * is_in
    return found


def _part(count: int, parts: int, place: int) -> int:
    sizes = [count // parts + (number < count % parts) for number in range(parts)]
    return next(number + 1 for number in range(parts) if place < sum(sizes[: number + 1]))
