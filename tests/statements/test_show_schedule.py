"""SHOW SCHEDULE and SHOW SYNOPSES before an epoch has run."""

from __future__ import annotations

import panes


def test_query_that_needs_shorter_panes_is_shown_with_those_of_the_next_epoch() -> None:
    with panes.connect() as db:
        db.sql("CREATE STREAM s (ts BIGINT, k INT) TIMESTAMP BY ts SECONDS; SET share_from = 1")
        long = "SELECT k, count(*) AS n FROM s [RANGE 2 MINUTES SLIDE 20 SECONDS] GROUP BY k"
        short = "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY k"
        db.sql(f"CREATE QUERY long AS {long}")
        db.sql(f"CREATE QUERY short WITH (refresh = 'deadline') AS {short}")
        (shown,) = db.sql("SHOW SCHEDULE").to_pylist()
        (synopsis,) = db.sql("SHOW SYNOPSES").to_pylist()
        explained = str(db.sql("EXPLAIN short"))
    assert (shown["name"], shown["asked"], shown["late"]) == ("short", 1, 0)
    assert (synopsis["panes"], synopsis["readers"]) == (6, 2)
    assert "begins anew with the next epoch" in explained
    assert "after at most 1 update of the synopsis, every 10 SECONDS" in explained
