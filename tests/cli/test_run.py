from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from panes.cli.main import app
from panes.state.storage.epoch_log import StreamProgress
from panes.tables.row_counts import RowCounts

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
    table = [
        "src  dst  proto  link  packets  bytes  bytes0  bytes1  total  bill",
        "──────────────────────────────────────────────────────────────────",
        "  4    2  udp       1       50   1400    1400    1400   1400  1400",
        "  7    1  tcp       0       30    900     900     900    900   900",
        "2 rows, as of 2026-01-01 12:00:00 UTC",
        "",
    ]
    assert result.output.splitlines() == ["12 rows in 1 epoch", "a", *table, "b", *table]


def test_data_flows_before_the_first_statement_that_asks_for_an_answer(db, run):
    run(SCRIPT + "INVOKE a; INVOKE b")
    assert db.calls[3:] == ["run()", "INVOKE a", "INVOKE b", "close()"]


@pytest.mark.usefixtures("db")
def test_a_query_that_was_invoked_or_dropped_is_not_answered_again(run):
    result = run(SCRIPT + "INVOKE a; DROP QUERY b;")
    assert result.output.count("as of") == 1
    assert result.output.count("udp") == 1


def test_csv_has_every_answer_under_its_columns(db, run):
    db.table = pa.table({"who": ["ann", "", None], "x": [0.1 + 0.2, 1e-9, None]})
    result = run(SCRIPT, "--format", "csv")
    table = 'who,x\n"",1e-09\nann,0.30000000000000004\n,\n'
    assert result.stdout == f"{table}\n{table}"


def test_json_has_an_object_per_answer_with_its_name_and_instant(db, run):
    db.table = pa.table({"who": ["ann", None]})
    result = run(SCRIPT, "--format", "json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"query": name, "as_of": "2026-01-01T12:00:00Z", "count": 2, "rows": [{"who": "ann"}, {"who": None}]}
        for name in ("a", "b")
    ]


def test_a_pipe_gets_all_rows_unless_a_limit_is_asked_for(db, run):
    db.table = pa.table({"n": range(1000)})
    every, two = run(SCRIPT), run(SCRIPT, "--limit", "2")
    assert every.output.count("\n") == 1 + 2 * 1005
    assert two.output.splitlines()[:7] == [
        "12 rows in 1 epoch",
        "a",
        "n",
        "─",
        "0",
        "1",
        "1,000 rows, the first 2 shown (--limit 0 shows all), as of 2026-01-01 12:00:00 UTC",
    ]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("form", "where"), [("table", "stdout"), ("csv", "stderr"), ("json", "stderr")])
def test_notes_on_rejected_rows_are_told_apart_from_results(db, run, form: str, where: str):
    db.streams = {"s": StreamProgress(rows=9, late=1, bad=2, bad_files=3)}
    result = run(SCRIPT, "--format", form)
    assert result.exit_code == 0
    told = getattr(result, where)
    assert "12 rows in 1 epoch; 1 late row of s" in told
    assert "s: 3 files could not be read" in told
    assert "s: 1 row came late" in told
    assert "s: 2 rows could not be used. db.bad_rows('s') has them, with the reason." in told
    if form != "table":
        assert "late" not in result.stdout


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


TABLE = "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); DELETE FROM t WHERE a = 2;\n"


def test_statements_that_change_tables_and_stand_together_are_run_together(db, run):
    db.results = {"INSERT INTO t VALUES (1); DELETE FROM t WHERE a = 2": RowCounts(deleted=3)}
    result = run(TABLE)
    assert db.calls == [
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES (1); DELETE FROM t WHERE a = 2",
        "close()",
    ]
    assert result.output == "3 rows deleted\n"


def test_data_flows_after_a_table_has_changed_that_queries_may_read(db, run):
    run(SCRIPT + "INVOKE a; INVOKE b; INSERT INTO t VALUES (1); INVOKE a;")
    assert db.calls[3:] == [
        *("run()", "INVOKE a", "INVOKE b", "INSERT INTO t VALUES (1)", "run()", "INVOKE a", "close()"),
    ]


def test_data_flows_after_rows_were_inserted_into_a_stream(db, run):
    ask = "SELECT x FROM s [NOW];"
    run(f"CREATE STREAM s (x BIGINT); {ask} INSERT INTO S VALUES (1); {ask} INSERT INTO t VALUES (1); {ask}")
    assert [call for call in db.calls if call == "run()" or call.startswith("INSERT")] == [
        *("run()", "INSERT INTO S VALUES (1)", "run()", "INSERT INTO t VALUES (1)")
    ]
