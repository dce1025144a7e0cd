"""A query that cannot be computed fails in the same way however it is read, and alone."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime

import pytest

from panes import errors
from panes.testing import local

LARGEST = 2**63 - 1
STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS"


@pytest.mark.parametrize("mode", ["eager", "lazy", "none"])
def test_every_way_to_read_a_failing_query_raises_the_same(tmp_path, mode):
    with local(tmp_path / "db") as db:
        db.sql(f"{STREAM}; SET share_from = 1")
        made = f"CREATE QUERY bad WITH (answers = '{mode}') AS SELECT k, v * 2 AS x FROM s [RANGE 1 HOUR]"
        db.sql(made)
        db.push("s", [(1, 1, 5), (2, 1, LARGEST)])
        with warnings.catch_warnings(action="ignore"):  # that it is suspended, where an epoch finds that
            db.run()
        bad = db.query("bad")
        with pytest.raises(errors.QueryFailed) as first:
            bad.invoke()
        for ask in (
            lambda: db.sql("INVOKE bad"),
            lambda: db.sql("INVOKE bad WHERE k = 1"),
            lambda: bad.invoke(as_of=datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)),
            lambda: list(bad.changes()),
        ):
            with pytest.raises(errors.QueryFailed) as other:
                ask()
            assert str(other.value) == str(first.value)
        assert set(db.status().failed) == {"bad"}
    with local(tmp_path / "db", read_only=True) as db, pytest.raises(errors.QueryFailed):
        db.query("bad").invoke()


def test_of_a_shared_group_only_those_that_fail_are_suspended():
    with local() as db:
        db.sql(f"{STREAM}; SET share_from = 1")
        texts = {"twice": "v * 2", "thrice": "v * 3", "plain": "v", "other": "k * 2"}
        for name, text in texts.items():
            db.sql(
                f"CREATE QUERY {name} AS SELECT k, {text} AS x FROM s [RANGE 1 HOUR] WHERE k < {len(name)}"
            )
        db.push("s", [(1, 1, 5), (2, 1, LARGEST)])
        with warnings.catch_warnings(action="ignore"):
            db.run()
        for name in ("twice", "thrice"):
            with pytest.raises(errors.QueryFailed):
                db.query(name).invoke()
        assert [len(db.query(name).invoke()) for name in ("plain", "other")] == [2, 2]
        assert set(db.status().failed) == {"twice", "thrice"}


def test_a_slide_over_a_derived_stream_is_the_instant_everywhere():
    with local() as db:
        db.sql(STREAM)
        db.sql("CREATE STREAM gone AS SELECT Dstream(k) FROM s [RANGE 1 MINUTE]")
        q = db.register("SELECT count(*) AS n FROM gone [RANGE 1 MINUTE SLIDE 10 SECONDS]", name="q")
        db.push("s", [(1, 1, 1), (5, 2, 1), (127, 3, 1)])
        db.run()
        slide = datetime(1970, 1, 1, 0, 2, 0, tzinfo=UTC)
        answer = q.invoke()
        assert answer.as_of == slide
        assert q.invoke(as_of=slide).to_pylist() == answer.to_pylist()
        assert list(q.changes())[-1].as_of <= slide


@pytest.mark.parametrize("mode", ["eager", "lazy", "auto"])
@pytest.mark.parametrize("first", ["changes", "where", "as_of"])
def test_whichever_read_meets_the_failure_first_the_query_is_suspended_or_the_error_is_ours(mode, first):
    with local() as db:
        db.sql(f"{STREAM}; SET share_from = 1")
        db.sql(f"CREATE QUERY bad WITH (answers = '{mode}') AS SELECT k, v * 2 AS x FROM s [RANGE 1 HOUR]")
        db.push("s", [(1, 1, 5), (2, 1, LARGEST)])
        with warnings.catch_warnings(action="ignore"):
            db.run()
        bad = db.query("bad")
        ask = {
            "changes": lambda: list(bad.changes()),
            "where": lambda: bad.invoke(where="k = 1"),
            "as_of": lambda: bad.invoke(as_of=datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)),
        }[first]
        # An earlier instant tells nothing of the answer of now.
        with pytest.raises(errors.QueryFailed if first != "as_of" else errors.PanesError):
            ask()
        with pytest.raises(errors.QueryFailed):
            bad.invoke()
        assert set(db.status().failed) == {"bad"}
