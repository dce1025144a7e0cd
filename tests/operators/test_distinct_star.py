from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import EXP, TS, Delta
from panes.operators.distinct_star import DistinctStar
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from tests.operators.pointwise import (
    LAST,
    Row,
    assert_pointwise,
    cuts,
    exact,
    histories,
    relation,
    rows_of,
    run,
)

SCHEMA = Schema.of([("s.a", BIGINT), ("s.b", STRING)])
values = st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["p", None]))


def distinct(rows: list[Row], now: int) -> Counter[Row]:
    return Counter(relation(rows, now).keys())


def make(pattern: Pattern = Pattern.WEAK, strategy: str = "upa") -> DistinctStar:
    return DistinctStar(Edge(SCHEMA, pattern, strategy))


def test_youngest_duplicate_takes_over_when_the_shown_row_expires():
    #  1   2   3   4   5   6   7   8
    #  a-------------------)            shown from 1
    #          a-------------------)    shown from 6, when the first leaves
    rows = [(1, "p", 1, 6, 1), (1, "p", 3, 8, 1)]
    output = run(make, [(rows, SCHEMA, Pattern.WEAK)], [1, 3, 5, 6, 9], is_strict=False)
    assert output == [(1, "p", 1, 6, 1), (1, "p", 6, 8, 1)]


def test_duplicates_of_one_span_are_one_row_that_lives_as_long_as_they_do():
    rows = [(1, "p", 1, 6, 1), (1, "p", 3, 8, 1), (1, "p", 2, 4, 1)]
    output = run(make, [(rows, SCHEMA, Pattern.WEAK)], [9], is_strict=False)
    assert output == [(1, "p", 1, 8, 1)]


def test_a_value_that_returns_after_a_gap_is_shown_again():
    #  1   2   3   4   5   6
    #  a---)
    #          a-------)
    rows = [(1, "p", 1, 2, 1), (1, "p", 3, 5, 1)]
    for ends in ([9], [1, 2, 3, 4, 5], [2, 9]):
        output = run(make, [(rows, SCHEMA, Pattern.WEAK)], ends, is_strict=False)
        assert sorted(output) == [(1, "p", 1, 2, 1), (1, "p", 3, 5, 1)]


def test_null_equals_null():
    rows = [(None, None, 1, 9, 1), (None, None, 2, 5, 1)]
    output = run(make, [(rows, SCHEMA, Pattern.WEAK)], [1, 2], is_strict=False)
    assert output == [(None, None, 1, 9, 1)]


@pytest.mark.parametrize("strategy", ["upa", "direct"])
@exact
@given(data=st.data())
def test_distinct_is_exact_at_every_instant(data: st.DataObject, strategy: str):
    check_distinct_star(data, strategy)


def check_distinct_star(data: st.DataObject, strategy: str = "upa") -> None:
    pattern = data.draw(st.sampled_from(list(Pattern)[:3]))
    rows = data.draw(histories(pattern, values, most=20))
    output = run(lambda: make(pattern, strategy), [(rows, SCHEMA, pattern)], data.draw(cuts), is_strict=False)
    assert_pointwise(output, LAST, lambda now: distinct(rows, now))


def test_at_most_two_rows_are_held_for_each_distinct_value():
    operator = make(Pattern.WEAKEST)
    random = np.random.default_rng(5)
    for span in range(60):
        since, clock = span * 100, span * 100 + 100
        ts = random.integers(since + 1, clock + 1, 300)
        table = pa.table({"s.a": random.integers(0, 150, 300), "s.b": ["p"] * 300, TS: ts, EXP: ts + 1000})
        operator.process([Delta(table, clock)], since, clock)
        stored = [chunk.table for chunk in operator.state.chunks]
        alive = [row["s.a"] for t in stored for row in t.to_pylist() if row[EXP] > clock]
        assert len(alive) <= 2 * len(set(alive))


def test_expiry_reads_what_leaves_and_not_the_partition_it_leaves_from():
    operator = make(Pattern.WEAKEST)
    rows = 20_000
    exp = range(rows + 1, 2 * rows + 1)
    table = pa.table({"s.a": range(rows), "s.b": ["p"] * rows, TS: [1] * rows, EXP: exp})
    operator.process([Delta(table, 1)], 0, 1)
    nothing = Delta(table.slice(0, 0), rows)
    operator.process([nothing], 1, rows)
    for clock in range(rows + 10, rows + 1_000, 10):
        before = operator.state.touched
        assert rows_of(operator.process([nothing], clock - 10, clock)) == []
        assert operator.state.touched - before == 10
