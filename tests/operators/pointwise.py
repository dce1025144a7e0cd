"""The slow and obvious meaning of operators: what each relation holds at every single instant.

Rows are tuples `(values…, ts, exp, weight)` and times are small integers. `run` feeds them to an operator
span by span; `relation` says what a list of rows holds at τ; the tests compare the two at every τ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from panes.delta.delta import EXP, FOREVER, TS, WEIGHT, Delta, delta_schema
from panes.operators.base import Operator
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.state.buffers.chunk import Chunk

exact = settings(deadline=None, max_examples=120)
"""For the tests against the slow meaning: their time says nothing."""

Row = tuple[Any, ...]
LAST = 24
"""The last instant of drawn histories."""


def relation(rows: Iterable[Row], now: int) -> Counter[Row]:
    """How often each value is held at an instant."""
    held: Counter[Row] = Counter()
    for *values, ts, exp, weight in rows:
        if ts <= now < exp:
            held[tuple(values)] += weight
    assert all(count >= 0 for count in held.values()), (
        f"a value is held less than zero times at {now}: {held}"
    )
    return +held


def delta_of(rows: Sequence[Row], schema: Schema, since: int, clock: int, *, weighted: bool) -> Delta:
    inside = [row for row in rows if since < row[-3] <= clock]
    columns = delta_schema(schema, weighted=True)
    arrays = [pa.array([row[i] for row in inside], field.type) for i, field in enumerate(columns)]
    table = pa.Table.from_arrays(arrays, schema=columns)
    return Delta(table if weighted else table.drop_columns([WEIGHT]), clock)


def rows_of(delta: Delta) -> list[Row]:
    columns = [c for c in delta.table.column_names if c not in (TS, EXP, WEIGHT)]
    lists = [delta.table.column(c).to_pylist() for c in columns]
    return list(zip(*lists, delta.ts.tolist(), delta.exp.tolist(), delta.weight.tolist(), strict=True))


def run(
    make: Callable[[], Operator],
    inputs: Sequence[tuple[Sequence[Row], Schema, Pattern]],
    cuts: Sequence[int],
    *,
    is_strict: bool = True,
) -> list[Row]:
    """The output over spans that end at the cuts. After each span the operator is rebuilt from its chunks,
    as in another process."""
    operator = make()
    output: list[Row] = []
    since = 0
    for clock in cuts:
        deltas = [
            delta_of(rows, schema, since, clock, weighted=pattern is Pattern.STRICT)
            for rows, schema, pattern in inputs
        ]
        given = rows_of(operator.process(deltas, since, clock))
        for row in given:
            *_, ts, exp, weight = row
            assert since < ts <= clock, f"{row} does not belong to the span ({since}, {clock}]"
            assert ts < exp, f"{row} never lives"
            assert weight != 0
            assert is_strict or weight > 0, f"{row} is a negative tuple on an edge that is not STRICT"
        output += given
        operator = rebuilt(operator, make())
        since = clock
    return output


def rebuilt(operator: Operator, fresh: Operator) -> Operator:
    """A new operator with the state of another one."""
    for name, state in operator.buffers.items():
        fresh.buffers[name].restore([_copied(chunk) for chunk in state.chunks])
    return fresh


def _copied(chunk: Chunk) -> Chunk:
    table = chunk.table
    return Chunk(
        lambda: table,
        rows=chunk.rows,
        sort_key=chunk.sort_key,
        low=chunk.low,
        high=chunk.high,
        labels=chunk.labels,
    )


def assert_pointwise(output: Sequence[Row], last: int, expected: Callable[[int], Counter[Row]]) -> None:
    for now in range(1, last + 1):
        have, want = relation(output, now), expected(now)
        assert have == want, f"at {now}: {dict(have - want)} too much, {dict(want - have)} missing"


@st.composite
def histories(draw: st.DrawFn, pattern: Pattern, values: st.SearchStrategy[Row], most: int = 12) -> list[Row]:
    """Rows of an edge with the pattern, with times 1..LAST."""
    rows: list[Row] = []
    length = draw(st.integers(1, 12))
    for value in draw(st.lists(values, max_size=most)):
        ts = draw(st.integers(1, LAST))
        if pattern is Pattern.MONOTONIC:
            rows.append((*value, ts, FOREVER, 1))
        elif pattern is Pattern.WEAKEST:
            rows.append((*value, ts, ts + length, 1))
        elif pattern is Pattern.WEAK:
            rows.append((*value, ts, draw(st.one_of(st.integers(ts + 1, LAST + 4), st.just(FOREVER))), 1))
        else:
            exp = draw(st.one_of(st.integers(ts + 1, LAST + 4), st.just(FOREVER)))
            weight = draw(st.integers(1, 2))
            rows.append((*value, ts, exp, weight))
            gone = draw(st.one_of(st.none(), st.integers(ts, min(exp - 1, LAST))))
            if gone is not None:
                rows.append((*value, gone, exp, -draw(st.integers(1, weight))))
    return rows


cuts = st.lists(st.integers(1, LAST), max_size=5).map(lambda c: [*sorted(set(c) - {LAST}), LAST])
