"""A connection to a database with a home elsewhere: the folder can be lost, and is never trusted over the home."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import panes
from panes.answers.forget_readers import forget_readers
from panes.check import check_database
from panes.errors import DriverReplaced, StateError
from panes.state.storage.epoch_log import NOTHING

PUSHED = "CREATE STREAM p (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS"
QUERY = "SELECT count(*) AS n FROM p [RANGE 1 MINUTE]"


@pytest.fixture(params=["", "file://"])
def state(request, tmp_path) -> str:
    return f"{request.param}{tmp_path}/home"


def streams(db: panes.Database) -> list[str]:
    return db.sql("SHOW STREAMS").column("name").to_pylist()


def test_a_temporary_database_leaves_its_home(state, tmp_path):
    with panes.connect(state=state) as db:
        db.sql(PUSHED)
        folder = db.path
    assert not folder.exists()
    with panes.connect(state=state) as db:
        assert streams(db) == ["p"]
    with panes.connect(tmp_path / "db", state=state) as db:
        assert streams(db) == ["p"]


def test_statements_are_there_for_whoever_comes_with_an_empty_folder(state, tmp_path):
    with panes.connect(tmp_path / "one", state=state) as db:
        db.sql(f"{PUSHED}; SET shards = 3; SET heartbeat = 9")
        db.register(QUERY, name="counted")
        db.register(QUERY, name="dropped")
        db.sql("DROP QUERY dropped")
    shutil.rmtree(tmp_path / "one")
    with panes.connect(tmp_path / "two", state=state) as db:
        assert streams(db) == ["p"]
        assert [query.name for query in db.queries()] == ["counted"]
        settings = {row["name"]: row["value"] for row in db.sql("SHOW SETTINGS").to_pylist()}
        assert (settings["shards"], settings["heartbeat"]) == ("3", "9")


def test_a_killed_driver_has_lost_nothing_that_it_was_told(state, tmp_path):
    db = panes.connect(tmp_path / "one", state=state)
    db.sql(PUSHED)
    db.push("p", [(1, 1), (2, 2)])
    with panes.connect(tmp_path / "two", state=state) as other:  # while the first one is still there
        assert streams(other) == ["p"]
        assert len(list((tmp_path / "two" / "pushed" / "000001").iterdir())) == 1
        with pytest.raises(DriverReplaced, match="another driver has taken over"):
            db.sql("SET shards = 3")
        with pytest.raises(DriverReplaced):
            db.push("p", [(3, 3)])
        assert len(list((tmp_path / "home" / "pushed" / "000001").iterdir())) == 1
    db.close()


def test_a_folder_that_is_older_is_made_again(state, tmp_path):
    with panes.connect(tmp_path / "one", state=state) as db:
        db.sql(PUSHED)
        old = db.push("p", [(1, 1)])
    with panes.connect(tmp_path / "two", state=state) as db:
        db.sql("DROP STREAM p; CREATE STREAM q (k BIGINT)")
        db.push("q", [(2,)])
    with panes.connect(tmp_path / "one") as db:
        assert streams(db) == ["q"]
        assert [path.parent.name for path in (tmp_path / "one" / "pushed").glob("*/*")] == ["000002"]
    assert old == 1


def test_what_the_folder_has_is_not_needed(state, tmp_path):
    with panes.connect(tmp_path / "db", state=state) as db:
        db.sql(PUSHED)
    for path in (tmp_path / "db").iterdir():
        if path.name != "state.json":
            path.unlink() if path.is_file() else shutil.rmtree(path)
    with panes.connect(tmp_path / "db") as db:
        assert streams(db) == ["p"]
    (tmp_path / "db" / "catalog.sqlite").write_bytes(b"damaged")
    with panes.connect(tmp_path / "db") as db:
        assert streams(db) == ["p"]


def test_a_folder_of_another_database_is_refused(state, tmp_path):
    panes.connect(tmp_path / "own").close()
    with pytest.raises(StateError, match="own already keeps its states itself"):
        panes.connect(tmp_path / "own", state=state)
    panes.connect(tmp_path / "db", state=state).close()
    shutil.rmtree(tmp_path / "home")
    panes.connect(tmp_path / "other", state=state).close()
    with pytest.raises(StateError, match=r"holds another database than the one that \S+/db was working for"):
        panes.connect(tmp_path / "db")


def test_a_home_that_is_the_folder_is_no_home_elsewhere(tmp_path):
    with panes.connect(tmp_path / "db", state=tmp_path / "db") as db:
        db.sql(PUSHED)
        assert not (Path(db.path) / "state.json").exists()
        assert not (Path(db.path) / "catalog").exists()
    with panes.connect(tmp_path / "db") as db:
        assert streams(db) == ["p"]


def test_a_home_that_has_lost_what_readers_have_read_is_refused(state, tmp_path):
    panes.connect(tmp_path / "db", state=state).close()
    shutil.rmtree(tmp_path / "home" / "readers")
    for folder in ("db", "other"):
        with pytest.raises(StateError, match="readers is missing or empty: it said how far each reader"):
            panes.connect(tmp_path / folder, state=state)
    forget_readers(tmp_path / "db")
    panes.connect(tmp_path / "other", state=state).close()


def test_a_home_that_has_lost_its_catalog_is_refused(state, tmp_path):
    with panes.connect(tmp_path / "db", state=state) as db:
        log = db._log
        log.commit(replace(NOTHING, epoch=0))
    shutil.rmtree(tmp_path / "home" / "catalog")
    with pytest.raises(StateError, match="catalog is missing: the database is damaged"):
        panes.connect(tmp_path / "db")


def test_a_database_with_a_home_elsewhere_is_checked(state, tmp_path):
    with panes.connect(tmp_path / "db", state=state) as db:
        db.sql(PUSHED)
    found = check_database(tmp_path / "db")
    assert (found.problems, found.refusals) == ([], [])
    (tmp_path / "home" / "database.json").unlink()
    assert "database.json is missing" in check_database(tmp_path / "db").refusals[0]


def test_readers_beside_it_see_the_home(state, tmp_path):
    with panes.connect(tmp_path / "db", state=state) as db:
        db.sql(PUSHED)
        with panes.connect(tmp_path / "db", read_only=True) as reader:
            assert streams(reader) == ["p"]


@pytest.mark.parametrize("part", ["catalog", "readers", "tables/accepted", "epochs"])
def test_a_connect_that_fails_does_not_end_the_term_of_the_driver_that_runs(state, tmp_path, part):
    with panes.connect(tmp_path / "one", state=state) as db:
        db.sql(PUSHED)
        db.sql("CREATE TABLE t (k BIGINT); INSERT INTO t VALUES (1)")
        db._log.commit(replace(NOTHING, epoch=0))
        paths = [path for path in (tmp_path / "home" / part).rglob("*") if path.is_file()]
        kept = {path: path.read_bytes() for path in paths}
        for path in kept:
            path.write_bytes(b"damaged")
        with pytest.raises(StateError):
            panes.connect(tmp_path / "two", state=state)
        for path, content in kept.items():
            path.write_bytes(content)
        db.push("p", [(1, 1)])
        db.sql("INSERT INTO t VALUES (2)")
    panes.connect(tmp_path / "two", state=state).close()


def test_a_connect_that_fails_in_a_folder_of_its_own_leaves_no_claim(tmp_path):
    panes.connect(tmp_path / "db").close()
    claims = sorted((tmp_path / "db" / "terms").iterdir())
    (tmp_path / "db" / "catalog.sqlite").write_bytes(b"damaged")
    with pytest.raises(StateError):
        panes.connect(tmp_path / "db")
    assert sorted((tmp_path / "db" / "terms").iterdir()) == claims
