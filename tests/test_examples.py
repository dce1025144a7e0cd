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
