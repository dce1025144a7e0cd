from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import FOREVER
from panes.operators.anti_join import AntiJoin
from panes.operators.semi_join import SemiJoin
from panes.operators.tools.edge import Edge
from panes.plan.expressions import Call, Column
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, STRING
from tests.operators.pointwise import LAST, Row, assert_pointwise, cuts, exact, histories, relation, run

LEFT = Schema.of([("a.k", BIGINT), ("a.x", STRING)])
RIGHT = Schema.of([("b.k", BIGINT), ("b.y", BIGINT)])
BELOW = Call(BOOLEAN, "lt", (Column(BIGINT, "a.k"), Column(BIGINT, "b.y")))
WEAK, STRICT = Pattern.WEAK, Pattern.STRICT

left_values = st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["p", None]))
right_values = st.tuples(st.sampled_from([1, 2, None]), st.integers(1, 3))


def has_match(
    value: Row, right: Counter[Row], *, has_keys: bool, has_residual: bool, null_aware: bool = False
) -> bool:
    k, _ = value
    for j, y in right:
        equal = not has_keys or (k == j and k is not None) or (null_aware and (k is None or j is None))
        if equal and (not has_residual or (k is not None and k < y)):
            return True
    return False


def anti(pattern: Pattern = WEAK, *, null_aware: bool = False) -> AntiJoin:
    return AntiJoin(Edge(LEFT, pattern), Edge(RIGHT, pattern), ["a.k"], ["b.k"], null_aware=null_aware)


def test_a_row_is_given_again_when_the_row_that_blocked_it_expires():
    #  1   2   3   4   5   6   7   8
    #  a---------------------------)    given 1 to 3, and again from 5
    #          b-------)
    left, right = [(1, "p", 1, 8, 1)], [(1, 5, 3, 5, 1)]
    output = run(anti, [(left, LEFT, WEAK), (right, RIGHT, WEAK)], [1, 3, 5, 9])
    assert output == [(1, "p", 1, 8, 1), (1, "p", 3, 5, -1)]
    in_one_span = run(anti, [(left, LEFT, WEAK), (right, RIGHT, WEAK)], [9])
    assert sorted(in_one_span) == [(1, "p", 1, 3, 1), (1, "p", 5, 8, 1)]


def test_a_row_that_comes_while_it_is_blocked_waits_for_the_block_to_end():
    #  1   2   3   4   5   6   7   8
    #      a-----------------------)    given from 5, nothing before
    #  b---------------)
    left, right = [(1, "p", 2, 8, 1)], [(1, 5, 1, 5, 1)]
    output = run(anti, [(left, LEFT, WEAK), (right, RIGHT, WEAK)], [1, 2, 3, 4, 5, 9])
    assert output == [(1, "p", 5, 8, 1)]


def test_a_longer_block_keeps_a_waiting_row_waiting():
    left, right = [(1, "p", 2, 9, 1)], [(1, 5, 1, 5, 1), (1, 5, 3, 7, 1)]
    output = run(anti, [(left, LEFT, WEAK), (right, RIGHT, WEAK)], [1, 2, 3, 4, 5, 6, 7, 9])
    assert output == [(1, "p", 7, 9, 1)]


def test_not_in_gives_nothing_while_the_right_side_holds_a_null():
    left = [(1, "p", 1, FOREVER, 1), (None, "p", 1, FOREVER, 1)]
    right = [(None, 5, 3, 6, 1), (2, 5, 8, 10, 1)]
    output = run(lambda: anti(null_aware=True), [(left, LEFT, WEAK), (right, RIGHT, WEAK)], [2, 4, 12])
    given_at = [sorted(k or 0 for k, _ in relation(output, now)) for now in (2, 4, 7, 9, 11)]
    assert given_at == [[0, 1], [], [0, 1], [1], [0, 1]]


@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
@exact
@given(data=st.data())
def test_the_semi_join_is_exact_at_every_instant(data: st.DataObject, strategy: str):
    check_semi_join(data, strategy)


def check_semi_join(data: st.DataObject, strategy: str = "upa") -> None:
    allowed = {"upa": list(Pattern), "nt": [STRICT], "direct": list(Pattern)[:3]}[strategy]
    a, b = data.draw(st.sampled_from(allowed)), data.draw(st.sampled_from(allowed))
    left, right = data.draw(histories(a, left_values)), data.draw(histories(b, right_values))
    has_keys, has_residual = data.draw(st.booleans()), data.draw(st.booleans())
    keys = (["a.k"], ["b.k"]) if has_keys else ([], [])
    output = run(
        lambda: SemiJoin(
            Edge(LEFT, a, strategy), Edge(RIGHT, b, strategy), *keys, BELOW if has_residual else None
        ),
        [(left, LEFT, a), (right, RIGHT, b)],
        data.draw(cuts),
        is_strict=STRICT in (a, b),
    )

    def expected(now: int) -> Counter[Row]:
        held = relation(right, now)
        return Counter(
            {
                value: count
                for value, count in relation(left, now).items()
                if has_match(value, held, has_keys=has_keys, has_residual=has_residual)
            }
        )

    assert_pointwise(output, LAST, expected)


@exact
@given(data=st.data())
def test_the_anti_join_is_exact_at_every_instant(data: st.DataObject):
    check_anti_join(data)


def check_anti_join(data: st.DataObject) -> None:
    strategy = data.draw(st.sampled_from(["upa", "nt"]))
    patterns = st.sampled_from(list(Pattern) if strategy == "upa" else [STRICT])
    a, b = data.draw(patterns), data.draw(patterns)
    left, right = data.draw(histories(a, left_values)), data.draw(histories(b, right_values))
    null_aware, has_residual = data.draw(st.booleans()), data.draw(st.booleans())
    has_keys = null_aware or data.draw(st.booleans())
    keys = (["a.k"], ["b.k"]) if has_keys else ([], [])
    output = run(
        lambda: AntiJoin(
            Edge(LEFT, a, strategy),
            Edge(RIGHT, b, strategy),
            *keys,
            BELOW if has_residual else None,
            null_aware=null_aware,
        ),
        [(left, LEFT, a), (right, RIGHT, b)],
        data.draw(cuts),
    )

    def expected(now: int) -> Counter[Row]:
        held = relation(right, now)
        return Counter(
            {
                value: count
                for value, count in relation(left, now).items()
                if not has_match(
                    value, held, has_keys=has_keys, has_residual=has_residual, null_aware=null_aware
                )
            }
        )

    assert_pointwise(output, LAST, expected)
