"""INSERT INTO a stream pushes rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.parquet as pq
import pytest

import panes
from panes.errors import SqlError
from panes.tables.row_counts import RowCounts


@pytest.fixture
def visits() -> Iterator[panes.Database]:
    with panes.connect() as database:
        database.sql(
            "CREATE STREAM visits (at TIMESTAMP, who STRING, ms INT) TIMESTAMP BY at;"
            "CREATE STREAM late AS SELECT * FROM visits WHERE ms > 5;"
            "CREATE TABLE people (who STRING PRIMARY KEY, at TIMESTAMP)"
        )
        yield database


def pushed(db: panes.Database) -> list[dict[str, object]]:
    files = sorted((db.path / "pushed").rglob("*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return sorted(rows, key=str)


def test_rows_wait_for_the_next_epoch(visits: panes.Database) -> None:
    assert visits.sql(
        "INSERT INTO visits VALUES ('2026-01-31 12:00', 'a', 1 + 1), (TIMESTAMP '2026-01-31', ?, NULL)", ["b"]
    ) == RowCounts(inserted=2)
    assert visits.sql("INSERT INTO Visits (WHO, at) VALUES ('c', '2026-02-01')") == RowCounts(inserted=1)
    assert [(row["who"], row["ms"]) for row in pushed(visits)] == [("b", None), ("a", 2), ("c", None)]


def test_rows_of_a_query_over_tables(visits: panes.Database) -> None:
    visits.sql("INSERT INTO people VALUES ('a', '2026-01-31'), ('b', '2026-02-01')")
    assert visits.sql("INSERT INTO visits (who, at) SELECT who, at FROM people") == RowCounts(inserted=2)
    assert [row["who"] for row in pushed(visits)] == ["a", "b"]


def test_a_stream_is_no_part_of_a_transaction(visits: panes.Database) -> None:
    with pytest.raises(SqlError, match="there is already a row"):
        visits.sql(
            "INSERT INTO people VALUES ('a', NULL); INSERT INTO visits VALUES ('2026-01-31', 'x', 1);"
            "INSERT INTO people VALUES ('b', NULL); INSERT INTO people VALUES ('a', NULL)"
        )
    assert len(pushed(visits)) == 1
    assert visits.sql("SELECT who FROM people").to_pylist() == [{"who": "a"}]


@pytest.mark.parametrize(
    ("sql", "problem", "at"),
    [
        ("INSERT INTO visits (who) VALUES ('a')", "at is the event time of visits and cannot be NULL", 21),
        ("INSERT INTO visits VALUES ('2026-01-31', 'a', 1), (NULL, 'b', 1)", "at is the event time", 52),
        ("INSERT INTO visits VALUES ('2026-01-31', 'a', 'b')", "ms is an INT, and this is a STRING", 47),
        ("INSERT INTO visits VALUES ('soon', 'a', 1)", "'soon' is not a TIMESTAMP", 28),
        ("INSERT INTO visits VALUES ('2026-01-31', 'a')", "a row has 3 values here, not 2", 28),
        ("INSERT INTO visits (at, what) VALUES ('2026-01-31', 'a')", "visits has no column named 'what'", 25),
        ("INSERT INTO late VALUES ('2026-01-31', 'a', 1)", "late is a derived stream", 13),
        (
            "INSERT INTO visits VALUES ('2026-01-31', 'a', 1) ON CONFLICT DO NOTHING",
            "visits is a stream, which takes every row",
            50,
        ),
        (
            "INSERT INTO visits (who, at) SELECT who, at FROM people",
            "row 0 of the query has no event time",
            30,
        ),
        ("UPDATE visits SET ms = 1", "visits is a stream", 8),
    ],
)
def test_what_cannot_be_inserted_is_refused_where_it_stands(
    visits: panes.Database, sql: str, problem: str, at: int
) -> None:
    visits.sql("INSERT INTO people VALUES ('a', NULL)")
    with pytest.raises(SqlError, match=problem) as refused:
        visits.sql(sql)
    assert refused.value.column == at
    assert pushed(visits) == []


def test_a_stream_with_another_source_takes_no_rows(tmp_path) -> None:
    with panes.connect() as db:
        db.sql(f"CREATE STREAM s (a INT) FROM FILES '{tmp_path}'")
        with pytest.raises(SqlError, match="stream s takes its rows from FILES"):
            db.sql("INSERT INTO s VALUES (1)")


def test_times_of_arrival_are_not_given() -> None:
    with panes.connect() as db:
        db.sql("CREATE STREAM s (a INT)")
        assert db.sql("INSERT INTO s VALUES (1), (NULL)") == RowCounts(inserted=2)
