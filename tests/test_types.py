"""The types of the public names, as mypy sees them in a program that uses the installed package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PROGRAM = """
from collections.abc import AsyncGenerator, Iterator, Mapping
from datetime import datetime
from typing import Any, assert_type

import panes
from panes import Answer, Change, Database, Epoch, Query, Status, errors


def told(epoch: Epoch) -> None:
    assert_type(epoch.number, int)
    assert_type(epoch.clock, datetime | None)
    assert_type(epoch.seconds, float)


def use(path: str) -> None:
    with panes.connect(path, state=None) as db:
        assert_type(db, Database)
        db.sql("CREATE STREAM s (ts BIGINT)")
        query = db.register("SELECT ts FROM s [NOW]", name="q")
        assert_type(query, Query)
        assert_type(db.query("q"), panes.Query)
        assert_type(db.queries(), list[Query])
        assert_type(db.push("s", [{"ts": 1}]), int)
        db.run(on_epoch=told, progress=False)
        db.start(on_epoch=lambda epoch: print(epoch.rows))
        db.stop()
        answer = query.invoke(as_of="2026-01-05T10:00:00")
        assert_type(answer, Answer)
        assert_type(answer.as_of, datetime | None)
        assert_type(answer.to_pylist(), list[dict[str, Any]])
        assert_type(len(answer), int)
        assert_type(query.changes(reader="phone", timeout=None), Iterator[Change])
        for change in query.changes(timeout=2.5):
            assert_type(change, panes.Change)
            assert_type(change.epoch, int)
            assert_type(change.as_of, datetime)
            assert_type(change.is_whole, bool)
        assert_type(query.changes_async(), AsyncGenerator[Change, None])
        assert_type(query.readers(), Mapping[str, int])
        assert_type(query.explain(), str)
        status = db.status()
        assert_type(status, Status)
        assert_type(status.clock, datetime | None)
        assert_type(status.phases, Mapping[str, float])
        assert_type(status.streams["s"].late, int)
    try:
        panes.connect(path)
    except errors.SqlError as error:
        assert_type(error.line, int)
        assert_type(error.hint, str | None)
    except panes.errors.PanesError as error:
        print(error)


async def use_async(db: panes.Database) -> None:
    await db.run_async(on_epoch=told)
    query = db.query("q")
    assert_type(await query.invoke_async(), Answer)
    async for change in query.changes_async(reader="phone", restart=True, timeout=10):
        assert_type(change, Change)
"""


@pytest.fixture
def checked(tmp_path: Path):
    """Runs mypy over a program, with the package found where an installed one would be."""
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "panes").symlink_to(ROOT / "panes")

    def check(program: str) -> str:
        file = tmp_path / "program.py"
        file.write_text(program)
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file=",
            "--cache-dir=../mypy",
            file.name,
        ]
        environment = {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout

    return check


def test_a_program_that_uses_every_public_name_passes_strict_checks(checked):
    assert checked(PROGRAM) == "Success: no issues found in 1 source file\n"


def test_mistakes_in_the_use_of_the_package_are_found(checked):
    found = checked(
        "import panes\n"
        "db = panes.conect()\n"
        "answer: panes.Anser\n"
        "panes.connect(7)\n"
        "panes.connect().query('q').changes(timeout='soon')\n"
        "panes.connect().query('q').invoke().as_off\n"
    )
    assert [line.split(":")[1] for line in found.splitlines()[:-1] if ": error:" in line] == list("23456")


def test_the_marker_for_type_checkers_is_in_the_package():
    assert (ROOT / "panes" / "py.typed").read_text() == ""
    assert 'packages = ["panes"]' in (ROOT / "pyproject.toml").read_text()
