"""Lists and STRUCTs that are given, in the declared type of a column."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.ingest.exact_values import exact
from panes.ingest.inexact import Inexact
from panes.plan.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Type, list_of, struct_of

WHO = struct_of([("name", STRING), ("ages", list_of(INT))])


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([[1, 2], [], None, [None, 3]], list_of(BIGINT)),
        ([[["a"], []], None, [None]], list_of(list_of(STRING))),
        ([{"name": "a", "ages": [1, None]}, None, {"name": None, "ages": None}], WHO),
        ([[{"name": "a", "ages": []}], []], list_of(WHO)),
        ([], list_of(DOUBLE)),
    ],
)
def test_values_of_python_and_columns_of_arrow_become_the_same(values: list[object], type_: Type) -> None:
    for given in (values, pa.chunked_array([pa.array(values, type_.arrow)])):
        column = exact(given, type_)
        assert column.type == type_.arrow
        assert column.to_pylist() == values


def test_lists_of_other_layouts_are_taken() -> None:
    given = pa.chunked_array([pa.array([[1], None, [2, 3]], pa.large_list(pa.int64()))])
    assert exact(given, list_of(INT)).to_pylist() == [[1], None, [2, 3]]
    fixed = pa.chunked_array([pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2))])
    assert exact(fixed, list_of(DOUBLE)).to_pylist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("values", "type_", "row", "problem"),
    [
        ([[1], [], [2, 2.5]], list_of(INT), 2, "2.5 does not fit INT without loss"),
        ([["a"], "b"], list_of(STRING), 1, "'b' is of type str, and the column is STRING[]"),
        ([{"name": "a"}], WHO, 0, "{'name': 'a'} has not the fields of STRUCT<name STRING, ages INT[]>"),
        ([None, [[1], [2**31]]], list_of(list_of(INT)), 1, "2147483648 does not fit INT without loss"),
        ([[1]], list_of(TIMESTAMP), 0, "1 is of type int, and the column is TIMESTAMP"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_row(
    values: list[object], type_: Type, row: int, problem: str
) -> None:
    with pytest.raises(Inexact) as refused:
        exact(values, type_)
    assert (refused.value.row, refused.value.problem) == (row, problem)
