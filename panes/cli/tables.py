"""Answers and other results as tables for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

MAX_ROWS = 40
"""Rows printed of one table; the number of those left out is said below it."""

_WIDE = 400
"""Width of lines that no terminal limits: nothing is cut in a file or a pipe."""


def console() -> Console:
    """Standard output, as wide as the terminal, or wide enough when there is none."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDE)


def text(value: Any) -> str:
    """A value as a person reads it.

    >>> text(1234567), text(0.5), text(None), text("tcp")
    ('1234567', '0.50', '', 'tcp')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)


def size(count: float) -> str:
    """A number of bytes.

    >>> size(900), size(12_345), size(7_200_000)
    ('900 B', '12.3 kB', '7.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


def rows_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows under their column names, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        is_number = any(isinstance(row[name], (int, float)) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(text(row[name])) for name in columns))
    return table


def print_rows(out: Console, rows: pa.Table) -> None:
    """A whole result, or its first MAX_ROWS rows and how many there are.

    Answers have no order of their own; they are shown sorted, so that the same answer looks the same.
    """
    keys = [(f.name, "ascending") for f in rows.schema if not pa.types.is_nested(f.type)]
    shown = rows.sort_by(keys) if keys else rows
    out.print(rows_table(rows.column_names, shown.slice(0, MAX_ROWS).to_pylist()))
    left_out = rows.num_rows - MAX_ROWS
    if left_out > 0:
        out.print(f"… and {left_out} more rows", highlight=False)
    elif not rows.num_rows:
        out.print("(no rows)")
