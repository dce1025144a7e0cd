from __future__ import annotations

import io

import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

import panes
from panes.answers.answer import Answer
from panes.cli.main import app
from panes.cli.results import TableResults
from panes.cli.shell import CONTINUED, HOW_TO_BEGIN, PROMPT, Shell
from panes.language.guarded import guarded
from panes.state.storage.epoch_log import StreamProgress
from panes.tables.row_counts import RowCounts


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
    Shell(db, TableResults(out, how_to_begin=HOW_TO_BEGIN), None, Typist(*lines)).loop()
    return out.file.getvalue()


def test_a_statement_may_take_several_lines(db):
    typist = Typist("CREATE QUERY q", "AS SELECT x", "FROM s [NOW];", "SHOW QUERIES;")
    Shell(db, TableResults(Console(file=io.StringIO())), None, typist).loop()
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


def test_an_internal_error_is_shown_with_its_traceback_and_the_shell_goes_on(db, monkeypatch):
    def fails(text):
        db.calls.append(text)
        with guarded(text):
            raise ValueError("3 is odd")

    monkeypatch.setattr(db, "sql", fails)
    printed = typed(db, "SELECT x;", "SHOW STREAMS;")
    assert "internal error: ValueError: 3 is odd" in printed
    assert "in fails" in printed
    assert db.calls[-1].strip() == "SHOW STREAMS"


def test_ctrl_c_throws_away_what_was_typed_so_far(db):
    typed(db, "SELECT x", KeyboardInterrupt, "SHOW STREAMS;")
    assert db.calls == ["SHOW STREAMS"]


def test_dot_commands(db):
    printed = typed(db, ".run", ".start", ".stop", ".help", ".what", ".quit", "SHOW STREAMS;")
    assert db.calls == ["run()", "start()", "stop()"]
    assert "12 rows in 1 epoch" in printed
    assert "Statements end with a semicolon" in printed
    assert "There is no .what" in printed


def test_run_tells_which_rows_were_rejected(db):
    db.streams = {"packets": StreamProgress(rows=12, late=2, bad=1), "good": StreamProgress(rows=3)}
    printed = typed(db, ".run")
    assert printed.splitlines() == [
        "12 rows in 1 epoch; 2 late rows of packets",
        "packets: 2 rows came late, and count only from now on, in windows that are open. "
        "db.late_rows('packets') has them. With SLACK INTERVAL … a stream waits for rows out of order, "
        "until the end of a run.",
        "packets: 1 row could not be used. db.bad_rows('packets') has them, with the reason.",
    ]


def test_an_answer_before_the_first_epoch_says_what_to_do(db):
    db.results = {"SELECT x": Answer(None, pa.table({"x": pa.array([], pa.int64())}))}
    assert typed(db, "SELECT x;").splitlines() == [
        "x",
        "─",
        "no rows: no epoch has taken in a row yet; .run or .start takes in rows",
    ]


def test_results_and_notes_are_told_apart_for_programs(db):
    db.results = {"SHOW STREAMS": pa.table({"name": ["packets"]})}
    result = CliRunner().invoke(
        app, ["shell", "--format", "json"], input="SHOW STREAMS;\nSELECT wrong;\n.run\n"
    )
    assert result.stdout == '{"count": 1, "rows": [{"name": "packets"}]}\n'
    assert "this is wrong" in result.stderr
    assert "12 rows in 1 epoch" in result.stderr


@pytest.mark.parametrize("text", ["SHOW STREAMS;\n", "SHOW STREAMS;\n.quit\n"])
def test_statements_can_be_piped_in(db, text: str):
    result = CliRunner().invoke(app, ["shell"], input=text)
    assert result.exit_code == 0
    assert db.calls == ["SHOW STREAMS", "close()"]
    assert PROMPT not in result.output


def test_a_change_of_a_table_is_told_in_one_line(db):
    db.results = {"DELETE FROM t; INSERT INTO t VALUES (1)": RowCounts(inserted=1)}
    assert typed(db, "DELETE FROM t; INSERT INTO t VALUES (1);") == "1 row inserted\n"


def test_rows_of_tables_are_shown_before_the_first_epoch(db):
    db.results = {"SELECT a FROM t": Answer(None, pa.table({"a": [7]}))}
    assert typed(db, "SELECT a FROM t;").splitlines()[-1] == "1 row"


@pytest.mark.parametrize("word", ["exit", "quit", "EXIT;", "quit ;", ".exit", ".quit"])
def test_exit_and_quit_end_it(db, word):
    typed(db, "SHOW STREAMS;", word, "SHOW TABLES;")
    assert db.calls == ["SHOW STREAMS"]


def test_exit_within_a_statement_is_part_of_it(db):
    typed(db, "SELECT", "exit", "FROM s;")
    assert db.calls == ["SELECT\nexit\nFROM s"]


def test_describe_shows_columns_in_the_order_of_declaration(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE STREAM z (b BIGINT, a BIGINT, ts BIGINT) TIMESTAMP BY ts SECONDS")
        printed = typed(db, "DESCRIBE z;")
    assert [line.split()[0] for line in printed.splitlines() if "BIGINT" in line] == ["b", "a", "ts"]


def test_start_says_what_it_waits_for(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    with panes.connect(tmp_path / "db") as db:
        monkeypatch.setattr(db, "start", lambda: None)
        assert "Waiting for a stream: there is none yet, CREATE STREAM makes one;" in typed(db, ".start")
        db.sql("CREATE STREAM p (ts BIGINT) TIMESTAMP BY ts SECONDS")
        db.sql(f"CREATE STREAM f (ts BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{tmp_path}/in'")
        printed = "".join(typed(db, ".start").split())
        assert "Waitingforrowspushedtop(INSERTINTOp…),filesin" in printed
        assert f"{tmp_path}/in(f);INVOKEandSHOWworkmeanwhile,.stopendsit." in printed
