from __future__ import annotations

from typer.testing import CliRunner

import panes
from panes.cli.main import app


def test_version_is_that_of_the_package():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output == f"{panes.__version__}\n"
    assert result.exit_code == 0


def test_without_a_command_the_commands_are_listed():
    result = CliRunner().invoke(app, [])
    for command in ("demo", "run", "shell", "explain"):
        assert command in result.output


def test_an_error_of_panes_is_one_message_without_a_traceback(db):
    result = CliRunner().invoke(app, ["explain", "wrong"])
    assert result.exit_code == 1
    assert result.stderr.startswith("line 1, column 9: this is wrong")
    assert "Traceback" not in result.output
    assert db.calls[-1] == "close()"
