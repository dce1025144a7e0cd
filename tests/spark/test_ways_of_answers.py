"""The answer of a query is the same whether it is kept up to date, put together when it is read, or asked anew."""

from __future__ import annotations

import pytest

import panes
from panes import errors

pytestmark = pytest.mark.spark

QUERIES = {
    "selection": "SELECT ts, x FROM s [RANGE 1 MINUTE SLIDE 7 SECONDS] WHERE y > 3",
    "total": "SELECT y, sum(x) AS total FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY y",
    "pairs": "SELECT a.x, b.y FROM s [RANGE 20 SECONDS] a, s [RANGE 10 SECONDS] b WHERE a.x = b.x",
}
WAYS = {"selection": ("eager", "lazy", "none"), "total": ("eager", "none"), "pairs": ("eager", "none")}


def arrivals(since: int, until: int) -> list[dict[str, int]]:
    """Tuples of some seconds, of which every ninth comes half a minute late."""
    return [
        {"ts": at - 30 if at % 9 == 8 else at, "x": at * 7 % 11, "y": at * 5 % 8}
        for at in range(since, until)
    ]


def rows(answer: panes.Answer) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in answer.to_pylist())


def test_all_ways_give_one_answer_with_late_rows_and_after_a_restart(tmp_path, spark):
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql("CREATE STREAM s (ts BIGINT, x INT, y INT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 SECOND")
        for name, sql in QUERIES.items():
            for way in WAYS[name]:
                db.sql(f"CREATE QUERY {name}_{way} WITH (answers = '{way}') AS {sql}")
        seen = []
        for since, until in ((0, 45), (45, 80), (80, 130)):
            db.push("s", arrivals(since, until))
            db.run()
            seen.append(_same_in_all_ways(db))
        assert all(len(found) > 3 for found in seen[-1].values())
        assert seen[0] != seen[1] != seen[2]
    with panes.connect(tmp_path / "db", spark=spark) as db:
        assert _same_in_all_ways(db) == seen[-1]
        with pytest.raises(errors.CatalogError, match="no changes to follow"):
            db.query("total_none").changes()
        db.sql("DROP QUERY selection_lazy")
        db.push("s", arrivals(130, 150))
        db.run()
        assert rows(db.query("selection_eager").invoke()) == rows(db.query("selection_none").invoke())


def _same_in_all_ways(db: panes.Database) -> dict[str, list[tuple[object, ...]]]:
    found = {}
    for name in QUERIES:
        of_name = [q for q in ("eager", "lazy", "none") if db._catalog.has("QUERY", f"{name}_{q}")]
        answers = {way: rows(db.query(f"{name}_{way}").invoke()) for way in of_name}
        assert len({str(answer) for answer in answers.values()}) == 1, answers
        found[name] = answers["eager"]
    return found
