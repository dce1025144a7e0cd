from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from panes.cli.main import app

STREAM = "CREATE STREAM s (ts BIGINT, value BIGINT) TIMESTAMP BY ts MILLISECONDS FROM RATE;"


def test_the_plan_is_printed_after_the_statements_of_the_file(db, tmp_path: Path):
    file = tmp_path / "streams.sql"
    file.write_text(STREAM)
    db.results = {"EXPLAIN SELECT x FROM s [NOW]": "the plan"}
    result = CliRunner().invoke(app, ["explain", "SELECT x FROM s [NOW]", "--file", str(file)])
    assert result.output == "the plan\n"
    assert db.calls == [STREAM, "EXPLAIN SELECT x FROM s [NOW]", "close()"]


@pytest.mark.usefixtures("db")
def test_an_error_ends_with_exit_code_one():
    result = CliRunner().invoke(app, ["explain", "SELECT wrong"])
    assert result.exit_code == 1
    assert "this is wrong" in result.output


@pytest.mark.parametrize("statements", [STREAM, STREAM.removesuffix(";")])
def test_a_plan_needs_no_spark(tmp_path: Path, statements: str):
    file = tmp_path / "streams.sql"
    file.write_text(statements)
    result = CliRunner().invoke(
        app, ["explain", "SELECT value FROM s [RANGE 5 SECONDS]", "--file", str(file)]
    )
    assert result.exit_code == 0, result.output
    assert "WEAKEST" in result.output
