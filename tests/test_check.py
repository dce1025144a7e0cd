"""`panes check` finds what is damaged, and says what can still be answered."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import panes
from panes.catalog import Catalog
from panes.check import check_database
from panes.cli.main import app
from panes.errors import CatalogError, StateError
from panes.history.history_store import History, write_part
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import NOTHING, EpochLog
from panes.state.storage.epoch_states import StagePlace
from panes.state.storage.manifest import ANSWER, CHANGES
from tests.kept_states import KeptStates, overwrite, segments_in

EPOCHS = 3


def test_the_files_of_tables_are_verified(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with panes.connect(path) as db:
        db.sql("CREATE TABLE hosts (src BIGINT PRIMARY KEY, owner STRING)")
        tables = db._connection.tables
        change = pa.table({"src": [1], "owner": ["a"], "_weight": [1]})
        tables.accept({"hosts": change})
        taken = tables.take(NOTHING)
        assert taken is not None
        applied = tables.version_log.write(0, "w", NOTHING, taken, db._catalog.tables(), {})
        db._catalog.marks.begin_epoch(0)
        record = replace(NOTHING, epoch=0, pins={"tables": str(applied.manifest.head)})
        db._log.commit(record)
        tables.committed(record)
        tables.accept({"hosts": change})
    assert check_database(path).problems == []
    (accepted,) = (path / "tables" / "accepted").iterdir()
    (versions,) = (path / "tables" / "000001").iterdir()
    overwrite(accepted, 20, 4)
    overwrite(versions, 20, 4)
    found = check_database(path)
    assert [accepted.name in problem or versions.name in problem for problem in found.problems] == [
        True,
        True,
    ]
    assert found.tables == {"hosts": ["1 changes of epochs 0 to 0"]}
    said = CliRunner().invoke(app, ["check", str(path)]).output
    assert "table hosts: not 1 changes of epochs 0 to 0" in said


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database as three epochs leave it: a query with an answer, one over the history, and a stream."""
    path = tmp_path / "db"
    with panes.connect(path) as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR")
        db.register("SELECT k FROM s [RANGE 1 MINUTE]", name="standing")
        query = "SELECT count(*) FROM s BEGIN (NOW - INTERVAL 9 SECONDS) END (NOW)"
        db.sql(f"CREATE QUERY asked WITH (answers = 'none') AS {query}")
    with closing(Catalog(path / "catalog.sqlite")) as catalog:
        log = EpochLog(path / "epochs", catalog.database)
        history = History(path / "history", log)
        states = KeptStates(path / "states", StagePlace(1, 0, 0, True))
        (stream,) = catalog.base_streams()
        pins: dict[str, str] = {}
        for epoch in range(EPOCHS):
            catalog.marks.begin_epoch(epoch)
            ts = (epoch + 1) * 1_000_000
            rows = pa.table({"ts": [epoch + 1], "k": [epoch], "_ts": [ts]})
            name = write_part(history.folder, stream.number, epoch, 0, rows)
            pins |= history.note(stream, epoch, [name], rows=1, max_ts=ts)
            chunk = Chunk.of(pa.table({"k": [epoch], "_ts": [ts], "_exp": [ts + 60_000_000]}))
            kept = states.save(epoch, {ANSWER: [chunk], CHANGES: [chunk]})
            log.commit(replace(NOTHING, epoch=epoch, pins=dict(pins), **kept))
    return path


def test_a_whole_database_has_no_problems(database):
    found = check_database(database)
    assert (found.epoch, found.problems, found.queries) == (2, [], {"standing": None, "asked": None})
    result = CliRunner().invoke(app, ["check", str(database)])
    assert (result.exit_code, "nothing is damaged" in result.output) == (0, True)


def test_a_database_is_checked_while_a_connection_holds_it(database):
    with panes.connect(database):
        assert check_database(database).problems == []


def test_a_damaged_answer_concerns_its_query_alone(database):
    segment, _ = segments_in(database, 1, for_readers=True)
    path = database / "states" / segment.object
    overwrite(path, segment.offset, segment.bytes)
    found = check_database(database)
    assert [str(path) in problem for problem in found.problems] == [True]
    assert found.refusals == []
    assert found.queries["asked"] is None
    assert "nothing" in str(found.queries["standing"])


def test_a_damaged_answer_of_an_earlier_epoch_leaves_the_last_one(database):
    next((database / "states" / "0000000001").glob("*-answers.arrow")).unlink()
    assert check_database(database).queries["standing"] == "not its answers and changes of epochs 1"


def test_damaged_history_is_told_with_its_times(database):
    (database / "history" / "000001" / "part-0000000001-00000.parquet").write_bytes(b"x")
    found = check_database(database)
    assert found.streams == {"s": ["1 rows from 1970-01-01T00:00:02+00:00 to 1970-01-01T00:00:02+00:00"]}
    assert found.queries == {"standing": None, "asked": "nothing that needs the damaged rows of its streams"}
    result = CliRunner().invoke(app, ["check", str(database)])
    assert result.exit_code == 1
    assert "stream s: not 1 rows from 1970-01-01T00:00:02+00:00" in result.output
    assert "query standing: everything" in result.output


def test_what_keeps_the_database_from_being_opened_is_told(database):
    for epoch in (1, 2):
        next((database / "epochs").glob(f"epoch-{epoch:010d}-*.json")).unlink()
    found = check_database(database)
    with pytest.raises(StateError) as refused:
        panes.connect(database)
    assert found.refusals == [str(refused.value)]
    assert set(found.queries.values()) == {"nothing: the database is not opened as it is"}


def test_lost_readers_are_forgotten_when_that_is_asked_for(database):
    (database / "readers.sqlite").unlink()
    assert "forget-readers" in check_database(database).problems[0]
    assert CliRunner().invoke(app, ["check", "--forget-readers", str(database)]).exit_code == 0
    panes.connect(database).close()


def test_a_folder_without_a_database_is_an_error(tmp_path, database):
    with pytest.raises(CatalogError, match="there is no database"):
        check_database(tmp_path / "nowhere")
    shutil.move(database / "catalog.sqlite", tmp_path / "catalog.sqlite")
    with pytest.raises(StateError, match=r"catalog\.sqlite is missing"):
        check_database(database)
