"""The examples run, and print what they are said to."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from panes.cli.main import app

ROOT = Path(__file__).parent.parent


@pytest.mark.usefixtures("commands_on_spark")
def test_visits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, ["run", "examples/visits.sql"])
    assert result.exit_code == 0, result.output
    assert [line.rstrip() for line in result.output.splitlines()] == [
        "12 rows in 2 epochs",
        "visitors",
        "who   visits  total_ms",
        "──────────────────────",
        "ann        3       600",
        "bob        3       665",
        "cleo       4       615",
        "3 rows, as of 2026-01-05 10:00:00 UTC",
        "",
        "slow_searches",
        "who   ms",
        "────────",
        "bob  410",
        "1 row, as of 2026-01-05 10:05:00 UTC",
        "",
    ]


@pytest.mark.usefixtures("commands_on_spark")
def test_a_script_that_can_be_run_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(ROOT)
    command = ["run", "examples/run_twice.sql", "--database", str(tmp_path / "db")]
    first, again = (CliRunner().invoke(app, command) for _ in range(2))
    assert first.exit_code == again.exit_code == 0, first.output + again.output
    assert first.output.splitlines()[0] == "2 rows inserted"
    assert again.output.splitlines()[0] == "2 rows updated"
    assert "12 rows in 2 epochs" in first.output
    assert "0 rows in 0 epochs" in again.output
    same = [
        [line for line in result.output.splitlines()[1:] if " in " not in line] for result in (first, again)
    ]
    assert same[0] == same[1]
    assert [line.split() for line in again.output.splitlines() if line.startswith(("guests", "lab"))] == [
        ["guests", "4"],
        ["lab", "4"],
    ]
