"""DISTINCT over STRICT input, INTERSECT ALL and EXCEPT ALL, by counting and by timelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import FOREVER
from panes.operators.base import Operator
from panes.operators.distinct import Distinct
from panes.operators.except_ import except_
from panes.operators.intersect import intersect
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from tests.operators.pointwise import LAST, Row, assert_pointwise, cuts, exact, histories, relation, run

LEFT = Schema.of([("a.x", BIGINT), ("a.y", STRING)])
RIGHT = Schema.of([("b.x", BIGINT), ("b.y", STRING)])
values = st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["p", None]))

WEAK, STRICT = Pattern.WEAK, Pattern.STRICT


def test_a_value_is_retracted_when_the_last_of_its_rows_leaves():
    #  1   2   3   4   5   6   7
    #  a-------------------)         leaves at its time
    #      a-------)                 retracted at 4
    rows = [(1, "p", 1, 6, 1), (1, "p", 2, FOREVER, 1), (1, "p", 4, FOREVER, -1)]
    for ends in ([7], [1, 2, 3, 4, 5, 6, 7], [3, 7]):
        output = run(lambda: Distinct((Edge(LEFT, STRICT),), "distinct"), [(rows, LEFT, STRICT)], ends)
        assert output == [(1, "p", 1, FOREVER, 1), (1, "p", 6, FOREVER, -1)]


def test_a_blocked_row_is_admitted_again_when_the_blocking_row_expires():
    #  1   2   3   4   5   6   7   8
    #  a---------------------------)    given 1 to 3 and 5 to 8
    #          b-------)
    left, right = [(1, "p", 1, 8, 1)], [(1, "p", 3, 5, 1)]
    for ends in ([9], [1, 2, 3, 4, 5, 6, 7, 8, 9], [2, 9]):
        output = run(
            lambda: except_(Edge(LEFT, WEAK), Edge(RIGHT, WEAK), leaves_early=False),
            [(left, LEFT, WEAK), (right, RIGHT, WEAK)],
            ends,
        )
        assert [relation(output, now)[1, "p"] for now in range(1, 10)] == [1, 1, 0, 0, 1, 1, 1, 0, 0]


def test_a_row_that_comes_while_it_is_blocked_is_given_when_the_block_ends():
    #  1   2   3   4   5   6   7   8
    #      a-----------------------)    given from 5, in a span in which nothing comes
    #  b---------------)
    left, right = [(1, "p", 2, 8, 1)], [(1, "p", 1, 5, 1)]
    for ends in ([9], [1, 2, 3, 4, 5, 6, 7, 8, 9], [3, 9]):
        output = run(
            lambda: except_(Edge(LEFT, WEAK), Edge(RIGHT, WEAK), leaves_early=False),
            [(left, LEFT, WEAK), (right, RIGHT, WEAK)],
            ends,
        )
        assert output == [(1, "p", 5, 8, 1)]


def test_a_value_whose_shown_row_expires_first_is_given_again_for_the_rest():
    #  1   2   3   4   5   6   7   8
    #  a-----------)                    left, given with the first b until 4
    #  b---------------------------)
    #      a-------------------)        left again: given from 4 to 7
    left, right = [(1, "p", 1, 4, 1), (1, "p", 2, 7, 1)], [(1, "p", 1, 8, 1)]
    output = run(
        lambda: intersect(Edge(LEFT, WEAK), Edge(RIGHT, WEAK)),
        [(left, LEFT, WEAK), (right, RIGHT, WEAK)],
        [1, 2, 3, 9],
        is_strict=False,
    )
    assert output == [(1, "p", 1, 4, 1), (1, "p", 4, 7, 1)]


def test_the_difference_takes_back_only_what_leaves_early():
    left, right = [(1, "p", 1, 8, 1), (2, "p", 1, 8, 1)], [(1, "p", 3, 9, 1)]
    output = run(
        lambda: except_(Edge(LEFT, WEAK), Edge(RIGHT, WEAK), leaves_early=False),
        [(left, LEFT, WEAK), (right, RIGHT, WEAK)],
        [1, 2, 3, 9],
    )
    assert sorted(output) == [(1, "p", 1, 8, 1), (1, "p", 3, 8, -1), (2, "p", 1, 8, 1)]


def test_the_intersection_holds_the_smaller_number():
    left = [(1, "p", 1, 9, 1), (1, "p", 1, 5, 1), (1, "p", 2, 9, 1)]
    right = [(1, "p", 3, 7, 1), (1, "p", 3, 9, 1)]
    output = run(
        lambda: intersect(Edge(LEFT, WEAK), Edge(RIGHT, WEAK)),
        [(left, LEFT, WEAK), (right, RIGHT, WEAK)],
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
        is_strict=False,
    )
    assert [relation(output, now)[1, "p"] for now in range(1, 10)] == [0, 0, 2, 2, 2, 2, 1, 1, 0]


def minimum(left: Counter[Row], right: Counter[Row]) -> Counter[Row]:
    return left & right


def difference(left: Counter[Row], right: Counter[Row]) -> Counter[Row]:
    return left - right


@exact
@given(data=st.data())
def test_distinct_is_exact_at_every_instant(data: st.DataObject):
    check_distinct(data)


def check_distinct(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(list(Pattern)))
    rows = data.draw(histories(pattern, values, most=16))
    output = run(
        lambda: Distinct((Edge(LEFT, pattern),), "distinct"), [(rows, LEFT, pattern)], data.draw(cuts)
    )
    assert_pointwise(output, LAST, lambda now: Counter(relation(rows, now).keys()))


@dataclass(frozen=True)
class Case:
    make: Callable[[Edge, Edge], Operator]
    meaning: Callable[[Counter[Row], Counter[Row]], Counter[Row]]
    is_strict: bool


CASES = {
    "intersect": Case(intersect, minimum, False),
    "except by counting": Case(lambda a, b: except_(a, b, leaves_early=True), difference, True),
    "except by lifetimes": Case(lambda a, b: except_(a, b, leaves_early=False), difference, True),
}


@pytest.mark.parametrize("name", CASES)
@exact
@given(data=st.data())
def test_set_operations_are_exact_at_every_instant(data: st.DataObject, name: str):
    check_set_operation(data, name)


def check_set_operation(data: st.DataObject, name: str, *, strict: bool = True) -> None:
    """`strict` says whether inputs with retractions are drawn."""
    case = CASES[name]
    strategy = data.draw(st.sampled_from(["upa", "nt"] if strict else ["upa"]))
    allowed = [pattern for pattern in Pattern if strict or pattern < STRICT]
    patterns = st.sampled_from(allowed if strategy == "upa" else [STRICT])
    left_pattern, right_pattern = data.draw(patterns), data.draw(patterns)
    left, right = data.draw(histories(left_pattern, values)), data.draw(histories(right_pattern, values))
    output = run(
        lambda: case.make(Edge(LEFT, left_pattern, strategy), Edge(RIGHT, right_pattern, strategy)),
        [(left, LEFT, left_pattern), (right, RIGHT, right_pattern)],
        data.draw(cuts),
        is_strict=case.is_strict or STRICT in (left_pattern, right_pattern),
    )
    assert_pointwise(output, LAST, lambda now: case.meaning(relation(left, now), relation(right, now)))
