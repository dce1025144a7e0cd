"""Files of rows for tables: CSV, Parquet and JSON give the same rows, and errors say which row."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.errors import SourceError
from panes.ingest.table_file import TableFile
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP

COLUMNS = Schema.of(
    [
        ("id", INT),
        ("n", BIGINT),
        ("x", DOUBLE),
        ("name", STRING),
        ("ok", BOOLEAN),
        ("day", DATE),
        ("at", TIMESTAMP),
    ]
)
ROWS = [
    (1, 2**40, 0.5, "a,b", True, date(2026, 1, 31), datetime(2026, 1, 31, 12, 0, 0, 500000, UTC)),
    (2, None, None, "", False, None, datetime(2026, 1, 31, 10, tzinfo=UTC)),
    (3, -1, -1e300, None, None, date(1969, 12, 31), None),
]
TWO = Schema.of([("id", INT), ("name", STRING)])


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


CSV = """\
1,1099511627776,0.5,"a,b",true,2026-01-31,2026-01-31 12:00:00.5
2,,,"",FALSE,,2026-01-31T11:00:00+01:00
3, -1 ,-1e300,,,1969-12-31,
"""


def test_csv_without_a_header_is_read_by_position(tmp_path: Path):
    assert rows_of(TableFile(written(tmp_path, "t.csv", CSV)).rows(COLUMNS)) == ROWS


def test_csv_with_a_header_is_read_by_name(tmp_path: Path):
    path = written(tmp_path, "t.csv", "\ufeffother;NAME;id\nx;a;1\ny;'b;2\n")
    file = TableFile(path, header=True, delimiter=";")
    assert rows_of(file.rows(TWO)) == [(1, "a"), (2, "'b")]


def test_values_may_have_line_breaks_and_another_null(tmp_path: Path):
    path = written(tmp_path, "t.csv", '1,"two\nlines"\n2,-\n3,"-"\n')
    assert rows_of(TableFile(path, null_text="-").rows(TWO)) == [(1, "two\nlines"), (2, None), (3, "-")]


def test_compressed_files_are_read_by_their_name(tmp_path: Path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1,a\n"))
    assert rows_of(TableFile(str(path)).rows(TWO)) == [(1, "a")]
    assert rows_of(TableFile(path.as_uri()).rows(TWO)) == [(1, "a")]


def test_parquet_is_read_by_name(tmp_path: Path):
    path = tmp_path / "t.parquet"
    columns = list(zip(*ROWS, strict=True))
    table = pa.table(
        {f.name.upper(): pa.array(values, f.type.arrow) for f, values in zip(COLUMNS, columns, strict=True)}
    )
    pq.write_table(table.append_column("more", pa.array(["x"] * 3)), path)
    assert rows_of(TableFile(str(path)).rows(COLUMNS)) == ROWS


JSON = [
    {
        "id": 1,
        "n": 2**40,
        "x": 0.5,
        "name": "a,b",
        "ok": True,
        "day": "2026-01-31",
        "at": "2026-01-31 12:00:00.5",
    },
    {"at": "2026-01-31T10:00:00Z", "ok": False, "id": 2, "name": "", "more": {"left": "out"}},
    {"id": 3, "n": -1, "x": -1e300, "day": "1969-12-31", "name": None},
]


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson"])
def test_json_has_an_object_per_line(tmp_path: Path, name: str):
    path = written(tmp_path, name, "\n".join(map(json.dumps, JSON)))
    assert rows_of(TableFile(path).rows(COLUMNS)) == ROWS


def test_json_may_be_one_list(tmp_path: Path):
    assert rows_of(TableFile(written(tmp_path, "t.json", json.dumps(JSON, indent=1))).rows(COLUMNS)) == ROWS


@pytest.mark.parametrize("name", ["t.csv", "t.json"])
def test_an_empty_file_has_no_rows(tmp_path: Path, name: str):
    table = TableFile(written(tmp_path, name, "\n")).rows(COLUMNS)
    assert (table.num_rows, table.schema) == (0, COLUMNS.arrow)


def test_a_list_without_objects_has_no_rows(tmp_path: Path):
    assert TableFile(written(tmp_path, "t.json", "[]")).rows(TWO).num_rows == 0


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.csv", "1,a\n2,b\nx,c\n", r"row 3 of .*t\.csv, column 'id': 'x' is not an INT"),
        ("t.csv", "1,a\n3000000000,b\n", r"row 2 of .*, column 'id': '3000000000' is not an INT"),
        ("t.csv", "1.5,a\n", "row 1 of .*, column 'id': '1.5' is not an INT"),
        ("t.csv", "1,a,b\n", r"t\.csv cannot be read: its first row has 3 values, and the table 2 columns"),
        ("t.csv", "1,a\n2\n", r"t\.csv cannot be read: .*Expected 2 columns, got 1"),
        (
            "t.json",
            '{"id": 3000000000}',
            "row 1 of .*, column 'id': 3000000000 does not fit INT without loss",
        ),
        ("t.json", '{"id": "x"}', r"t\.json cannot be read: "),
        ("t.json", '{"id": 1', r"t\.json cannot be read: "),
        ("t.json", '["x', r"t\.json cannot be read: "),
        ("t.parquet", "nothing", r"t\.parquet cannot be read: "),
        ("t.txt", "1,a", r"the name of .*t\.txt does not say what it is; write WITH \(format = 'csv'\)"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, name: str, text: str, problem: str):
    with pytest.raises(SourceError, match=problem):
        TableFile(written(tmp_path, name, text)).rows(TWO)


def test_a_header_must_have_every_column_once(tmp_path: Path):
    with pytest.raises(SourceError, match="it has no column 'name'; it has id, nam"):
        TableFile(written(tmp_path, "t.csv", "id,nam\n1,a\n"), header=True).rows(TWO)
    with pytest.raises(SourceError, match="it has more than one column 'name'"):
        TableFile(written(tmp_path, "t.csv", "id,NAME,Name\n1,a,b\n"), header=True).rows(TWO)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(SourceError, match=r"gone\.csv cannot be read: .*No such file"):
        TableFile(str(tmp_path / "gone.csv")).rows(TWO)


def test_a_stored_text_is_no_number(tmp_path: Path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": ["1"], "name": ["a"]}), path)
    with pytest.raises(
        SourceError, match=r"row 1 of .*, column 'id': '1' is of type string, and the column is INT"
    ):
        TableFile(str(path)).rows(TWO)
