from __future__ import annotations

import io

import pyarrow as pa
from rich.console import Console

from panes.cli.tables import MAX_ROWS, print_rows


def printed(table: pa.Table) -> list[str]:
    out = Console(file=io.StringIO(), width=80)
    print_rows(out, table)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def test_rows_are_sorted_and_numbers_stand_to_the_right():
    table = pa.table({"proto": ["udp", "tcp"], "n": [5, 12000], "share": [None, 0.25]})
    assert printed(table) == [
        "proto       n   share",
        "─────────────────────",
        "tcp     12000    0.25",
        "udp         5",
    ]


def test_long_results_are_cut_and_say_so():
    lines = printed(pa.table({"n": range(MAX_ROWS + 3)}))
    assert lines[-2:] == [str(MAX_ROWS - 1).rjust(2), "… and 3 more rows"]


def test_text_that_looks_like_markup_is_shown_as_it_is():
    assert "[bold]x" in printed(pa.table({"name": ["[bold]x"]}))[-1]


def test_lists_are_shown_and_do_not_hinder_sorting():
    assert printed(pa.table({"top": [[2, 1], [3]], "k": [2, 1]}))[-2:] == ["[3]      1", "[2, 1]   2"]


def test_an_empty_answer_says_so():
    assert printed(pa.table({"n": pa.array([], pa.int64())})) == ["n", "─", "(no rows)"]
