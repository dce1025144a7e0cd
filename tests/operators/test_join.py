from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import EXP, FOREVER, TS, UNTIL, WEIGHT, Delta
from panes.operators.join import Join
from panes.operators.tools.edge import Edge
from panes.plan.expressions import Call, Column, Expression
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, STRING
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

LEFT = Schema.of([("a.k", BIGINT), ("a.x", BIGINT)])
RIGHT = Schema.of([("b.k", BIGINT), ("b.y", STRING)])
UNEQUAL = Call(BOOLEAN, "ne", (Column(BIGINT, "a.x"), Column(BIGINT, "b.k")))

left_values = st.tuples(st.sampled_from([1, 2, 3, None]), st.integers(1, 3))
right_values = st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["p", "q", None]))


def join_of(
    left: Pattern,
    right: Pattern,
    strategy: str = "upa",
    *,
    has_keys: bool = True,
    residual: Expression | None = None,
) -> Join:
    keys = (["a.k"], ["b.k"]) if has_keys else ([], [])
    return Join(Edge(LEFT, left, strategy), Edge(RIGHT, right, strategy), *keys, residual)


def joined(
    left: list[Row], right: list[Row], now: int, *, has_keys: bool, has_residual: bool
) -> Counter[Row]:
    pairs: Counter[Row] = Counter()
    for (k, x), n in relation(left, now).items():
        for (j, y), m in relation(right, now).items():
            equal = (k == j and k is not None) or not has_keys
            passes = not has_residual or (j is not None and x != j)
            if equal and passes:
                pairs[k, x, j, y] += n * m
    return pairs


def test_a_pair_lives_from_the_later_ts_to_the_earlier_exp():
    #  1   2   3   4   5   6   7
    #  a-----------)
    #          b-----------)         the pair: 3 to 4
    left, right = [(7, 1, 1, 4, 1)], [(7, "p", 3, 6, 1)]
    make = lambda: join_of(Pattern.WEAKEST, Pattern.WEAKEST)  # noqa: E731
    for ends in ([7], [1, 2, 3, 4, 7], [2, 7]):
        output = run(
            make, [(left, LEFT, Pattern.WEAKEST), (right, RIGHT, Pattern.WEAKEST)], ends, is_strict=False
        )
        assert output == [(7, 1, 7, "p", 3, 4, 1)]


def test_rows_that_met_and_expired_within_one_span_still_make_a_pair():
    #  1   2   3   4   5 | 9
    #  a-------)
    #      b-------)           both are gone at the end of the span
    left, right = [(7, 1, 1, 3, 1)], [(7, "p", 2, 4, 1)]
    make = lambda: join_of(Pattern.WEAK, Pattern.WEAK)  # noqa: E731
    output = run(make, [(left, LEFT, Pattern.WEAK), (right, RIGHT, Pattern.WEAK)], [9], is_strict=False)
    assert output == [(7, 1, 7, "p", 2, 3, 1)]


def test_a_negative_tuple_retracts_every_pair_it_was_part_of():
    left = [(7, 1, 1, FOREVER, 1), (7, 1, 5, FOREVER, -1)]
    right = [(7, "p", 2, 9, 1), (7, "q", 3, 4, 1)]
    make = lambda: join_of(Pattern.STRICT, Pattern.WEAK)  # noqa: E731
    output = run(make, [(left, LEFT, Pattern.STRICT), (right, RIGHT, Pattern.WEAK)], [1, 2, 3, 4, 5])
    assert sorted(output) == [(7, 1, 7, "p", 2, 9, 1), (7, 1, 7, "p", 5, 9, -1), (7, 1, 7, "q", 3, 4, 1)]


def test_null_keys_meet_nothing_and_are_not_kept():
    make = join_of(Pattern.WEAK, Pattern.WEAK)
    left = Delta(pa.table({"a.k": pa.array([None], pa.int64()), "a.x": [1], TS: [1], EXP: [9]}), 1)
    right = Delta(pa.table({"b.k": pa.array([None], pa.int64()), "b.y": ["p"], TS: [1], EXP: [9]}), 1)
    assert make.process([left, right], 0, 1).rows == 0
    assert make.left_state.rows == make.right_state.rows == 0


def test_the_time_a_pair_stays_in_the_answer_is_the_shorter_of_both():
    join = Join(
        Edge(LEFT, Pattern.WEAKEST, has_until=True),
        Edge(RIGHT, Pattern.WEAKEST, has_until=True),
        ["a.k"],
        ["b.k"],
    )
    left = pa.table({"a.k": [1], "a.x": [1], TS: [1], EXP: [5], UNTIL: [FOREVER]})
    right = pa.table({"b.k": [1], "b.y": ["p"], TS: [2], EXP: [6], UNTIL: [100]})
    nothing = Delta(right.slice(0, 0), 1)
    assert join.process([Delta(left, 1), nothing], 0, 1).rows == 0
    output = join.process([Delta(left.slice(0, 0), 2), Delta(right, 2)], 1, 2)
    assert output.table.select([TS, EXP, UNTIL]).to_pylist() == [{TS: 2, EXP: 5, UNTIL: 100}]


@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
@exact
@given(data=st.data())
def test_the_join_is_exact_at_every_instant(data: st.DataObject, strategy: str):
    check_join(data, strategy)


def check_join(data: st.DataObject, strategy: str = "upa") -> None:
    allowed = {"upa": list(Pattern), "nt": [Pattern.STRICT], "direct": list(Pattern)[:3]}[strategy]
    left_pattern, right_pattern = data.draw(st.sampled_from(allowed)), data.draw(st.sampled_from(allowed))
    left = data.draw(histories(left_pattern, left_values))
    right = data.draw(histories(right_pattern, right_values))
    has_keys, has_residual = data.draw(st.booleans()), data.draw(st.booleans())
    output = run(
        lambda: join_of(
            left_pattern,
            right_pattern,
            strategy,
            has_keys=has_keys,
            residual=UNEQUAL if has_residual else None,
        ),
        [(left, LEFT, left_pattern), (right, RIGHT, right_pattern)],
        data.draw(cuts),
        is_strict=Pattern.STRICT in (left_pattern, right_pattern),
    )
    assert_pointwise(
        output, LAST, lambda now: joined(left, right, now, has_keys=has_keys, has_residual=has_residual)
    )


def test_equal_rows_of_a_stream_stay_apart_when_its_chunks_are_merged():
    # A stream without a window has no weights under any strategy, so one row cannot stand for several.
    join = join_of(Pattern.MONOTONIC, Pattern.STRICT, "nt")
    left = pa.table({"a.k": [7, 7], "a.x": [1, 1], TS: [1, 1], EXP: [FOREVER] * 2})
    right = pa.table({"b.k": [7], "b.y": ["p"], TS: [2], EXP: [FOREVER], WEIGHT: [1]})
    join.process([Delta(left, 1), Delta(right.slice(0, 0), 1)], 0, 1)
    join.left_state.compact()
    output = join.process([Delta(left.slice(0, 0), 2), Delta(right, 2)], 1, 2)
    assert Counter(rows_of(output)) == {(7, 1, 7, "p", 2, FOREVER, 1): 2}


def test_probing_touches_only_rows_that_match():
    join = join_of(Pattern.WEAKEST, Pattern.WEAKEST)
    many = 10_000
    right = pa.table({"b.k": list(range(many)), "b.y": ["p"] * many, TS: [1] * many, EXP: [99] * many})
    left = pa.table({"a.k": [5], "a.x": [1], TS: [2], EXP: [99]})
    join.process([Delta(left.slice(0, 0), 1), Delta(right, 1)], 0, 1)
    before = join.right_state.touched
    output = join.process([Delta(left, 2), Delta(right.slice(0, 0), 2)], 1, 2)
    assert rows_of(output) == [(5, 1, 5, "p", 2, 99, 1)]
    assert join.right_state.touched - before == 1


def side(
    schema: Schema, rows: list[tuple[int, int, int]], clock: int, weights: list[int] | None = None
) -> Delta:
    """Rows of a key, each with the times at which it comes and leaves."""
    key, other = schema.names
    columns: dict[str, list[object]] = {key: [row[0] for row in rows]}
    columns[other] = [None] * len(rows)
    columns |= {TS: [row[1] for row in rows], EXP: [row[2] for row in rows]}
    table = pa.table(columns, schema=Edge(schema, Pattern.WEAKEST).columns)
    if weights is not None:
        table = table.append_column(WEIGHT, pa.array(weights, pa.int64()))
    return Delta(table, clock)


def test_a_join_notes_the_pairs_it_looked_at_and_the_rows_that_live():
    #        1   2   3   4   5   6
    # left   1-------------------)
    #        2-------)
    #            2-------------------)
    #            1-----------)          lies dead beside the others
    # right          2---)
    #                        2---)
    join = join_of(Pattern.WEAKEST, Pattern.WEAKEST)
    left = side(LEFT, [(1, 1, 6), (2, 1, 3), (2, 2, 7), (1, 2, 5)], 3)
    join.process([left, side(RIGHT, [(2, 3, 4)], 3)], 0, 3)
    assert {name: join.noted[name] for name in ("visits", "left_rows", "right_rows")} == {
        "visits": 2,  # the pair of what does not live at the same time was looked at, too
        "left_rows": 3,
        "right_rows": 1,
    }
    join.process([side(LEFT, [], 5), side(RIGHT, [(2, 5, 9)], 5)], 3, 5)
    assert {name: join.noted[name] for name in ("visits", "left_rows", "right_rows")} == {
        "visits": 3,
        "left_rows": 2,
        "right_rows": 1,
    }
    assert join.left_state.rows == 3
    assert all(join.noted[name] > 0 for name in ("probe_us", "visit_us", "insert_us", "expire_us"))


def test_rows_and_their_negative_tuples_live_nowhere():
    join = join_of(Pattern.STRICT, Pattern.WEAKEST)
    rows = [(1, 1, FOREVER), (2, 1, FOREVER), (3, 1, FOREVER)]
    join.process([side(LEFT, rows, 1, [1, 1, 1]), side(RIGHT, [], 1)], 0, 1)
    join.process([side(LEFT, [(2, 2, FOREVER)], 2, [-1]), side(RIGHT, [], 2)], 1, 2)
    assert join.left_state.rows == 4
    assert join.noted["left_rows"] == 2
