"""A query that fails is suspended with its error, and everything else goes on, exactly."""

from __future__ import annotations

import pytest

import panes
from panes import errors
from panes.testing import local
from tests.kept_states import overwrite, segments_in

LARGEST = 2**63 - 1
STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS"
COUNT = "SELECT k, count(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k"
SUM = "SELECT k, sum(v) AS total FROM s [RANGE 1 HOUR] GROUP BY k"


def rows(*triples: tuple[int, int, int]) -> list[dict[str, int]]:
    return [dict(zip(("ts", "k", "v"), triple, strict=True)) for triple in triples]


def counted(query: panes.Query) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in query.invoke().to_pylist())


@pytest.mark.parametrize(
    "failing",
    [SUM, "SELECT v + v AS doubled FROM s [RANGE 1 HOUR]", "SELECT k FROM s [RANGE 1 HOUR] WHERE v + 1 > k"],
    ids=["an aggregate", "a projection", "a selection"],
)
def test_a_query_that_cannot_be_computed_is_suspended_and_the_others_go_on(tmp_path, failing):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        bad, good = db.register(failing, name="bad"), db.register(COUNT, name="good")
        db.push("s", rows((1, 1, 5), (2, 2, 6)))
        db.run()
        assert len(bad.invoke()) == 2
        db.push("s", rows((3, 1, LARGEST), (4, 1, LARGEST)))
        db.run()
        assert counted(good) == [(1, 3), (2, 1)]
        for ask in (bad.invoke, lambda: list(bad.changes()), lambda: db.sql("INVOKE bad")):
            with pytest.raises(
                errors.QueryFailed, match=r"query 'bad' failed and is suspended: .*ALTER QUERY bad"
            ):
                ask()
        status = db.status()
        assert set(status.failed) == {"bad"}
        assert set(status.queries) == {"good"}
        shown = {row["name"]: row["error"] for row in db.sql("SHOW QUERIES").to_pylist()}
        assert shown["good"] is None
        assert shown["bad"] == status.failed["bad"]
        # It stays so over epochs and restarts.
        db.push("s", rows((5, 2, 1)))
        db.run()
        assert counted(good) == [(1, 3), (2, 2)]
    with local(tmp_path / "db") as db:
        assert set(db.status().failed) == {"bad"}
        db.sql("DROP QUERY bad")
        db.push("s", rows((6, 2, 1)))
        db.run()
        assert (counted(db.query("good")), db.status().failed) == ([(1, 3), (2, 3)], {})


def test_a_resumed_query_begins_anew_over_what_its_stream_keeps(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        bad = db.register(SUM.replace("1 HOUR", "1 MINUTE"), name="bad")
        db.push("s", rows((1, 1, LARGEST), (2, 1, LARGEST)))
        db.run()
        with pytest.raises(errors.CatalogError, match="query 'other' is not suspended"):
            db.register(COUNT, name="other").resume()
        # The rows that it cannot add up have left its window by now.
        db.push("s", rows((100, 1, 7), (110, 2, 8)))
        db.run()
        bad.resume()
        assert counted(bad) == [(1, 7), (2, 8)], "the history answers it at once"
        db.push("s", rows((111, 2, 1)))
        db.run()
        assert counted(bad) == [(1, 7), (2, 9)]
        changes = list(bad.changes())
        assert (len(changes), changes[0].is_whole) == (2, True)


def test_of_queries_that_share_a_plan_only_the_one_that_fails_is_suspended(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(f"{STREAM}; SET share_from = 1")
        shared = "SELECT sum(v) AS total FROM s [RANGE 1 HOUR SLIDE 1 SECOND] WHERE k = {}"
        queries = [db.register(shared.format(k), name=f"of_{k}") for k in range(4)]
        db.push("s", rows((1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4)))
        db.run()
        assert [counted(query) for query in queries] == [[(1,)], [(2,)], [(3,)], [(4,)]]
        db.push("s", rows((5, 2, LARGEST), (6, 2, LARGEST), (7, 1, 40)))
        db.run()
        db.push("s", rows((8, 0, 10)))
        db.run()
        assert set(db.status().failed) == {"of_2"}
        assert [counted(query) for query in queries if query.name != "of_2"] == [[(11,)], [(42,)], [(4,)]]


def test_a_query_whose_state_is_damaged_is_suspended_and_the_others_go_on(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        bad, good = db.register(SUM, name="bad"), db.register(COUNT, name="good")
        db.push("s", rows((1, 1, 5), (2, 2, 6)))
        db.run()
        for entry in segments_in(tmp_path / "db", 1, for_readers=False):
            overwrite(tmp_path / "db" / "states" / entry.object, entry.offset, entry.bytes)
        db.push("s", rows((3, 1, 7)))
        db.run()
        assert counted(good) == [(1, 2), (2, 1)]
        assert "segment" in db.status().failed["bad"]
        bad.resume()
        db.push("s", rows((4, 1, 1)))
        db.run()
        assert counted(bad) == [(1, 13), (2, 6)]


def test_a_damaged_file_of_the_history_stops_only_the_query_that_begins_with_it(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(STREAM)
        good = db.register(COUNT, name="good")
        db.push("s", rows((1, 1, 5), (2, 2, 6)))
        db.run()
        (kept,) = (tmp_path / "db" / "history").rglob("*.parquet")
        kept.write_bytes(kept.read_bytes()[:-20])
        db.register(SUM, name="later")
        db.push("s", rows((3, 1, 7)))
        db.run()
        assert counted(good) == [(1, 2), (2, 1)]
        assert kept.name in db.status().failed["later"]


@pytest.mark.parametrize("answers", ["auto", "lazy", "none"])
def test_queries_that_fail_when_they_are_read_are_suspended_as_the_others_are(tmp_path, answers):
    factors = (1, 2, 3, 6)
    with local(tmp_path / "db") as db:
        db.sql(f"{STREAM}; SET share_from = 2")
        for factor in factors:
            text = f"SELECT v * {factor} AS y FROM s [RANGE 1 MINUTE]"
            db.sql(f"CREATE QUERY times_{factor} WITH (answers = '{answers}') AS {text}")
        db.push("s", rows((1, 1, 5)))
        db.run()
        db.push("s", rows((2, 1, LARGEST // 3)))
        db.run()
        for factor in (1, 2, 3):
            assert counted(db.query(f"times_{factor}")) == [(5 * factor,), (LARGEST // 3 * factor,)]
        for _ in range(2):
            with pytest.raises(errors.QueryFailed, match=r"'times_6' failed and is suspended: .*[Oo]verflow"):
                db.query("times_6").invoke()
        assert set(db.status().failed) == {"times_6"}
        db.push("s", rows((100, 1, 7)))
        db.run()
        assert counted(db.query("times_2")) == [(14,)]
        assert set(db.status().failed) == {"times_6"}
        db.query("times_6").resume()
        db.push("s", rows((101, 1, 8)))
        db.run()
        assert counted(db.query("times_6")) == [(42,), (48,)]
        assert not db.status().failed
