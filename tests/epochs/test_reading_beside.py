"""A connection that only reads, beside the one that runs the epochs: in this process and in another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import panes
from panes import errors
from tests.faults.standing import EPOCHS, QUERIES, add_file, answers, changes, multiset, prepare, write_files

ROOT = Path(__file__).parent.parent.parent
SELECT = "SELECT k, x FROM s [RANGE 20 SECONDS] WHERE x <> 3"

PROGRAM = """
import json, sys
import panes
with panes.connect(sys.argv[1], read_only=True) as db:
    rows = {query.name: sorted(map(str, query.invoke().to_pylist())) for query in db.queries()}
    once = sorted(map(str, db.sql(sys.argv[2]).to_pylist()))
    print(json.dumps([rows, once, db.status().epoch, db.status().is_running]))
"""

CHANGES = {
    "a stream": lambda db: db.sql("CREATE STREAM t (a BIGINT)"),
    "a query": lambda db: db.register(SELECT, name="another"),
    "a setting": lambda db: db.sql("SET shards = 3"),
    "a drop": lambda db: db.query("selected").drop(),
    "a push": lambda db: db.push("s", {"ts": 1, "k": 1, "x": 1}),
    "a run": lambda db: db.run(),
    "a start": lambda db: db.start(),
    "a stop": lambda db: db.stop(),
}


def files_of(database: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(database)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted(database.rglob("*"))
    }


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "in"
    path.mkdir()
    write_files(path)
    return path


def test_a_reader_sees_what_the_writer_has_committed_and_writes_nothing(tmp_path, folder):
    with prepare(tmp_path / "db", folder) as db:
        db.run()
        expected, all_changes = answers(db), changes(db)
        status = db.status()
    before = files_of(tmp_path / "db")
    with panes.connect(tmp_path / "db", read_only=True) as reader:
        assert answers(reader) == expected
        assert multiset(reader.sql(SELECT).table) == expected["selected"]
        assert multiset(reader.sql("INVOKE last").table) == expected["last"]
        assert changes(reader) == all_changes
        # A reader's place is kept for as long as it is connected.
        assert [change for name in QUERIES for change in reader.query(name).changes()] == []
        assert "WEAKEST" in reader.sql("EXPLAIN selected")
        assert reader.sql("SHOW QUERIES").num_rows == len(QUERIES)
        assert (reader.status().epoch, reader.status().rows) == (status.epoch, status.rows)
        assert reader.late_rows("s").num_rows == reader.bad_rows("s").num_rows == 0
        for change in CHANGES.values():
            with pytest.raises(errors.ReadOnly, match="was opened with read_only=True; connect without it"):
                change(reader)
        assert not reader.status().is_running
    assert files_of(tmp_path / "db") == before


def test_a_reader_follows_new_epochs_queries_and_drops(tmp_path, folder):
    with (
        prepare(tmp_path / "db", folder) as db,
        panes.connect(tmp_path / "db", read_only=True) as reader,
    ):
        assert reader.status().epoch == -1
        assert len(reader.query("selected").invoke()) == 0
        db.run()
        assert reader.status().is_running
        assert answers(reader) == answers(db)
        add_file(folder, EPOCHS, [{"ts": 45, "k": 1, "x": 9}])
        db.register("SELECT k FROM s [RANGE 20 SECONDS] WHERE k = 1", name="ones")
        read = changes(reader)
        db.run()
        assert answers(reader) == answers(db)
        assert "ones" in answers(reader)
        later, everything = changes(reader), changes(db)
        assert {name: read.get(name, []) + later[name] for name in later} == everything
        db.query("ones").drop()
        with pytest.raises(errors.CatalogError, match="no query named 'ones'"):
            reader.query("ones").invoke()
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PROGRAM, db.path, SELECT]
        ran = subprocess.run(command, env=environment, capture_output=True, timeout=300)
        assert ran.stderr == b""
        rows, once, epoch, is_running = json.loads(ran.stdout)
        assert rows == {q.name: sorted(map(str, q.invoke().to_pylist())) for q in db.queries()}
        assert once == rows["selected"]
        assert (epoch, is_running) == (db.status().epoch, True)


def test_answers_are_never_mixed_while_the_writer_removes_old_epochs(tmp_path, folder):
    seen, read, failed = {}, [], []
    is_over = threading.Event()
    with (
        prepare(tmp_path / "db", folder) as db,
        panes.connect(tmp_path / "db", read_only=True) as reader,
    ):
        db.sql("SET retain_epochs = 1")

        def look(ask):
            try:
                while not is_over.is_set():
                    answer = ask()
                    read.append((answer.as_of, multiset(answer.table)))
            except BaseException as error:
                failed.append(error)

        asking = [
            threading.Thread(target=look, args=[ask])
            for ask in (reader.query("selected").invoke, lambda: reader.sql(SELECT))
        ]
        for thread in asking:
            thread.start()
        try:
            db.run(
                on_epoch=lambda _: seen.update(
                    {(a := db.query("selected").invoke()).as_of: multiset(a.table)}
                )
            )
        finally:
            is_over.set()
            for thread in asking:
                thread.join()
        seen[db.query("selected").invoke().as_of] = multiset(db.query("selected").invoke().table)
    assert failed == []
    assert [answer for answer in read if answer[0] is not None and seen.get(answer[0]) != answer[1]] == []
    assert len({as_of for as_of, _ in read}) > 2
