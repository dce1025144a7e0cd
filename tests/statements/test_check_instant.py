"""AT TIMESTAMP lies after the clocks of the streams that queries read with the table."""

from __future__ import annotations

import pytest

import panes
from panes.errors import SqlError
from panes.state.storage.epoch_log import EpochRecord, StreamProgress

SECOND = 1_000_000


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch):
    with panes.connect() as database:
        database.sql(
            "CREATE STREAM fast (ts BIGINT, k INT) TIMESTAMP BY ts SECONDS;"
            "CREATE STREAM slow (ts BIGINT, k INT) TIMESTAMP BY ts SECONDS;"
            "CREATE STREAM ones AS SELECT k FROM slow WHERE k = 1;"
            "CREATE TABLE t (k INT PRIMARY KEY, v STRING); CREATE TABLE other (k INT);"
            "CREATE QUERY q AS SELECT o.k, v FROM ones [RANGE 1 MINUTE] AS o, t WHERE o.k = t.k;"
            "CREATE QUERY p AS SELECT f.k FROM fast [RANGE 1 MINUTE] AS f, other WHERE f.k = other.k"
        )
        clocks = {"fast": 100 * SECOND, "slow": 50 * SECOND}
        streams = {
            stream.number: StreamProgress(clock=clocks[stream.name])
            for stream in database._catalog.base_streams()
        }
        record = EpochRecord(0, 0, 0, 0.0, 0, streams=streams)
        monkeypatch.setattr(database._log, "latest", lambda: record)
        yield database


INSERT = "INSERT INTO {} VALUES ({}) AT TIMESTAMP '1970-01-01 00:{}'"


@pytest.mark.parametrize(
    ("table", "row", "instant", "stream"),
    [
        ("t", "1, 'a'", "00:50", "slow"),
        ("t", "1, 'a'", "00:10", "slow"),
        ("other", "1", "01:40", "fast"),
    ],
)
def test_an_instant_that_has_passed_is_refused(db, table, row, instant, stream):
    with pytest.raises(
        SqlError, match=f"stream '{stream}', which query '.' reads with {table}, has come to"
    ) as caught:
        db.sql(INSERT.format(table, row, instant))
    assert caught.value.column == len(f"INSERT INTO {table} VALUES ({row}) ") + 1
    assert "name a later instant, or leave AT TIMESTAMP out" in str(caught.value)


@pytest.mark.parametrize(("table", "row", "instant"), [("t", "1, 'a'", "00:51"), ("other", "1", "01:41")])
def test_an_instant_that_is_to_come_is_taken(db, table, row, instant):
    assert db.sql(INSERT.format(table, row, instant)).inserted == 1


def test_streams_that_are_not_read_with_the_table_do_not_count(db):
    db.sql("DROP QUERY p")
    assert db.sql(INSERT.format("other", "1", "00:01")).inserted == 1
