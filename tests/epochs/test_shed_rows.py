"""Drop boxes in epochs on Spark: the same rows are shed however they come, and answers say so."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panes.testing import local

STREAM = """CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT)
            TIMESTAMP BY ts MILLISECONDS RETAIN INTERVAL 1 HOUR"""
COUNTS = "SELECT src, count(*) AS n, sum(bytes) AS total FROM packets [RANGE 20 SECONDS] GROUP BY src"
LEFT = "SELECT ts, src, bytes FROM packets [RANGE 1 HOUR]"


def rows(begin, end):
    ts = np.arange(begin * 1000, end * 1000, 10)
    return pa.table({"ts": ts, "src": ts // 10 % 3, "bytes": ts % 700})


def taken_in(db, begin, end, share=1.0):
    """Takes in rows of which all queries keep a share, as if the machine were too slow for more."""
    workload = db._running.workload

    def workload_that_sheds(before, cores):
        queries = [record.id for record in db._catalog.queries()]
        db._running.set_shares(before, {query: {1: share} for query in queries})
        return workload(before, cores)

    db.push("packets", rows(begin, end))
    db._running.workload = workload_that_sheds
    db.run()
    db._running.workload = workload


def test_the_same_rows_are_shed_in_one_epoch_in_many_and_after_a_restart(tmp_path):
    answers = []
    for name, cuts in (("one", [(5, 15)]), ("many", [(5, 6), (6, 11), (11, 15)])):
        with local(tmp_path / name) as db:
            db.sql(f"SET shed = 'auto'; SET shards = {len(cuts)}; {STREAM}; CREATE QUERY counts AS {COUNTS}")
            db.sql(f"CREATE QUERY remaining AS {LEFT}")
            taken_in(db, 0, 5)
            assert not db.sql("INVOKE counts").is_partial
            for begin, end in cuts[:2]:
                taken_in(db, begin, end, 0.4)
        with local(tmp_path / name) as db:
            for begin, end in cuts[2:]:
                taken_in(db, begin, end, 0.4)
            counts, remaining = db.sql("INVOKE counts"), db.sql("INVOKE remaining")
            assert counts.is_partial
            assert counts.kept == remaining.kept == {"packets": 0.4}
            assert counts.table.column_names == ["src", "n", "total"]
            assert "Drop: keep 40 % of packets" in db.sql("EXPLAIN counts")
            # A query that comes later has its own box, and one-time queries have none.
            assert db.sql(f"SELECT count(*) AS n FROM ({LEFT})").to_pylist() == [{"n": 1500}]
            db.sql(f"CREATE QUERY later AS {LEFT}")
            taken_in(db, 15, 16)
            later = db.sql("INVOKE later")
            assert len(later) == 1600
            assert not later.is_partial
            counted, kept_rows = (db._log.latest().shed[record.id][1] for record in db._catalog.queries()[:2])
            assert counted == kept_rows == 1600 - len(db.sql("INVOKE remaining"))
            answers.append((counts.error.sort_by("src").to_pylist(), remaining.table.sort_by("ts")))
    assert answers[0][0] == answers[1][0]
    assert answers[0][1].equals(answers[1][1])
    remaining = answers[0][1]
    assert remaining.num_rows - 500 == pytest.approx(400, abs=60)
    for row in answers[0][0]:
        assert row["n"] == pytest.approx(500, abs=90)
        assert row["n_low"] < row["n"] < row["n_high"]


def test_answers_are_exact_again_when_windows_have_moved_past_what_was_shed(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(f"{STREAM}; CREATE QUERY counts WITH (shed = 'auto') AS {COUNTS}")
        taken_in(db, 0, 2)
        taken_in(db, 2, 5, 0.5)
        taken_in(db, 5, 10)
        assert db.sql("INVOKE counts").kept == {"packets": 0.5}
        taken_in(db, 10, 26)
        answer = db.sql("INVOKE counts")
        assert not answer.is_partial
        assert answer.error.column("n_low").null_count == 3
        assert sum(answer.table.column("n").to_pylist()) == 2000
        taken_in(db, 26, 27)
        assert db._log.latest().boxes == {}
