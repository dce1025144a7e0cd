"""Tuples get the bits of the predicates that they pass."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.delta.delta import EXP, FOREVER, TS
from panes.plan.expressions import Call, Column, Expression, Literal
from panes.plan.nodes import SIGNATURE, Signed, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.sharing.chosen_signatures import has_bit
from panes.sharing.index_slice import IndexSlice
from panes.synopses.definition import EVERY, NEVER

SCAN = StreamScan("s", "s", Schema.of([("s.a", BIGINT), ("s.b", BIGINT)]))
A, B = Column(BIGINT, "s.a"), Column(BIGINT, "s.b")


def compared(column: Column, op: str, value: int) -> Expression:
    return Call(BOOLEAN, op, (column, Literal(BIGINT, value)))


def rows(a: list[int | None], b: list[int | None]) -> pa.Table:
    columns = {"s.a": pa.array(a, pa.int64()), "s.b": pa.array(b, pa.int64())}
    return pa.table({**columns, TS: [1] * len(a), EXP: [FOREVER] * len(a)})


def signed(predicates: tuple[Expression, ...], table: pa.Table) -> pa.Table:
    node = Signed(SCAN, predicates)
    return IndexSlice.of_signed(node).over_rows(table).signed(table)


def test_a_signature_has_the_bits_of_the_predicates_that_are_passed():
    predicates = (compared(A, "eq", 1), NEVER, compared(B, "gt", 5), compared(A, "lt", 3))
    found = signed(predicates, rows([1, 2, 7, 7, None], [9, 5, 9, 1, None]))
    assert found.column(SIGNATURE).to_pylist() == [b"\x0d", b"\x08", b"\x04"]
    assert found.column("s.a").to_pylist() == [1, 2, 7], "what passes nothing is left out"
    assert found.column_names == [SIGNATURE, "s.a", "s.b", TS, EXP]


def test_every_tuple_passes_a_query_without_a_selection():
    found = signed((compared(A, "eq", 1), EVERY), rows([1, None], [0, 0]))
    assert found.column(SIGNATURE).to_pylist() == [b"\x03", b"\x02"]


def test_no_tuples_have_no_signatures():
    assert signed((compared(A, "eq", 1), EVERY), rows([], [])).num_rows == 0


@pytest.mark.parametrize("count", [9, 70, 1100])
def test_many_predicates_have_bits_of_their_own(count: int):
    predicates = tuple(compared(A, "ge", value) for value in range(count))
    found = signed(predicates, rows([0, 8, count], [0, 0, 0]))
    for number in (0, 8, count - 1):
        passed = [has_bit(signature, number) for signature in found.column(SIGNATURE).to_pylist()]
        assert passed == [value >= number for value in (0, 8, count)]
    assert set(map(len, found.column(SIGNATURE).to_pylist())) == {-(-count // 8)}
