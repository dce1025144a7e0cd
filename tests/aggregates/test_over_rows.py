"""Functions of OVER over rows in their order."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from panes.aggregates.over_rows import OverRows
from panes.errors import EvaluationError
from panes.plan.expressions import Column
from panes.plan.over_functions import UP_TO_PEERS, WHOLE, Frame, OverFunction
from panes.plan.types import BIGINT, DOUBLE, STRING, Type

#                      one partition  another
ROWS = OverRows.of(np.array([0, 0, 0, 0, 1]), np.array([0, 1, 1, 2, 0]))
"""Four rows, the second and third of which are peers, and one alone."""
NUMBERS = pa.array([5, None, 2, 7, 9], pa.int64())


def result(
    function: str, *parameters: object, frame: Frame | None = None, rows: OverRows = ROWS
) -> list[object]:
    has_argument = function in ("lag", "lead") or frame is not None
    arg = Column(BIGINT, "x") if has_argument else None
    type_ = DOUBLE if function in ("percent_rank", "cume_dist", "avg") else BIGINT
    call = OverFunction("", function, arg, type_, parameters, frame)  # type: ignore[arg-type]
    found: list[object] = rows.result(call, NUMBERS if has_argument else None).to_pylist()
    return found


@pytest.mark.parametrize(
    ("function", "parameters", "expected"),
    [
        ("row_number", (), [1, 2, 3, 4, 1]),
        ("rank", (), [1, 2, 2, 4, 1]),
        ("dense_rank", (), [1, 2, 2, 3, 1]),
        ("percent_rank", (), [0, 1 / 3, 1 / 3, 1, 0]),
        ("cume_dist", (), [0.25, 0.75, 0.75, 1, 1]),
        ("ntile", (3,), [1, 1, 2, 3, 1]),
        ("ntile", (9,), [1, 2, 3, 4, 1]),
        ("lag", (1, None), [None, 5, None, 2, None]),
        ("lag", (1, 0), [0, 5, None, 2, 0]),
        ("lead", (2, None), [2, 7, None, None, None]),
        ("lead", (0, None), [5, None, 2, 7, 9]),
    ],
)
def test_places_and_neighbors(function: str, parameters: tuple[object, ...], expected: list[object]) -> None:
    assert result(function, *parameters) == expected


@pytest.mark.parametrize(
    ("function", "frame", "expected"),
    [
        ("sum", WHOLE, [14, 14, 14, 14, 9]),
        ("sum", UP_TO_PEERS, [5, 7, 7, 14, 9]),
        ("count", UP_TO_PEERS, [1, 2, 2, 3, 1]),
        ("avg", Frame(by_rows=True, start=-1, end=0), [5, 5, 2, 4.5, 9]),
        ("min", Frame(by_rows=True, end=0), [5, 5, 2, 2, 9]),
        ("max", Frame(by_rows=True, start=1, end=2), [2, 7, 7, None, None]),
        ("first_value", Frame(by_rows=False, start=0), [5, None, None, 7, 9]),
        ("last_value", UP_TO_PEERS, [5, 2, 2, 7, 9]),
        ("sum", Frame(by_rows=True, start=-9, end=-1), [None, 5, 5, 7, None]),
    ],
)
def test_frames(function: str, frame: Frame, expected: list[object]) -> None:
    assert result(function, frame=frame) == expected


@pytest.mark.parametrize("distance", [2, timedelta(microseconds=2)])
def test_distances_go_by_the_value_of_the_sort_key(distance: int | timedelta) -> None:
    keys = pa.array([1, 2, 4, None, 1], pa.int64())
    rows = OverRows.of(np.array([0, 0, 0, 0, 1]), np.arange(5), keys)
    near = Frame(by_rows=False, start=-distance, end=0)
    assert result("count", frame=near, rows=rows) == [1, 1, 1, 1, 1]
    assert rows.result(OverFunction("", "count", None, BIGINT, (), near), None).to_pylist() == [1, 2, 2, 1, 1]


def test_distances_beyond_the_greatest_integer_reach_to_it() -> None:
    keys = pa.array([1, 2**63 - 1], pa.int64())
    rows = OverRows.of(np.array([0, 0]), np.array([0, 1]), keys)
    after = Frame(by_rows=False, start=1, end=2)
    assert rows.result(OverFunction("", "count", None, BIGINT, (), after), None).to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("type_", "values"), [(STRING, ["b", "a", None]), (DOUBLE, [1.5, float("nan"), None])]
)
def test_extremes_of_other_types(type_: Type, values: list[object]) -> None:
    rows = OverRows.of(np.zeros(3, np.int64), np.zeros(3, np.int64))
    found = [
        rows.result(OverFunction("", f, Column(type_, "x"), type_, (), WHOLE), pa.array(values, type_.arrow))[
            0
        ]
        for f in ("min", "max")
    ]
    assert [str(value) for value in found] == sorted(map(str, values[:2]))


def test_a_sum_that_does_not_fit_is_an_error() -> None:
    rows = OverRows.of(np.zeros(2, np.int64), np.zeros(2, np.int64))
    call = OverFunction("", "sum", Column(BIGINT, "x"), BIGINT, (), WHOLE)
    with pytest.raises(EvaluationError, match="does not fit into 64 bits"):
        rows.result(call, pa.array([2**62, 2**62]))


def test_no_rows_give_no_values() -> None:
    rows = OverRows.of(np.zeros(0, np.int64), np.zeros(0, np.int64))
    for name in ("rank", "dense_rank", "ntile"):
        call = OverFunction("", name, None, BIGINT, (2,) if name == "ntile" else ())
        assert rows.result(call, None).to_pylist() == []
    for name in ("min", "sum", "first_value"):
        call = OverFunction("", name, Column(BIGINT, "x"), BIGINT, (), UP_TO_PEERS)
        assert rows.result(call, pa.array([], pa.int64())).to_pylist() == []
