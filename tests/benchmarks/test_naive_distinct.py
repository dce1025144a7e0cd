"""The δ of the papers, which is only measured, gives the same answers as δ*, and keeps all of its input."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.naive_distinct import NaiveDistinct
from panes.operators.distinct_star import DistinctStar
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from tests.operators.pointwise import LAST, assert_pointwise, cuts, delta_of, exact, histories, relation, run

SCHEMA = Schema.of([("s.a", BIGINT), ("s.b", STRING)])
values = st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["p", None]))


def make(pattern: Pattern = Pattern.WEAK, strategy: str = "direct") -> NaiveDistinct:
    return NaiveDistinct(Edge(SCHEMA, pattern, strategy))


def test_youngest_duplicate_takes_over_when_the_shown_row_expires():
    #  1   2   3   4   5   6   7   8
    #  a-------------------)            shown from 1
    #      a---------------)            not the youngest
    #          a-------------------)    shown from 6, when the first leaves
    rows = [(1, "p", 1, 6, 1), (1, "p", 2, 6, 1), (1, "p", 3, 8, 1)]
    output = run(make, [(rows, SCHEMA, Pattern.WEAK)], [1, 3, 5, 6, 9], is_strict=False)
    assert output == [(1, "p", 1, 6, 1), (1, "p", 6, 8, 1)]


@pytest.mark.parametrize("strategy", ["upa", "direct"])
@settings(exact, max_examples=40)
@given(data=st.data())
def test_it_gives_the_same_as_distinct_star_at_every_instant(data: st.DataObject, strategy: str):
    pattern = data.draw(st.sampled_from(list(Pattern)[:3]))
    inputs = [(data.draw(histories(pattern, values, most=20)), SCHEMA, pattern)]
    ends = data.draw(cuts)
    expected = run(lambda: DistinctStar(Edge(SCHEMA, pattern)), inputs, ends, is_strict=False)
    output = run(lambda: make(pattern, strategy), inputs, ends, is_strict=False)
    assert_pointwise(output, LAST, lambda now: relation(expected, now))
    assert_pointwise(output, LAST, lambda now: Counter(relation(inputs[0][0], now).keys()))


def test_all_of_the_input_is_kept_and_each_value_once_in_the_output():
    operator = make(Pattern.WEAKEST)
    rows = [(number % 2, "p", 1 + number, 11 + number, 1) for number in range(8)]
    operator.process([delta_of(rows, SCHEMA, 0, 8, weighted=False)], 0, 8)
    assert (operator.held.rows, operator.shown.rows) == (8, 2)
