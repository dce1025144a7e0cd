"""The façade, as far as it goes without Spark: definitions, refusals, and that a refusal changes nothing."""

import shutil
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes import errors
from panes.answers.cursors import Cursors

PACKETS = (
    "CREATE STREAM packets (ts BIGINT, src BIGINT, proto STRING) TIMESTAMP BY ts MILLISECONDS FROM FILES '{}'"
)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "in"
    path.mkdir()
    table = pa.table({"ts": [1], "src": [2], "proto": ["tcp"], "size": pa.array([1.5])})
    pq.write_table(table, path / "one.parquet")
    return path


@pytest.fixture
def db(tmp_path, folder):
    with panes.connect(tmp_path / "db") as database:
        database.sql(PACKETS.format(folder))
        yield database


def contents(db):
    """All that the catalog holds, and all files of the database but SQLite's own and the term of each opening."""
    shown = [db.sql(f"SHOW {kind}").to_pylist() for kind in ("STREAMS", "QUERIES", "TABLES", "SETTINGS")]
    files = (path for path in db.path.rglob("*") if "sqlite" not in path.name and path.parent.name != "terms")
    return shown, sorted(map(str, files))


REFUSALS = {
    "malformed": ("SELEC src FROM packets [RANGE 1 SECOND]", errors.SqlError, "line 1, column 1"),
    "no window": (
        "CREATE QUERY q AS\nSELECT src, count(*) FROM packets GROUP BY\n", errors.SqlError, "line 2, column"
    ),
    "unknown stream": ("CREATE QUERY q AS SELECT a FROM pakets [NOW]", errors.SqlError, "packets"),
    "unknown column": ("CREATE QUERY q AS SELECT scr FROM packets [NOW]", errors.SqlError, "src"),
    "wrong type": (
        "CREATE QUERY q AS SELECT src FROM packets [NOW]\n  WHERE proto > 3", errors.SqlError, "line 2, column"
    ),
    "missing files": (
        "CREATE STREAM s (a INT) FROM FILES 'nowhere/*.parquet'",
        errors.SourceError, "no file or folder matches 'nowhere/[*].parquet'.*create the folder first",
    ),
    "wrong type in file": (
        "CREATE STREAM s (proto BIGINT) FROM FILES '{folder}'",
        errors.SourceError, "one.parquet: column .proto. is declared BIGINT and stored as string; declare it as",
    ),
    "missing column in file": (
        "CREATE STREAM s (nothing BIGINT) FROM FILES '{folder}'",
        errors.SourceError, "one.parquet has no column 'nothing'; it has ts, src, proto, size",
    ),
    "unknown option": (
        "CREATE STREAM s (ts BIGINT) FROM FILES '{folder}' WITH (fomat = 'csv')",
        errors.SourceError, "has no option 'fomat'; it takes format, files_per_epoch",
    ),
    "wrong option": (
        "CREATE STREAM s (ts BIGINT) FROM FILES '{folder}' WITH (files_per_epoch = 0)",
        errors.SourceError, "files_per_epoch takes a whole number from 1 to 1,000,000, not 0",
    ),
    "no such generated column": (
        "CREATE STREAM s (color STRING) FROM RATE",
        errors.SourceError, "FROM RATE makes no column 'color'; it makes value, timestamp, ts",
    ),
    "kafka without servers": (
        "CREATE STREAM s (a INT) FROM KAFKA 'topic'", errors.SourceError, "needs a topic and its servers",
    ),
    "name taken": (
        "CREATE STREAM packets AS SELECT src FROM packets", errors.CatalogError, "drop it first or choose another"
    ),
    "unknown query": ("INVOKE talkers", errors.CatalogError, "no query named 'talkers'; there are none yet"),
    "unknown drop": ("DROP STREAM s", errors.CatalogError, "no stream named 's'; there are packets"),
    "unknown setting": ("SET shard = 3", errors.SettingError, "no setting named 'shard'; there are strategy"),
    "wrong setting": ("SET strategy = 'fast'", errors.SettingError, "takes 'upa', 'nt' or 'direct', not 'fast'"),
    "stream asked once": ("SELECT Istream(src) FROM packets [NOW]", errors.SqlError, "register it, to follow it"),
    "no such table": ("INSERT INTO hots VALUES (1)", errors.SqlError, "there is no table or stream named 'hots'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_says_what_and_where_and_changes_nothing(db, folder, case):
    sql, kind, message = REFUSALS[case]
    before = contents(db)
    with pytest.raises(kind, match=message) as caught:
        db.sql(sql.format(folder=folder))
    assert isinstance(caught.value, errors.PanesError)
    assert contents(db) == before


def test_an_error_of_a_statement_points_at_its_place(db):
    with pytest.raises(errors.SqlError) as caught:
        db.sql("CREATE QUERY q AS\n  SELECT scr FROM packets [RANGE 1 MINUTE]")
    assert (caught.value.line, caught.value.column) == (2, 10)
    assert str(caught.value).splitlines()[1:3] == [
        "    SELECT scr FROM packets [RANGE 1 MINUTE]",
        "           ^",
    ]


def test_parameters_are_constants_of_a_registered_query(db):
    query = db.register(
        "SELECT src FROM packets [RANGE ?] WHERE proto = ?", parameters=[timedelta(seconds=5), "it's"]
    )
    assert (
        db.sql("SHOW QUERIES").to_pylist()[0]["sql"]
        == "SELECT src FROM packets [RANGE 5 SECONDS] WHERE proto = 'it''s'"
    )
    assert query.invoke().to_pylist() == []


def test_parameters_of_statements_that_change_a_table(db):
    db.sql("CREATE TABLE t (a INT, b STRING)")
    db.sql("INSERT INTO t VALUES (?, ?), (1 + 1, NULL)", [1, "x"])
    db.sql("UPDATE t SET b = :b WHERE a = :a", {"a": 2, "b": "y"})
    assert db.sql("SELECT b FROM t WHERE a = ?", [2]).to_pylist() == [{"b": "y"}]


def test_a_directory_is_held_by_one_connection(db):
    with pytest.raises(
        errors.DatabaseInUse,
        match=r"close that one, connect .*, or connect with read_only=True",
    ):
        panes.connect(db.path)
    assert db.sql("SHOW STREAMS").num_rows == 1
    db.close()
    with panes.connect(db.path) as again:
        assert again.sql("SHOW STREAMS").num_rows == 1


def test_a_place_that_cannot_hold_a_database_is_refused():
    with pytest.raises(
        errors.StateError, match=r"/proc/self/nowhere cannot hold a database: .*; choose a folder"
    ):
        panes.connect("/proc/self/nowhere")


def fill_disk_of(file):
    """Lets SQLite have no more room for a file than it has now."""
    ((pages,),) = file.select("PRAGMA page_count")
    file.select(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_leaves_the_catalog_as_it_was(db):
    before = contents(db)
    fill_disk_of(db._catalog._file)
    long = "'" + "x" * 20_000 + "'"
    for change in (
        lambda: db.register(f"SELECT src FROM packets [NOW] WHERE proto = {long}"),
        lambda: db.sql(f"CREATE STREAM other AS SELECT src FROM packets WHERE proto = {long}"),
    ):
        with pytest.raises(
            errors.StateError, match=r"catalog\.sqlite cannot be used: .*full; nothing is lost"
        ):
            change()
        assert contents(db) == before
    db._catalog._file.select("PRAGMA max_page_count = 1000000")
    db.register(f"SELECT src FROM packets [NOW] WHERE proto = {long}")
    assert len(db.queries()) == 1


def test_a_full_disk_leaves_the_places_of_readers_as_they_were(tmp_path):
    cursors = Cursors(tmp_path / "readers.sqlite")
    cursors.move(1, "phone", 3)
    fill_disk_of(cursors._file)
    with pytest.raises(errors.StateError, match=r"readers\.sqlite cannot be used: .*full"):
        cursors.move(1, "x" * 20_000, 4)
    assert cursors.of_query(1) == {"phone": 3}
    cursors.close()


def test_a_closed_database_says_so(db):
    db.close()
    db.close()
    with pytest.raises(errors.DatabaseClosed, match="connect to it again"):
        db.sql("SHOW STREAMS")


def test_a_removed_directory_is_an_error_and_is_not_made_again(db):
    query = db.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")
    db.sql("CREATE STREAM pushed (k BIGINT)")
    shutil.rmtree(db.path)
    for use in (
        lambda: db.push("pushed", {"k": 1}),
        db.run,
        db.start,
        db.status,
        db.queries,
        query.invoke,
        query.explain,
        query.changes,
        query.drop,
        lambda: db.sql("SHOW STREAMS"),
        lambda: db.sql("CREATE STREAM more (k BIGINT)"),
        lambda: db.register("SELECT src FROM packets [NOW]"),
        lambda: db.bad_rows("pushed"),
    ):
        with pytest.raises(errors.StateError, match=f"the directory {db.path} is gone.*connect again"):
            use()
    assert not db.path.exists()
    db.stop()
    db.close()


def test_a_directory_that_was_replaced_is_not_the_one_that_was_opened(db):
    shutil.rmtree(db.path)
    with panes.connect(db.path) as other:
        other.sql("CREATE STREAM pushed (k BIGINT)")
        with pytest.raises(errors.StateError, match="removed or replaced while this connection was open"):
            db.push("pushed", {"k": 1})
        db.close()
        assert other.sql("SHOW STREAMS").num_rows == 1


def test_a_temporary_database_is_removed_when_it_is_closed():
    db = panes.connect()
    assert db.path.is_dir()
    db.close()
    assert not db.path.exists()


def test_what_is_defined_is_still_there_after_reopening(db):
    db.sql("CREATE STREAM tcp AS SELECT src FROM packets WHERE proto = 'tcp'; SET shards = 3")
    db.register("SELECT src FROM tcp [RANGE 1 MINUTE]", name="sources")
    before = contents(db)
    db.close()
    with panes.connect(db.path) as again:
        assert contents(again) == before
        assert again.queries()[0].name == "sources"
        assert "WEAKEST" in again.query("sources").explain()


def test_status_before_the_first_epoch(db):
    status = db.status()
    assert (status.epoch, status.clock, status.rows, status.is_running) == (-1, None, 0, False)
