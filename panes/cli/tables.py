"""Tables for people: as wide as the terminal lets them be, with every column and every digit."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from panes.cli.value_text import escaped, texts

GAP = "  "
LEAST_TEXT = 12
"""The least width of a wrapped column of text; when it is not small enough, rows are shown as records."""


def console() -> Console:
    """Standard output: a terminal with its width, or a file or pipe, in which no line has an end but its own."""
    return Console() if sys.stdout.isatty() else Console(force_terminal=False)


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


def print_line(out: Console, line: str | Text, style: str = "") -> None:
    """A line as it is: in a pipe neither wrapped nor cut, whatever its length."""
    words = line if isinstance(line, Text) else Text(line)
    out.print(words, style=style, soft_wrap=True, highlight=False)


def print_table(out: Console, table: pa.Table) -> None:
    """All rows and all columns: side by side, wrapped, or when the terminal is too narrow one below the other."""
    columns = [
        Column(escaped(name), texts(column), column.is_null().to_pylist(), _is_number(column.type))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    widths = fitting(columns, out.width if out.is_terminal else None)
    if widths is None:
        _print_records(out, columns, table.num_rows)
    else:
        _print_grid(out, columns, widths, table.num_rows)


@dataclass(frozen=True)
class Column:
    """A column of a table as text; numbers stand to the right and are never wrapped."""

    name: str
    cells: Sequence[str]
    is_null: Sequence[bool]
    is_number: bool

    @cached_property
    def natural(self) -> int:
        """The width that shows everything on one line."""
        return max(cell_len(self.name), self._widest)

    @cached_property
    def least(self) -> int:
        """The width below which it cannot be read any more."""
        return self._widest if self.is_number else min(self.natural, LEAST_TEXT)

    @cached_property
    def _widest(self) -> int:
        return max(map(cell_len, self.cells), default=1)

    def cell(self, row: int) -> Text:
        return Text(self.cells[row], style="dim" if self.is_null[row] else "")

    def padded(self, width: int) -> Iterator[str]:
        """All cells, filled with blanks to one width."""
        blanks = (" " * (width - cell_len(cell)) for cell in self.cells)
        for cell, blank in zip(self.cells, blanks, strict=True):
            yield blank + cell if self.is_number else cell + blank


def fitting(columns: Sequence[Column], width: int | None) -> list[int] | None:
    """The width of each column, the widest ones wrapped if need be; None when that is not enough.

    Without a limit nothing is wrapped.
    """
    gaps = len(GAP) * (len(columns) - 1)
    if width is None or sum(column.natural for column in columns) + gaps <= width:
        return [column.natural for column in columns]

    def within(most: int) -> list[int]:
        return [max(column.least, min(column.natural, most)) for column in columns]

    if sum(within(0)) + gaps > width:
        return None
    fits, does_not = 0, width + 1
    while does_not - fits > 1:
        middle = (fits + does_not) // 2
        fits, does_not = (middle, does_not) if sum(within(middle)) + gaps <= width else (fits, middle)
    return within(fits)


def _print_grid(out: Console, columns: Sequence[Column], widths: Sequence[int], rows: int) -> None:
    _print_row(out, columns, [Text(column.name, style="bold") for column in columns], widths)
    print_line(out, "─" * (sum(widths) + len(GAP) * (len(widths) - 1)))
    if not out.is_terminal:
        # There is nothing to wrap or to color, and there may be millions of rows.
        padded = [column.padded(width) for column, width in zip(columns, widths, strict=True)]
        out.file.writelines(GAP.join(cells).rstrip() + "\n" for cells in zip(*padded, strict=True))
        return
    for row in range(rows):
        _print_row(out, columns, [column.cell(row) for column in columns], widths)


def _print_row(out: Console, columns: Sequence[Column], cells: Sequence[Text], widths: Sequence[int]) -> None:
    folded = [_folded(out, cell, width) for cell, width in zip(cells, widths, strict=True)]
    for place in range(max(map(len, folded))):
        line = Text()
        for column, parts, width in zip(columns, folded, widths, strict=True):
            part = parts[place] if place < len(parts) else Text()
            blank = " " * (width - part.cell_len)
            line.append_text(Text(blank) + part if column.is_number else part + Text(blank)).append(GAP)
        line.rstrip()
        print_line(out, line)


def _print_records(out: Console, columns: Sequence[Column], rows: int) -> None:
    """Every row under a line with its number, a value per line."""
    names = min(max(cell_len(column.name) for column in columns), out.width // 2)
    left = max(1, out.width - names - len(GAP))
    for row in range(rows):
        head = f"─ {row + 1} "
        print_line(out, head + "─" * max(0, out.width - len(head)))
        for column in columns:
            name = _folded(out, Text(column.name, style="bold"), names)
            value = _folded(out, column.cell(row), left)
            for place in range(max(len(name), len(value))):
                first = name[place] if place < len(name) else Text()
                second = value[place] if place < len(value) else Text()
                line = first + Text(" " * (names - first.cell_len)) + GAP + second
                line.rstrip()
                print_line(out, line)


def _folded(out: Console, words: Text, width: int) -> list[Text]:
    """The lines of a text that is too wide, cut between words where there are any."""
    return [words] if words.cell_len <= width else list(words.wrap(out, width, overflow="fold"))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
