"""Functions and aggregates of users in standing queries: in tasks, when they fail, and after a restart."""

from __future__ import annotations

import pytest

import panes
from panes import errors
from panes.testing import local

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE) TIMESTAMP BY ts SECONDS"
FUNCTIONS = """
    CREATE FUNCTION root(x DOUBLE) RETURNS DOUBLE AS 'math:sqrt';
    CREATE FUNCTION nearest(x DOUBLE) RETURNS BIGINT AS 'builtins:round';
    CREATE FUNCTION plus(x DOUBLE, y DOUBLE) RETURNS DOUBLE AS 'pyarrow.compute:add' VECTORIZED;
    CREATE AGGREGATE spread(x BIGINT) RETURNS BIGINT AS 'tests.own:Spread'
"""


def rows(*triples: tuple[int, int, float | None]) -> list[dict[str, object]]:
    return [dict(zip(("ts", "k", "v"), triple, strict=True)) for triple in triples]


def answers(query: panes.Query) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in query.invoke().to_pylist()), key=str)


def test_functions_of_users_in_standing_queries(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        db.sql(FUNCTIONS)
        roots = "SELECT k, root(v) AS r FROM s [RANGE 10 SECONDS] WHERE plus(v, 1) > 1"
        grouped = "SELECT nearest(v) AS n, count(*) AS c FROM s [RANGE 10 SECONDS] GROUP BY nearest(v)"
        spread = "SELECT k, spread(nearest(v)) AS s FROM s [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY k"
        queries = [db.register(text) for text in (roots, grouped, spread)]
        db.push("s", rows((1, 1, 4.0), (2, 1, 9.0), (3, 2, None), (4, 2, 0.25)))
        db.run()
        assert answers(queries[0]) == [(1, 2.0), (1, 3.0), (2, 0.5)]
        assert answers(queries[1]) == [(0, 1), (4, 1), (9, 1), (None, 1)]
        assert answers(queries[2]) == [(1, 5), (2, 0)]
        for text, query in zip((roots, grouped, spread), queries, strict=True):
            asked = (tuple(row.values()) for row in db.sql(text).to_pylist())
            assert sorted(asked, key=str) == answers(query)
        # The first two have left; a value that is not a root leaves the others as they are.
        db.push("s", rows((12, 2, -1.0)))
        db.run()
        assert answers(queries[2]) == [(2, 1)]
        assert set(db.status().failed) == set()  # WHERE keeps it away from the root
        db.register("SELECT root(v) AS r FROM s [RANGE 10 SECONDS]", name="bad")
        db.push("s", rows((13, 2, -2.0)))
        db.run()
        assert set(db.status().failed) == {"bad"}
        with pytest.raises(errors.QueryFailed, match=r"the function root \(math:sqrt\) failed: ValueError"):
            db.query("bad").invoke()
    with local(tmp_path / "db") as db:
        db.push("s", rows((20, 3, 16.0)))
        db.run()
        assert (3, 4.0) in answers(db.queries()[0])
