from __future__ import annotations

import fcntl
import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from panes.catalog import Catalog
from panes.cli.main import app
from panes.cli.status import print_status
from panes.clock import HandClock, to_microseconds
from panes.database import Database
from panes.language import parse
from panes.plan.box_schedule import BoxSchedule
from panes.query_settings import QuerySettings
from panes.state.storage.epoch_log import EpochLog, EpochRecord, MissingRows, QueryProgress, StreamProgress
from tests.cli.conftest import NOON

NOON_US = to_microseconds(NOON)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A directory as a run leaves it, after two epochs of which the second had a stream with bad rows."""
    catalog = Catalog(tmp_path / "catalog.sqlite")
    (stream,) = parse("CREATE STREAM s (x INT)")
    catalog.create(stream)
    query = catalog.register("busy", "SELECT x FROM s [NOW]", 2, QuerySettings())
    broken = catalog.register("broken", "SELECT x FROM s [NOW]", 2, QuerySettings())
    catalog.suspend(broken.id, "a sum is too large")
    log = EpochLog(tmp_path / "epochs", catalog.database)
    catalog.close()
    for epoch in range(2):
        log.commit(
            EpochRecord(
                epoch=epoch,
                batch=epoch,
                rows=500,
                seconds=0.75,
                finished_us=NOON_US + epoch * 500_000,
                phases={"tasks": 0.5, "commit": 0.25},
                streams={
                    1: StreamProgress(
                        rows=500 * (epoch + 1), max_ts=NOON_US, late=3, bad=epoch, clock=NOON_US, bad_files=2
                    )
                },
                queries={
                    query.id: QueryProgress(shards=2, changes=40, bytes=12_345, segments=6, clock=NOON_US)
                },
                missing={query.id: {1: MissingRows(NOON_US, rows=0, brought=0)}},
                boxes={query.id: {1: BoxSchedule(((NOON_US, 0.25),))}},
                shed={query.id: {1: 375 * epoch}},
            )
        )
    return tmp_path


def test_status_tells_rows_rate_phases_streams_and_queries(database):
    result = CliRunner().invoke(app, ["status", str(database)])
    assert result.exit_code == 0
    lines = [line.split() for line in result.output.splitlines()]
    assert (
        "Epoch 1, not in use: 1,000 rows, 1,000 rows/s, clock 2026-01-01 12:00:00 UTC, 12.3 kB of state "
        "in 6 segments, 3 late and 1 bad rows." in result.output
    )
    assert "The last epoch took 0.75 s: tasks 0.50 s, commit 0.25 s." in result.output
    noon = ["2026-01-01", "12:00:00", "UTC"]
    assert ["s", "1000", "3", "1", "2", *noon, *noon] in lines
    assert ["busy", *noon, "2", "6", "12.3", "kB", "40"] in lines
    assert ["busy", "25", "%", "of", "s", "375"] in lines
    assert ["broken", "a", "sum", "is", "too", "large"] in lines
    assert ["busy", "2026-01-01", "12:00:00.000001", "UTC"] in lines  # its window may lack tuples up to noon


def test_a_database_that_another_process_runs_can_be_looked_at(database):
    with (database / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Database(database, clock=HandClock(NOON_US + 2_500_000), read_only=True) as db:
            found = db.status()
    assert (found.is_running, found.lag_seconds) == (True, 2.5)
    out = io.StringIO()
    print_status(Console(file=out, width=400), found)
    assert "in use: 1,000 rows" in out.getvalue()
    assert "(2.5 s behind)" in out.getvalue()


def test_status_before_the_first_epoch(tmp_path):
    Catalog(tmp_path / "catalog.sqlite").close()
    assert CliRunner().invoke(app, ["status", str(tmp_path)]).output == "No epoch yet; not in use.\n"


def test_a_directory_without_a_database_is_an_error(tmp_path):
    result = CliRunner().invoke(app, ["status", str(tmp_path)])
    assert result.exit_code == 1
    assert f"there is no database in {tmp_path}" in result.output
    assert list(tmp_path.iterdir()) == []
