from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import FOREVER
from panes.operators.explicit_expiry import ExplicitExpiry
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from tests.operators.pointwise import LAST, assert_pointwise, cuts, exact, histories, relation, run

SCHEMA = Schema.of([("s.a", BIGINT)])


def test_a_row_leaves_by_a_negative_tuple_at_its_time():
    #  1   2   3   4   5
    #  a-----------)
    rows = [(7, 1, 4, 1)]
    for ends in ([5], [1, 2, 3, 4, 5]):
        output = run(lambda: ExplicitExpiry(Edge(SCHEMA, Pattern.WEAK)), [(rows, SCHEMA, Pattern.WEAK)], ends)
        assert output == [(7, 1, FOREVER, 1), (7, 4, FOREVER, -1)]


def test_a_row_that_was_taken_back_leaves_once():
    rows = [(7, 1, 6, 1), (7, 3, 6, -1)]
    output = run(
        lambda: ExplicitExpiry(Edge(SCHEMA, Pattern.STRICT)), [(rows, SCHEMA, Pattern.STRICT)], [1, 3, 9]
    )
    assert output == [(7, 1, FOREVER, 1), (7, 3, FOREVER, -1)]


@exact
@given(data=st.data())
def test_lifetimes_mean_the_same_with_and_without_negative_tuples(data: st.DataObject):
    pattern = data.draw(st.sampled_from(list(Pattern)))
    rows = data.draw(histories(pattern, st.tuples(st.integers(1, 2))))
    output = run(lambda: ExplicitExpiry(Edge(SCHEMA, pattern)), [(rows, SCHEMA, pattern)], data.draw(cuts))
    assert all(exp == FOREVER for *_, exp, _ in output)
    assert_pointwise(output, LAST, lambda now: relation(rows, now))
