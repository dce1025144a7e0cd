from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from panes.cli.main import app

SCRIPT = """
CREATE STREAM s (ts BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS FROM FILES 'data';
CREATE QUERY a AS SELECT x FROM s [RANGE 5 SECONDS];
CREATE QUERY b AS SELECT x FROM s [RANGE 9 SECONDS];
"""


@pytest.fixture
def run(tmp_path: Path):
    def run_script(text: str, *options: str):
        file = tmp_path / "script.sql"
        file.write_text(text)
        return CliRunner().invoke(app, ["run", str(file), *options])

    return run_script


def test_data_flows_after_the_last_statement_and_every_query_is_answered(db, run):
    result = run(SCRIPT)
    assert result.exit_code == 0
    assert db.calls[3:] == ["run()", "close()"]
    assert [line for line in result.output.splitlines() if "as of" in line] == [
        "a, as of 2026-01-01 12:00:00",
        "b, as of 2026-01-01 12:00:00",
    ]


def test_data_flows_before_the_first_statement_that_asks_for_an_answer(db, run):
    run(SCRIPT + "INVOKE a; INVOKE b")
    assert db.calls[3:] == ["run()", "INVOKE a", "INVOKE b", "close()"]


@pytest.mark.usefixtures("db")
def test_a_query_that_was_invoked_or_dropped_is_not_answered_again(run):
    result = run(SCRIPT + "INVOKE a; DROP QUERY b;")
    assert "as of" not in result.output
    assert result.output.count("udp") == 1


def test_with_seconds_the_sources_are_followed(db, run):
    run(SCRIPT, "--seconds", "0")
    assert db.calls[3:] == ["start()", "stop()", "close()"]


def test_an_error_shows_its_place_and_ends_the_run(db, run):
    result = run("SHOW STREAMS;\nSELECT wrong FROM s [NOW];\nSHOW QUERIES;")
    assert result.exit_code == 1
    assert "this is wrong" in result.output
    assert db.calls == ["SHOW STREAMS", "SELECT wrong FROM s [NOW]", "close()"]


def test_a_missing_file_is_an_error():
    result = CliRunner().invoke(app, ["run", "nowhere.sql"])
    assert result.exit_code == 2
    assert "nowhere.sql" in result.output
