from __future__ import annotations

import io

import pyarrow as pa
import pytest
from rich.cells import cell_len
from rich.console import Console

from panes.cli.tables import console, print_table


def printed(table: pa.Table, width: int | None = None) -> list[str]:
    """The lines on a terminal of some width, or in a pipe."""
    out = Console(file=io.StringIO(), width=width, force_terminal=width is not None, color_system=None)
    print_table(out, table)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


WIDE = pa.table({"n": [7], "sql": ["SELECT who, count(*) AS visits FROM visits GROUP BY who"], "last": ["x"]})


def test_numbers_stand_to_the_right_and_null_differs_from_empty():
    table = pa.table({"proto": ["tcp", "", None], "n": [12000, 5, None], "share": [0.25, None, 1.0]})
    assert printed(table) == [
        "proto      n  share",
        "───────────────────",
        "tcp    12000   0.25",
        "           5   NULL",
        "NULL    NULL    1.0",
    ]


def test_text_that_looks_like_markup_or_emoji_codes_is_shown_as_it_is():
    for width in (None, 80):
        assert printed(pa.table({"name": ["[bold]x :smile:"]}), width)[-1] == "[bold]x :smile:"


def test_a_wide_column_is_wrapped_and_no_column_is_lost():
    assert printed(WIDE, 40) == [
        "n  sql                              last",
        "────────────────────────────────────────",
        "7  SELECT who, count(*) AS visits   x",
        "   FROM visits GROUP BY who",
    ]


def test_a_word_that_is_too_long_is_wrapped_in_the_middle():
    lines = printed(pa.table({"n": [1], "word": ["a" * 100]}), 30)
    assert all(len(line) <= 30 for line in lines)
    assert "".join(lines).count("a") == 100


def test_on_a_terminal_that_is_too_narrow_rows_become_records():
    table = pa.table(
        {"total_bytes": [123456789012], "who": ["ann"], "sql": [WIDE["sql"][0].as_py()], "x": [0.5]}
    )
    assert printed(table, 30) == [
        "─ 1 ──────────────────────────",
        "total_bytes  123456789012",
        "who          ann",
        "sql          SELECT who,",
        "             count(*) AS",
        "             visits FROM",
        "             visits GROUP BY",
        "             who",
        "x            0.5",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_every_value_is_on_the_terminal_whatever_its_width(width: int):
    columns = {f"column_{n}": [f"value{n}", f"other{n}"] for n in range(30)}
    lines = printed(pa.table(columns), width)
    assert all(len(line) <= width for line in lines)
    shown = "".join("".join(lines).split())
    for values in columns.values():
        for value in values:
            assert value in shown


def test_a_pipe_has_no_width():
    table = pa.table({f"column_{n}": ["x" * 100] for n in range(50)})
    head, rule, row = printed(table)
    assert len(row) == len(rule) == 50 * 100 + 49 * 2
    assert head.endswith("column_49")


def test_wide_characters_are_aligned():
    lines = printed(pa.table({"name": ["東京", "Köln", "👍"], "n": [1, 2, 3]}))
    assert lines == ["name  n", "───────", "東京  1", "Köln  2", "👍    3"]
    assert {cell_len(line) for line in lines} == {7}
    assert printed(pa.table({"name": ["東京", "Köln", "👍"], "n": [1, 2, 3]}), 80) == lines


def test_columns_of_one_name_are_both_shown():
    assert printed(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])) == [
        "a  a",
        "────",
        "1  2",
    ]


def test_names_of_columns_are_escaped():
    assert printed(pa.table({"a\nb\x1b[2J": [1]}))[0] == "a\\nb\\x1b[2J"


def test_an_empty_table_shows_its_columns():
    assert printed(pa.table({"n": pa.array([], pa.int64()), "who": pa.array([], pa.string())})) == [
        "n  who",
        "──────",
    ]


def test_standard_output_that_is_no_terminal_is_treated_as_none_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    assert not console().is_terminal
