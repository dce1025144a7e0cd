"""Pairs as bytes: they are ordered as pairs are, and give back what was put in."""

from __future__ import annotations

import functools
import math
from datetime import UTC, date, datetime
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from panes.aggregates.pairs import has_first, pairs_of, seconds_of

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [0, 1, -1, 2**62, -(2**63), None],
    pa.int32(): [3, -4, None],
    pa.float64(): [0.0, -1.5, 3.0, math.inf, -math.inf, math.nan, None],
    pa.string(): ["", "a", "a\0", "a\0b", "ab", "\0", "\0\0", "ñ", None],
    pa.bool_(): [True, False, None],
    pa.date32(): [date(1970, 1, 1), date(1960, 1, 1), None],
    pa.timestamp("us", tz="UTC"): [datetime(2020, 1, 1, tzinfo=UTC), datetime(1920, 1, 1, tzinfo=UTC), None],
}
TYPES = list(product(VALUES, VALUES))
Pair = tuple[Any, Any]


def order(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def compared(one: Pair, other: Pair, *, descending: bool) -> int:
    """By the first, NULL last, and then by the second."""
    (y1, x1), (y2, x2) = one, other
    if y1 is None or y2 is None:
        if (y1 is None) != (y2 is None):
            return 1 if y1 is None else -1
    elif order(y1) != order(y2):
        return (-1 if order(y1) < order(y2) else 1) * (-1 if descending else 1)
    return 0 if order(x1) == order(x2) else -1 if order(x1) < order(x2) else 1


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("first", "second"), TYPES, ids=str)
def test_pairs_are_ordered_and_can_be_read_again(
    first: pa.DataType, second: pa.DataType, descending: bool
) -> None:
    rows = list(product(VALUES[first], VALUES[second]))
    columns = pa.array([y for y, _ in rows], first), pa.array([x for _, x in rows], second)
    whole = pairs_of(*columns, descending=descending)
    assert [pair is None for pair in whole.to_pylist()] == [x is None for _, x in rows]
    rows = [row for row in rows if row[1] is not None]
    pairs = whole.drop_null()
    again = seconds_of(pairs, first, second, descending=descending)
    assert list(map(str, again.to_pylist())) == [str(x) for _, x in rows]
    assert has_first(pairs).to_pylist() == [y is not None for y, _ in rows]
    by_bytes = [row for _, row in sorted(zip(pairs.to_pylist(), rows, strict=True), key=lambda both: both[0])]
    by_value = sorted(rows, key=functools.cmp_to_key(functools.partial(compared, descending=descending)))
    assert list(map(str, by_bytes)) == list(map(str, by_value))


def test_pairs_without_a_first_value_can_come_before_all_others() -> None:
    times, values = pa.array([None, -5.0, None, 1.0]), pa.array(["a", "b", "z", ""])
    pairs = pairs_of(times, values, nulls_first=True)
    assert seconds_of(pairs.sort(), times.type, values.type).to_pylist() == ["a", "z", "b", ""]
    assert has_first(pairs.sort()).to_pylist() == [False, False, True, True]
