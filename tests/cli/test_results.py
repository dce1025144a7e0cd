"""What stands under an answer, and how much of it is shown where."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.csv as pa_csv
from rich.console import Console

from panes.answers.answer import Answer
from panes.cli.csv_results import CsvResults
from panes.cli.json_results import JsonResults
from panes.cli.results import MAX_ROWS, TableResults, print_result

TEN = datetime(2026, 1, 5, 10, tzinfo=UTC)
NOTES = Console(file=io.StringIO())
AWKWARD = pa.table(
    {
        "text": ['say "hi", twice', "", None, "two\r\nlines", "東京", "\x1b[31m"],
        "number": [2**62 + 1, 2, None, 4, 5, 6],
        "share": [0.1 + 0.2, 1e-9, None, float("inf"), 2.0, -0.0],
        "at": pa.array([0, 1, None, 3, 4, 5], pa.timestamp("us", tz="UTC")),
        "top": [["a,b"], [], None, [None], ['"'], ["x"]],
    }
)


def shown(table: pa.Table, *, terminal: bool, limit: int | None = None) -> list[str]:
    out = Console(file=io.StringIO(), width=80, force_terminal=terminal, color_system=None)
    TableResults(out, limit).answer(Answer(TEN, table))
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def test_rows_are_sorted_and_counted_and_the_instant_is_told():
    assert shown(pa.table({"who": ["cleo", None, "ann"], "n": [4, 1, 3]}), terminal=False) == [
        "who   n",
        "───────",
        "ann   3",
        "cleo  4",
        "NULL  1",
        "3 rows, as of 2026-01-05 10:00:00 UTC",
    ]


def test_rows_of_an_answer_with_an_order_stay_in_it():
    answer = Answer(TEN, pa.table({"n": [2, 3, 1]}), is_sorted=True)
    csv_out, json_out = io.StringIO(), io.StringIO()
    out = Console(file=io.StringIO(), width=80, force_terminal=False)
    for results in (CsvResults(csv_out, NOTES, 2), JsonResults(json_out, NOTES, 2), TableResults(out, 2)):
        results.answer(answer)
    assert csv_out.getvalue() == "n\n2\n3\n"
    assert json.loads(json_out.getvalue())["rows"] == [{"n": 2}, {"n": 3}]
    assert [line.strip() for line in out.file.getvalue().splitlines()[2:4]] == ["2", "3"]


def test_one_row_and_no_rows_are_said_as_people_say_it():
    assert shown(pa.table({"n": [1]}), terminal=False)[-1] == "1 row, as of 2026-01-05 10:00:00 UTC"
    assert (
        shown(pa.table({"n": [1]}).slice(1), terminal=False)[-1] == "no rows, as of 2026-01-05 10:00:00 UTC"
    )


def test_a_terminal_shows_forty_rows_and_says_what_is_left_out():
    lines = shown(pa.table({"n": range(1003)}), terminal=True)
    assert len(lines) == MAX_ROWS + 3
    assert (
        lines[-2:]
        == [
            "  39",
            "1,003 rows, the first 40 shown (--limit 0 shows all), as of 2026-01-05 10:00:00 UTC",
        ]
        or lines[-2].strip() == "39"
    )


def test_a_pipe_gets_all_rows_and_a_limit_counts_everywhere():
    table = pa.table({"n": range(1003)})
    assert len(shown(table, terminal=False)) == 1003 + 3
    assert len(shown(table, terminal=True, limit=0)) == 1003 + 3
    for terminal in (False, True):
        assert len(shown(table, terminal=terminal, limit=7)) == 7 + 3


def test_lists_are_shown_and_do_not_hinder_sorting():
    assert shown(pa.table({"top": [[2, 1], [3]], "k": [2, 1]}), terminal=False)[2:4] == [
        "[3]     1",
        "[2, 1]  2",
    ]


def test_text_is_neither_wrapped_nor_cut_in_a_pipe_and_cannot_act_on_the_terminal():
    out = Console(file=io.StringIO(), width=80, force_terminal=False)
    print_result(TableResults(out), "x" * 1000 + "\n  second\x1b[2J")
    assert out.file.getvalue() == "x" * 1000 + "\n  second\\x1b[2J\n"


def test_csv_is_read_back_as_it_was():
    out = io.StringIO(newline="")
    CsvResults(out, NOTES, None).table(AWKWARD)
    lines = out.getvalue()
    head, *rows = csv.reader(io.StringIO(lines, newline=""))
    assert head == AWKWARD.column_names
    assert sorted(rows) == sorted(
        [
            ['say "hi", twice', str(2**62 + 1), "0.30000000000000004", "1970-01-01T00:00:00Z", '["a,b"]'],
            ["", "2", "1e-09", "1970-01-01T00:00:00.000001Z", "[]"],
            ["", "", "", "", ""],
            ["two\r\nlines", "4", "Infinity", "1970-01-01T00:00:00.000003Z", "[null]"],
            ["東京", "5", "2.0", "1970-01-01T00:00:00.000004Z", '["\\""]'],
            ["\x1b[31m", "6", "-0.0", "1970-01-01T00:00:00.000005Z", '["x"]'],
        ]
    )
    assert '"",2,' in lines
    assert "\n,,,,\n" in lines


def test_csv_is_read_by_arrow_with_null_and_empty_text_apart():
    out = io.StringIO(newline="")
    CsvResults(out, NOTES, None).table(AWKWARD.select(["text", "number", "share"]))
    read = pa_csv.read_csv(
        io.BytesIO(out.getvalue().encode()),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False),
    )
    assert read.sort_by("number").to_pylist() == (
        AWKWARD.select(["text", "number", "share"]).sort_by("number").to_pylist()
    )


def test_json_is_read_back_as_it_was():
    out = io.StringIO()
    JsonResults(out, NOTES, None).answer(Answer(TEN, AWKWARD), "odd")
    (line,) = out.getvalue().splitlines()
    read = json.loads(line)
    rows = read.pop("rows")
    assert read == {"query": "odd", "as_of": "2026-01-05T10:00:00Z", "count": 6}
    by_number = {row["number"]: row for row in rows}
    assert by_number[4]["share"] == "Infinity"
    assert by_number[None] == dict.fromkeys(AWKWARD.column_names)
    for original in AWKWARD.drop_columns(["at"]).to_pylist():
        if original["number"] != 4:
            assert original.items() <= by_number[original["number"]].items()


def test_json_before_the_first_epoch_has_no_instant():
    out = io.StringIO()
    JsonResults(out, NOTES, None).answer(Answer(None, pa.table({"n": [1]}).slice(1)))
    assert json.loads(out.getvalue()) == {"as_of": None, "count": 0, "rows": []}


def test_limits_count_for_programs_only_when_asked_for():
    for limit, rows in ((None, 5000), (3, 3)):
        out = io.StringIO()
        JsonResults(out, NOTES, limit).table(pa.table({"n": range(5000)}))
        read = json.loads(out.getvalue())
        assert (read["count"], len(read["rows"])) == (5000, rows)


def test_an_answer_that_is_not_complete_says_so_in_every_form():
    answer = Answer(TEN, pa.table({"n": [1]}), complete_from=TEN.replace(hour=9))
    table, rows, notes, line = (
        Console(file=io.StringIO(), width=120),
        io.StringIO(),
        io.StringIO(),
        io.StringIO(),
    )
    TableResults(table).answer(answer)
    assert table.file.getvalue().splitlines()[-1] == (
        "1 row, as of 2026-01-05 10:00:00 UTC; its windows may lack tuples from before 2026-01-05 09:00:00 UTC"
    )
    CsvResults(rows, Console(file=notes, width=120), None).answer(answer)
    assert rows.getvalue() == "n\n1\n"
    assert notes.getvalue() == "its windows may lack tuples from before 2026-01-05T09:00:00+00:00\n"
    JsonResults(line, NOTES, None).answer(answer)
    assert json.loads(line.getvalue())["complete_from"] == "2026-01-05T09:00:00Z"
