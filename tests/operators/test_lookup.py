from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, UNTIL, WEIGHT, Delta
from panes.operators.lookup import Lookup
from panes.operators.tools.edge import Edge
from panes.plan.expressions import Call, Column, Expression
from panes.plan.expressions import Literal as Constant
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, STRING
from tests.operators.pointwise import (
    LAST,
    Row,
    assert_pointwise,
    cuts,
    delta_of,
    exact,
    histories,
    relation,
    rows_of,
    run,
)

Kind = Literal["inner", "semi", "anti"]
LEFT = Schema.of([("a.k", BIGINT), ("a.x", BIGINT), ("a._time", BIGINT)])
RIGHT = Schema.of([("b.k", BIGINT), ("b.y", STRING)])
UNEQUAL = Call(BOOLEAN, "ne", (Column(BIGINT, "a.x"), Column(BIGINT, "b.k")))
NOT_P = Call(BOOLEAN, "ne", (Column(STRING, "b.y"), Constant(STRING, "p")))

left_values = st.tuples(st.sampled_from([1, 2, 3, None]), st.integers(1, 3))
right_values = st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["p", "q", None]))


def lookup_of(
    pattern: Pattern = Pattern.WEAKEST,
    kind: Kind = "inner",
    *,
    residual: Expression | None = None,
    keep_us: int = FOREVER,
    has_keys: bool = True,
    null_aware: bool = False,
) -> Lookup:
    keys = (["a.k"], ["b.k"]) if has_keys else ([], [])
    left, right = Edge(LEFT, pattern), Edge(RIGHT, Pattern.STRICT)
    return Lookup(left, right, *keys, residual, "a._time", keep_us, kind, null_aware)


def met(
    left: Sequence[Row],
    table: Sequence[Row],
    now: int,
    kind: Kind,
    residual: Expression | None,
    *,
    has_keys: bool,
) -> Counter[Row]:
    """What the lookup holds at an instant, row by row."""
    found: Counter[Row] = Counter()
    for (k, x, time), n in relation(left, now).items():
        pairs: Counter[Row] = Counter()
        for (j, y), m in relation(table, time).items():
            passes = residual is None or (j is not None and x != j)
            if passes and (not has_keys or (k == j and k is not None)):
                pairs[k, x, time, j, y] += n * m
        if kind == "inner":
            found += pairs
        elif bool(pairs) == (kind == "semi"):
            found[k, x, time] += n
    return found


def not_in(left: Sequence[Row], table: Sequence[Row], now: int, residual: Expression | None) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for (k, x, time), n in relation(left, now).items():
        rows = relation(table, time)
        keys = {j for j, y in rows if residual is None or (y is not None and y != "p")}
        if not keys or (k is not None and None not in keys and k not in keys):
            found[k, x, time] += n
    return found


@st.composite
def looking_up(draw: st.DrawFn, pattern: Pattern) -> list[Row]:
    """Rows whose own time lies up to three instants before they come."""
    rows = draw(histories(pattern, left_values))
    late = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    timed: list[Row] = []
    for (k, x, ts, exp, weight), lateness in zip(rows, late, strict=True):
        # A negative tuple has the time of the row that it takes back, which comes before it.
        time = timed[-1][2] if weight < 0 else ts - lateness
        timed.append((k, x, time, ts, exp, weight))
    return timed


@pytest.mark.parametrize("kind", ["inner", "semi", "anti"])
@exact
@given(data=st.data())
def test_each_row_meets_the_table_of_its_own_time(data: st.DataObject, kind: Kind):
    check_lookup(data, kind)


def check_lookup(data: st.DataObject, kind: Kind = "inner") -> None:
    pattern = data.draw(st.sampled_from(list(Pattern)))
    left, table = data.draw(looking_up(pattern)), data.draw(histories(Pattern.STRICT, right_values))
    residual = data.draw(st.sampled_from([None, UNEQUAL]))
    has_keys = data.draw(st.booleans())
    # Rows that leave at a known time come within four instants of their own time.
    keep_us = FOREVER if pattern is Pattern.STRICT else 4
    output = run(
        lambda: lookup_of(pattern, kind, residual=residual, keep_us=keep_us, has_keys=has_keys),
        [(left, LEFT, pattern), (table, RIGHT, Pattern.STRICT)],
        data.draw(cuts),
        is_strict=pattern is Pattern.STRICT,
    )
    assert_pointwise(output, LAST, lambda now: met(left, table, now, kind, residual, has_keys=has_keys))


@exact
@given(data=st.data())
def test_not_in_is_that_of_sql_at_the_time_of_each_row(data: st.DataObject):
    pattern = data.draw(st.sampled_from(list(Pattern)))
    left, table = data.draw(looking_up(pattern)), data.draw(histories(Pattern.STRICT, right_values))
    residual = data.draw(st.sampled_from([None, NOT_P]))
    output = run(
        lambda: lookup_of(pattern, "anti", residual=residual, null_aware=True),
        [(left, LEFT, pattern), (table, RIGHT, Pattern.STRICT)],
        data.draw(cuts),
        is_strict=pattern is Pattern.STRICT,
    )
    assert_pointwise(output, LAST, lambda now: not_in(left, table, now, residual))


def process(lookup: Lookup, left: Sequence[Row], table: Sequence[Row], since: int, clock: int) -> list[Row]:
    """The output of one span, to which the changes of the table come, whatever their instant."""
    weighted = lookup.left.is_weighted
    changes = delta_of(table, RIGHT, BEGINNING, FOREVER, weighted=True)
    rows = delta_of(left, LEFT, since, clock, weighted=weighted)
    return rows_of(lookup.process([rows, Delta(changes.table, clock)], since, clock))


def test_an_update_changes_nothing_that_was_given():
    #  1   2   3   4   5
    #  a                   meets p
    #          u           p becomes q
    #              a       meets q
    lookup = lookup_of()
    assert process(lookup, [(7, 1, 1, 1, 9, 1)], [(7, "p", ALWAYS, FOREVER, 1)], 0, 2) == [
        (7, 1, 1, 7, "p", 1, 9, 1)
    ]
    update = [(7, "p", 3, FOREVER, -1), (7, "q", 3, FOREVER, 1)]
    assert process(lookup, [], update, 2, 3) == []
    assert process(lookup, [(7, 2, 4, 4, 12, 1)], [], 3, 5) == [(7, 2, 4, 7, "q", 4, 12, 1)]


def test_a_late_row_meets_the_version_of_its_own_time():
    #  1   2   3   4   5 | 6   7
    #          u             p becomes q at 3
    #      a                 of time 2, comes after 5
    table = [(7, "p", 1, FOREVER, 1), (7, "p", 3, FOREVER, -1), (7, "q", 3, FOREVER, 1)]
    lookup = lookup_of()
    process(lookup, [], table, 0, 5)
    assert process(lookup, [(7, 1, 2, 6, 12, 1)], [], 5, 7) == [(7, 1, 2, 7, "p", 6, 12, 1)]


def test_a_change_at_a_named_instant_waits_for_it():
    lookup = lookup_of()
    scheduled = [(7, "p", 5, FOREVER, 1)]
    assert process(lookup, [(7, 1, 4, 4, 9, 1)], scheduled, 0, 4) == []
    assert process(lookup, [(7, 1, 5, 5, 9, 1)], [], 4, 5) == [(7, 1, 5, 7, "p", 5, 9, 1)]


def test_a_key_that_was_deleted_may_come_back():
    table = [(7, "p", 1, FOREVER, 1), (7, "p", 3, FOREVER, -1), (7, "p", 5, FOREVER, 1)]
    left = [(7, time, time, 6, 9, 1) for time in range(1, 7)]
    output = process(lookup_of(), left, table, 5, 6)
    assert sorted(row[1] for row in output) == [1, 2, 5, 6]


def test_equal_rows_of_the_table_give_as_many_results():
    table = [(7, "p", 1, FOREVER, 3), (7, "p", 2, FOREVER, -1)]
    assert process(lookup_of(), [(7, 1, 3, 3, 9, 1)], table, 0, 3) == [(7, 1, 3, 7, "p", 3, 9, 1)] * 2
    weighted = process(lookup_of(Pattern.STRICT), [(7, 1, 3, 3, 9, 2)], table, 0, 3)
    assert weighted == [(7, 1, 3, 7, "p", 3, 9, 4)]


def test_a_negative_tuple_finds_what_its_row_has_found():
    lookup = lookup_of(Pattern.STRICT)
    table = [(7, "p", 1, FOREVER, 1)]
    given = process(lookup, [(7, 1, 2, 2, FOREVER, 1)], table, 0, 2)
    update = [(7, "p", 3, FOREVER, -1), (7, "q", 3, FOREVER, 1)]
    taken = process(lookup, [(7, 1, 2, 9, FOREVER, -1)], update, 2, 9)
    assert (given, taken) == ([(7, 1, 2, 7, "p", 2, FOREVER, 1)], [(7, 1, 2, 7, "p", 9, FOREVER, -1)])


def test_results_of_internal_windows_stay_as_long_as_their_row():
    left = Edge(LEFT, Pattern.WEAKEST, has_until=True)
    lookup = Lookup(left, Edge(RIGHT, Pattern.STRICT), ["a.k"], ["b.k"], None, "a._time", FOREVER)
    rows = pa.table({"a.k": [7], "a.x": [1], "a._time": [1], TS: [1], EXP: [5], UNTIL: [FOREVER]})
    table = delta_of([(7, "p", 1, FOREVER, 1)], RIGHT, 0, 1, weighted=True)
    output = lookup.process([Delta(rows, 1), table], 0, 1)
    assert output.table.select([TS, EXP, UNTIL]).to_pylist() == [{TS: 1, EXP: 5, UNTIL: FOREVER}]


def test_negative_zeros_of_the_table_are_zeros():
    right = Schema.of([("b.k", BIGINT), ("b.d", DOUBLE)])
    lookup = Lookup(
        Edge(LEFT, Pattern.WEAKEST), Edge(right, Pattern.STRICT), ["a.k"], ["b.k"], None, "a._time", FOREVER
    )
    table = delta_of([(7, -0.0, 1, FOREVER, 1)], right, 0, 1, weighted=True)
    output = lookup.process([delta_of([(7, 1, 1, 1, 9, 1)], LEFT, 0, 1, weighted=False), table], 0, 1)
    assert str(output.table.column("b.d")[0].as_py()) == "0.0"


@pytest.mark.parametrize("kind", ["inner", "semi", "anti"])
def test_no_stream_row_is_stored_and_an_update_touches_no_state(kind: Kind):
    many = 5_000
    lookup = lookup_of(kind=kind)
    table = [(k, "p", ALWAYS, FOREVER, 1) for k in range(many)]
    left = [(k, 1, 1, 1, 9, 1) for k in range(many)]
    process(lookup, left, table, 0, 2)
    assert sum(state.rows for state in lookup.buffers.values()) == many
    before = lookup.touched
    update = [(7, "p", 3, FOREVER, -1), (7, "q", 3, FOREVER, 1)]
    assert process(lookup, [], update, 2, 3) == []
    assert lookup.touched == before
    assert sum(state.rows for state in lookup.buffers.values()) == many + 2


def test_updates_cost_their_own_number_of_rows_and_not_the_table():
    many, updates = 20_000, 200
    lookup = lookup_of(keep_us=10)
    process(lookup, [], [(k, "p", ALWAYS, FOREVER, 1) for k in range(many)], 0, 1)
    before = lookup.touched
    for number in range(updates):
        change = [(7, str(number), number + 2, FOREVER, 1)]
        change += [(7, str(number - 1), number + 2, FOREVER, -1)] if number else []
        process(lookup, [], change, number + 1, number + 2)
    assert lookup.touched - before < 100 * updates


def test_a_probe_touches_only_the_versions_of_its_key():
    many = 10_000
    lookup = lookup_of()
    process(lookup, [], [(k, "p", ALWAYS, FOREVER, 1) for k in range(many)], 0, 1)
    before = lookup.touched
    assert process(lookup, [(5, 1, 2, 2, 9, 1)], [], 1, 2) == [(5, 1, 2, 5, "p", 2, 9, 1)]
    assert lookup.touched - before == 1


def test_null_keys_meet_nothing_and_are_not_kept():
    lookup = lookup_of()
    assert process(lookup, [(None, 1, 1, 1, 9, 1)], [(None, "p", 1, FOREVER, 1)], 0, 1) == []
    assert sum(state.rows for state in lookup.buffers.values()) == 0


def test_versions_that_ended_before_the_time_that_is_kept_are_forgotten():
    lookup = lookup_of(keep_us=5)
    for number in range(2_000):
        change = [(7, "p", number + 1, FOREVER, 1 if number % 2 == 0 else -1)]
        process(lookup, [], change, number, number + 1)
    (versions,) = lookup.buffers.values()
    assert versions.rows < 2_100
    versions.compact()
    assert versions.rows <= 5


def test_rows_older_than_what_is_kept_meet_the_oldest_version_whether_or_not_others_were_dropped():
    table = [(7, name, at, FOREVER, weight) for name, at, weight in
             [("p", 1, 1), ("p", 10, -1), ("q", 10, 1), ("q", 20, -1), ("r", 20, 1)]]  # fmt: skip
    late = [(7, 1, 2, 26, 99, 1)]
    given = []
    for is_compacted in (False, True):
        lookup = lookup_of(keep_us=10)
        process(lookup, [], table, 0, 25)
        if is_compacted:
            lookup.buffers["versions"].compact()
        given.append(process(lookup, late, [], 25, 26))
    assert given == [[(7, 1, 2, 7, "q", 26, 99, 1)]] * 2


def test_pairs_without_a_key_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("panes.operators.lookup._PAIRS", 10)
    table = [(k, "p", 1, FOREVER, 1) for k in range(4)]
    left = [(None, x, 1, 1, 9, 1) for x in range(7)]
    output = process(lookup_of(has_keys=False), left, table, 0, 1)
    assert Counter(row[1] for row in output) == dict.fromkeys(range(7), 4)


def test_rows_of_one_version_keep_their_order():
    rows = 1_000
    random = np.random.default_rng(1)
    lookup = lookup_of()
    process(lookup, [], [(int(k), "p", ALWAYS, FOREVER, 1) for k in range(rows)], 0, 1)
    left = [(int(k), x, 2, 2, 9, 1) for x, k in enumerate(random.integers(0, rows, rows))]
    assert [row[1] for row in process(lookup, left, [], 1, 2)] == list(range(rows))
    assert WEIGHT not in lookup.output.columns.names
