"""Pushing rows: stored wholly, in the types of the stream, or refused with nothing stored."""

import re
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.errors import SourceError
from panes.ingest.push import push
from panes.ingest.pushed_files import PushedFiles
from tests.base_stream import base_stream

STREAM = base_stream("CREATE STREAM s (k INT, w STRING)")
FILES = base_stream("CREATE STREAM f (k INT) FROM FILES 'somewhere'", 2)
ALL = base_stream("CREATE STREAM s (b BOOLEAN, i INT, l BIGINT, d DOUBLE, w STRING, day DATE, at TIMESTAMP)")
SCHEMA = pa.schema([("k", pa.int32()), ("w", pa.string())])

Pair = namedtuple("Pair", ["w", "k"])


@dataclass
class Word:
    w: str
    k: int


def beside(folder):
    """Where pushes go when the home is the folder itself."""
    return PushedFiles(folder, folder)


def stored(folder):
    return [pq.read_table(path) for path in sorted(folder.glob("pushed/000001/*"))]


TWO = [{"k": 1, "w": "a"}, {"k": 2, "w": None}]
FORMS = {
    "dictionaries": lambda: TWO,
    "tuple of dictionaries": lambda: tuple(TWO),
    "generator of dictionaries": lambda: (row for row in TWO),
    "tuples by position": lambda: [(1, "a"), (2, None)],
    "iterator of lists": lambda: iter([[1, "a"], [2, None]]),
    "named tuples by name": lambda: [Pair("a", 1), Pair(None, 2)],
    "dataclasses": lambda: [Word("a", 1), Word(None, 2)],
    "lists as columns": lambda: {"w": ["a", None], "k": [1, 2]},
    "arrays as columns": lambda: {"k": np.array([1, 2]), "w": pa.array(["a", None])},
    "series as columns": lambda: {"k": pd.Series([1, 2]), "w": pl.Series(["a", None])},
    "table with columns in another order": lambda: pa.table({"w": ["a", None], "k": [1, 2]}),
    "table in chunks": lambda: pa.concat_tables([pa.table({"k": [1], "w": ["a"]}),
                                                 pa.table({"k": [2], "w": pa.array([None], pa.string())})]),
    "record batch": lambda: pa.record_batch({"k": [1, 2], "w": ["a", None]}),
    "reader of record batches": lambda: pa.table({"k": [1, 2], "w": ["a", None]}).to_reader(),
    "pandas": lambda: pd.DataFrame({"k": [1, 2], "w": ["a", None]}, index=[7, 9]),
    "pandas with missing values": lambda: pd.DataFrame({"k": [1.0, 2.0], "w": ["a", float("nan")]}),
    "pandas categories": lambda: pd.DataFrame({"k": [1, 2], "w": pd.Categorical(["a", None])}),
    "polars": lambda: pl.DataFrame({"k": [1, 2], "w": ["a", None]}),
    "polars categories": lambda: pl.DataFrame({"k": [1, 2], "w": pl.Series(["a", None], dtype=pl.Categorical)}),
    "dictionary-encoded": lambda: pa.table({"k": [1, 2], "w": pa.array(["a", None]).dictionary_encode()}),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_any_form_are_stored_in_the_types_of_the_stream(tmp_path, form):
    assert push(beside(tmp_path), STREAM, FORMS[form]()) == 2
    assert stored(tmp_path) == [pa.table({"k": [1, 2], "w": ["a", None]}, schema=SCHEMA)]


@pytest.mark.parametrize(
    "row", [{"k": 1, "w": "a"}, Pair("a", 1), Word("a", 1)], ids=["dict", "named", "data"]
)
def test_one_row_is_a_row(tmp_path, row):
    assert push(beside(tmp_path), STREAM, row) == 1
    assert stored(tmp_path) == [pa.table({"k": [1], "w": ["a"]}, schema=SCHEMA)]


def test_every_push_is_a_file_of_its_own_and_nothing_is_no_file(tmp_path):
    for number in range(3):
        push(beside(tmp_path), STREAM, {"k": number, "w": "x"})
    assert push(beside(tmp_path), STREAM, []) == 0
    assert push(beside(tmp_path), STREAM, pd.DataFrame({"k": [], "w": []})) == 0
    assert sorted(table.column("k")[0].as_py() for table in stored(tmp_path)) == [0, 1, 2]


NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
TAKEN = {
    "b": [(True, True), (np.bool_(False), False), (None, None), (pd.NA, None)],
    "i": [(1, 1), (2.0, 2), (np.int8(3), 3), (Decimal("4"), 4), (-(2**31), -(2**31)), (pd.NA, None)],
    "l": [(2**62, 2**62), (np.uint64(7), 7), (np.float32(8), 8), (None, None)],
    "d": [(1.5, 1.5), (2, 2.0), (np.float32(0.5), 0.5), (Decimal("0.1"), 0.1), (float("inf"), float("inf"))],
    "w": [("ü\0", "ü\0"), (np.str_("x"), "x"), ("", ""), (None, None)],
    "day": [(date(2026, 7, 1), date(2026, 7, 1)), (datetime(2026, 7, 1), date(2026, 7, 1)),
            (np.datetime64("2026-07-01"), date(2026, 7, 1)), (pd.NaT, None)],
    "at": [(NOON, NOON), (NOON.replace(tzinfo=None), NOON), (pd.Timestamp(NOON), NOON), (pd.NaT, None),
           (NOON.astimezone(timezone(timedelta(hours=5))), NOON), (np.datetime64("2026-07-01T12"), NOON),
           (np.datetime64("NaT"), None), (date(2026, 7, 1), NOON.replace(hour=0))],
}  # fmt: skip


@pytest.mark.parametrize("column", TAKEN)
def test_values_of_python_are_taken_as_what_they_are(tmp_path, column):
    nothing = dict.fromkeys(ALL.columns.names)
    push(beside(tmp_path), ALL, [nothing | {column: given} for given, _ in TAKEN[column]])
    assert stored(tmp_path)[0].column(column).to_pylist() == [expected for _, expected in TAKEN[column]]


LOSSES = {
    "b": [(1, "1 is of type int, and the column is BOOLEAN"), ("x", "'x' is of type str")],
    "i": [(2.7, "2.7 does not fit INT without loss"), (2**40, "1099511627776 does not fit INT without loss"),
          ("two", "'two' is of type str, and the column is INT"), (True, "True is of type bool"),
          (float("nan"), "nan does not fit INT"), (Decimal("1.5"), r"Decimal\('1.5'\) does not fit"),
          (np.float64(2.5), "2.5.* does not fit INT"), ([1], r"\[1\] is of type list"),
          (np.bool_(True), "True.* is of type bool")],
    "l": [(2**70, "1180591620717411303424 does not fit BIGINT"), (1e300, "1e[+]300 does not fit BIGINT"),
          (True, "True is of type bool, and the column is BIGINT"), (b"1", "b'1' is of type bytes"),
          (float("inf"), "inf does not fit"), (NOON, "is of type datetime, and the column is BIGINT")],
    "d": [(2**53 + 1, "9007199254740993 does not fit DOUBLE"), (10**400, "0000.*… does not fit DOUBLE"),
          ("1.5", "'1.5' is of type str"), (False, "False is of type bool"), (1j, "1j is of type complex")],
    "w": [("a\ud800", r"'a\\ud800' does not fit STRING"), (b"a", "b'a' is of type bytes"), (1, "1 is of type int"),
          ({}, "{} is of type dict")],
    "day": [(NOON, "datetime.* does not fit DATE without loss"), ("2026-07-01", "is of type str"),
            (1, "is of type int")],
    "at": [(pd.Timestamp(1), "000001'.* does not fit TIMESTAMP without loss"), (5, "5 is of type int"),
           (np.datetime64(1, "ns"), "does not fit TIMESTAMP without loss"), ("2026-07-01", "is of type str"),
           (np.datetime64(2**62, "s"), "does not fit TIMESTAMP without loss")],
}  # fmt: skip


@pytest.mark.parametrize("column", LOSSES)
def test_what_would_lose_value_is_refused_with_its_row_and_column(tmp_path, column):
    nothing = dict.fromkeys(ALL.columns.names)
    for value, message in LOSSES[column]:
        with pytest.raises(SourceError, match=f"row 2, column '{column}': .*{message}.*nothing was stored"):
            push(
                beside(tmp_path),
                ALL,
                [nothing, nothing, nothing | {column: value}, nothing | {column: value}],
            )
    assert stored(tmp_path) == []


NOT_TEXT = pa.Array.from_buffers(
    pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], "int32")), pa.py_buffer(b"ab\xff")]
)
LOST_COLUMNS = [
    ("i", pa.array([1, 2, 2**40]), "1099511627776 does not fit INT without loss"),
    ("i", pa.array([1.0, None, 2.7]), "2.7 does not fit INT without loss"),
    ("i", pa.array([1.0, None, float("nan")]), "nan does not fit INT without loss"),
    ("i", pa.array([None, None, "2"]), "'2' is of type string, and the column is INT"),
    ("i", pa.array([None, None, True]), "True is of type bool, and the column is INT"),
    ("l", pa.array([1, 2, 2**63], pa.uint64()), "9223372036854775808 does not fit BIGINT"),
    ("d", pa.array([1, 2, 2**53 + 1]), "9007199254740993 does not fit DOUBLE"),
    ("w", NOT_TEXT, "string does not fit STRING"),
    ("w", pa.array([None, None, b"x"]), "b'x' is of type binary, and the column is STRING"),
    ("w", pa.array([None, None, 3]), "3 is of type int64, and the column is STRING"),
    ("day", pa.array([None, datetime(2026, 7, 1), NOON.replace(tzinfo=None)]), "does not fit DATE without loss"),
    ("at", pa.array([None, 1_000, 1_001], pa.timestamp("ns")), "does not fit TIMESTAMP without loss"),
    ("at", pa.array([0, 1, 2**62], pa.timestamp("s")), "4611686018427387904 does not fit TIMESTAMP"),
    ("at", pa.array([None, None, 5]), "5 is of type int64, and the column is TIMESTAMP"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "values", "message"), LOST_COLUMNS)
@pytest.mark.parametrize("chunks", [1, 3])
def test_columns_that_would_lose_value_are_refused_with_row_and_column(
    tmp_path, column, values, message, chunks
):
    columns = {f.name: pa.nulls(3, f.type) for f in ALL.columns.arrow} | {column: values}
    table = pa.table(columns)
    if chunks == 3:
        table = pa.concat_tables([table.slice(row, 1) for row in range(3)])
    with pytest.raises(SourceError, match=f"row 2, column '{column}': .*{message}.*; nothing was stored"):
        push(beside(tmp_path), ALL, table)
    assert stored(tmp_path) == []


def test_missing_values_of_pandas_are_null_and_nan_elsewhere_is_a_number(tmp_path):
    one = base_stream("CREATE STREAM s (k BIGINT, x DOUBLE)")
    nan = float("nan")
    push(beside(tmp_path), one, pd.DataFrame({"k": [1.0, nan], "x": [nan, 0.5]}))
    assert stored(tmp_path)[0].to_pylist() == [{"k": 1, "x": None}, {"k": None, "x": 0.5}]
    push(beside(tmp_path / "more"), one, pl.DataFrame({"k": [1], "x": [nan]}))
    assert str(stored(tmp_path / "more")[0].to_pylist()) == "[{'k': 1, 'x': nan}]"
    with pytest.raises(SourceError, match=r"row 1, column 'k': 2\.7 does not fit BIGINT without loss"):
        push(beside(tmp_path), one, pd.DataFrame({"k": [nan, 2.7], "x": [1, 2]}))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"k": 1}, "in row 0: w missing; nothing was stored"),
        ([{"k": 1, "w": "a"}, {"k": 1, "w": "a", "z": 2}], "in row 1: z unknown; nothing was stored"),
        (pa.table({"k": [1]}), "the columns are k, w; in what was pushed: w missing; nothing was stored"),
        (pd.DataFrame({"k": [1], 0: [1]}), "w missing; 0 unknown"),
        (pd.DataFrame([[1, 2, 3]], columns=["k", "w", "k"]), "k given twice"),
        ([(1, "a"), (1,)], "row 1 has 1 values, and the stream 2 columns; nothing was stored"),
        ([{"k": 1, "w": "a"}, 5], "row 1 is of type int, and not a row: 5; nothing was stored"),
        ([(1, "a"), "ab"], "row 1 is of type str, and not a row: 'ab'"),
        ("ab", "of type str, and not rows: give a table"),
        (7, "of type int, and not rows"),
        (None, "of type NoneType, and not rows"),
        (pl.LazyFrame({"k": [1], "w": ["a"]}), "of type LazyFrame, and not rows"),
        (pl.Series([1]), "the Series that was pushed gives no Arrow"),
        ({"k": [1, 2], "w": ["a"]}, "the columns are of different lengths: {'k': 2, 'w': 1}"),
        ({"k": [1], "w": "a"}, "some values are lists and that of 'w' is not: give a row, or columns"),
    ],
)
def test_what_is_not_rows_of_the_stream_is_refused_whole(tmp_path, rows, message):
    with pytest.raises(SourceError, match=message):
        push(beside(tmp_path), STREAM, rows)
    assert stored(tmp_path) == []


def test_a_stream_with_a_source_cannot_be_pushed_to(tmp_path):
    with pytest.raises(
        SourceError, match="takes its rows from FILES; only a stream that was created without FROM"
    ):
        push(beside(tmp_path), FILES, {"k": 1})


def test_the_program_of_the_page_runs():
    page = Path(__file__).parent.parent.parent / "docs" / "pushing-rows.md"
    (program,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec(compile(program, page.name, "exec"), {})
