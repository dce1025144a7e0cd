"""How rows are shown in errors."""

from __future__ import annotations

from datetime import date

import pyarrow as pa

from panes.tables.constraints import shown


def test_a_row_is_shown_by_its_values():
    rows = pa.table({"a": [1, 2], "s": ["it's", None], "d": [date(2026, 1, 31), None], "b": [True, False]})
    assert shown(rows, 0) == "a = 1, s = \"it's\", d = '2026-01-31', b = TRUE"
    assert shown(rows, 1) == "a = 2, s = NULL, d = NULL, b = FALSE"


def test_a_long_row_is_cut():
    text = shown(pa.table({"s": ["x" * 1000]}), 0)
    assert len(text) == 200
    assert text.endswith("x…")
