"""The δ of the papers over negative tuples gives the same answers as δ*, and keeps all of its input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.naive_distinct_nt import NaiveDistinctNt
from panes.delta.delta import FOREVER
from panes.operators.distinct_star import DistinctStar
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from tests.benchmarks.test_naive_distinct import SCHEMA, values
from tests.operators.pointwise import (
    LAST,
    Row,
    assert_pointwise,
    cuts,
    delta_of,
    exact,
    histories,
    relation,
    run,
)


def make() -> NaiveDistinctNt:
    return NaiveDistinctNt(Edge(SCHEMA, Pattern.STRICT, "nt"))


def with_negative_tuples(rows: Sequence[Row]) -> list[Row]:
    """The rows without an end, and a negative tuple for each end."""
    came = [(*row[:-2], FOREVER, row[-1]) for row in rows]
    return came + [(*row[:-3], row[-2], FOREVER, -row[-1]) for row in rows if row[-2] < FOREVER]


def test_the_youngest_takes_the_place_of_the_shown_row():
    rows = with_negative_tuples([(1, "p", 1, 6, 1), (1, "p", 2, 7, 1), (1, "p", 3, 9, 1)])
    output = run(make, [(rows, SCHEMA, Pattern.STRICT)], [1, 3, 5, 6, 7, 9])
    shown, taken_back = (1, "p", 6, FOREVER, 1), (1, "p", 6, FOREVER, -1)
    # At 7 another row leaves than the one that is shown.
    assert output == [(1, "p", 1, FOREVER, 1), taken_back, shown, (1, "p", 9, FOREVER, -1)]


@settings(exact, max_examples=40)
@given(data=st.data())
def test_it_gives_the_same_as_distinct_star_at_every_instant(data: st.DataObject):
    pattern = data.draw(st.sampled_from(list(Pattern)[:3]))
    rows = data.draw(histories(pattern, values, most=20))
    ends = data.draw(cuts)
    expected = run(
        lambda: DistinctStar(Edge(SCHEMA, pattern)), [(rows, SCHEMA, pattern)], ends, is_strict=False
    )
    output = run(make, [(with_negative_tuples(rows), SCHEMA, Pattern.STRICT)], ends)
    assert_pointwise(output, LAST, lambda now: relation(expected, now))
    assert_pointwise(output, LAST, lambda now: Counter(relation(rows, now).keys()))


def test_all_of_the_input_is_kept_and_each_value_once_in_the_output():
    operator = make()
    rows = with_negative_tuples([(number % 2, "p", 1 + number, 11 + number, 1) for number in range(8)])
    operator.process([delta_of(rows, SCHEMA, 0, 8, weighted=True)], 0, 8)
    assert (operator.held.rows, operator.shown.rows) == (8, 2)
    operator.process([delta_of(rows, SCHEMA, 8, 18, weighted=True)], 8, 18)
    for state in operator.buffers.values():
        state.compact()
        assert state.rows == 0
