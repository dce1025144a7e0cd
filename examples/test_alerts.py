"""Unit tests of two alerts, without Spark: run them with `pytest examples/test_alerts.py`."""

import pytest

from panes.testing import local

STREAM = "CREATE STREAM requests (ts BIGINT, path STRING, status BIGINT) TIMESTAMP BY ts SECONDS"
FAILING = """
    SELECT path, count(*) AS failed FROM requests [RANGE 1 MINUTE]
    WHERE status >= 500 GROUP BY path HAVING count(*) >= 2
"""
SILENT = """
    SELECT DISTINCT r.path FROM requests [RANGE 10 MINUTES] AS r
    WHERE NOT EXISTS (SELECT 1 FROM requests [RANGE 1 MINUTE] AS recent WHERE recent.path = r.path)
"""


@pytest.fixture
def db():
    with local() as db:
        db.sql(STREAM)
        yield db


def test_a_path_that_fails_twice_within_a_minute_is_reported_until_a_minute_has_passed(db):
    failing = db.register(FAILING)
    db.push("requests", [(0, "/a", 500), (30, "/a", 503), (30, "/b", 500)])
    db.run()
    assert failing.invoke().to_pylist() == [{"path": "/a", "failed": 2}]
    db.push("requests", [(60, "/b", 200)])
    db.run()
    assert failing.invoke().to_pylist() == []


def test_a_path_without_requests_for_a_minute_is_silent(db):
    silent = db.register(SILENT)
    db.push("requests", [(0, "/a", 200), (0, "/b", 200)])
    db.run()
    assert silent.invoke().to_pylist() == []
    db.push("requests", [(60, "/b", 200)])
    db.run()
    assert silent.invoke().to_pylist() == [{"path": "/a"}]


def test_the_answer_does_not_depend_on_how_rows_come(db):
    failing = db.register(FAILING)
    for ts in range(5):
        db.push("requests", [(ts, "/a", 500)])
        db.run()
    assert failing.invoke().to_pylist() == [{"path": "/a", "failed": 5}]
