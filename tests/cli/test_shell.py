from __future__ import annotations

import io

import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

from panes.cli.main import app
from panes.cli.shell import CONTINUED, PROMPT, Shell


class Typist:
    """Types the given lines and notes the prompts; a line may be an exception, such as Ctrl-C."""

    def __init__(self, *lines: str | type[BaseException]) -> None:
        self._lines = iter(lines)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = next(self._lines, EOFError)
        if isinstance(line, str):
            return line
        raise line


def typed(db, *lines: str | type[BaseException]) -> str:
    out = Console(file=io.StringIO(), width=100)
    Shell(db, out, Typist(*lines)).loop()
    return out.file.getvalue()


def test_a_statement_may_take_several_lines(db):
    typist = Typist("CREATE QUERY q", "AS SELECT x", "FROM s [NOW];", "SHOW QUERIES;")
    Shell(db, Console(file=io.StringIO()), typist).loop()
    assert db.calls == ["CREATE QUERY q\nAS SELECT x\nFROM s [NOW]", "SHOW QUERIES"]
    assert typist.prompts == [PROMPT, CONTINUED, CONTINUED, PROMPT, PROMPT]


def test_several_statements_on_one_line_run_in_order(db):
    typed(db, "SHOW STREAMS; SHOW TABLES; SHOW", "QUERIES;")
    assert db.calls == ["SHOW STREAMS", "SHOW TABLES", "SHOW\nQUERIES"]


def test_results_are_printed(db):
    db.results = {"SHOW STREAMS": pa.table({"name": ["packets"]}), "EXPLAIN q": "Window [NOW]"}
    printed = typed(db, "SHOW STREAMS; EXPLAIN q;")
    assert "packets" in printed
    assert "Window [NOW]" in printed


def test_an_error_is_shown_with_its_caret_and_the_shell_goes_on(db):
    printed = typed(db, "SELECT wrong;", "SHOW STREAMS;")
    assert printed.splitlines() == ["line 1, column 8: this is wrong", "  SELECT wrong", "         ^"]
    assert db.calls[-1] == "SHOW STREAMS"


def test_the_caret_stands_under_the_second_statement_of_a_line_too(db):
    lines = typed(db, "SHOW STREAMS; SELECT wrong;").splitlines()
    assert lines[0] == "line 1, column 22: this is wrong"
    assert lines[1].index("wrong") == lines[2].index("^")


def test_ctrl_c_throws_away_what_was_typed_so_far(db):
    typed(db, "SELECT x", KeyboardInterrupt, "SHOW STREAMS;")
    assert db.calls == ["SHOW STREAMS"]


def test_dot_commands(db):
    printed = typed(db, ".run", ".start", ".stop", ".help", ".what", ".quit", "SHOW STREAMS;")
    assert db.calls == ["run()", "start()", "stop()"]
    assert "12 rows in 1 epochs" in printed
    assert "Statements end with a semicolon" in printed
    assert "There is no .what" in printed


@pytest.mark.parametrize("text", ["SHOW STREAMS;\n", "SHOW STREAMS;\n.quit\n"])
def test_statements_can_be_piped_in(db, text: str):
    result = CliRunner().invoke(app, ["shell"], input=text)
    assert result.exit_code == 0
    assert db.calls == ["SHOW STREAMS", "close()"]
    assert PROMPT not in result.output
