"""`--isolation`: the level of all that a command reads."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from panes.cli.main import app

SCRIPT = """
CREATE STREAM s (ts BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS;
CREATE QUERY a AS SELECT x FROM s [RANGE 5 SECONDS];
CREATE QUERY b AS SELECT x FROM s [RANGE 9 SECONDS];
SHOW QUERIES;
SELECT x FROM s [RANGE 7 SECONDS];
INVOKE a;
"""
READS = ("SELECT x FROM s [RANGE 7 SECONDS]", "INVOKE a")


@pytest.mark.parametrize("level", ["window", "snapshot", "latest"])
def test_run_reads_under_the_level_that_it_is_given(db, tmp_path, level):
    (tmp_path / "script.sql").write_text(SCRIPT)
    result = CliRunner().invoke(app, ["run", str(tmp_path / "script.sql"), "--isolation", level])
    assert result.exit_code == 0
    assert db.levels == dict.fromkeys(READS, level)
    assert db.registered["b"].levels == [level]


def test_the_shell_reads_under_the_level_that_it_is_given(db):
    result = CliRunner().invoke(app, ["shell", "--isolation", "latest"], input=SCRIPT)
    assert result.exit_code == 0
    assert db.levels == dict.fromkeys(READS, "latest")


def test_without_a_level_that_of_the_database_counts(db, tmp_path):
    (tmp_path / "script.sql").write_text(SCRIPT)
    assert CliRunner().invoke(app, ["run", str(tmp_path / "script.sql")]).exit_code == 0
    assert (db.levels, db.registered["b"].levels) == ({}, [None])


def test_a_level_that_there_is_not_is_refused(db):
    result = CliRunner().invoke(app, ["shell", "--isolation", "dirty"])
    assert result.exit_code == 2
    assert db.calls == []


def test_what_cannot_be_read_is_refused_as_without_a_level(db):
    result = CliRunner().invoke(app, ["shell", "--isolation", "latest"], input="SELEC x;\nSHOW QUERIES;\n")
    assert "SELEC" in result.output
    assert db.calls == ["SHOW QUERIES", "close()"]
