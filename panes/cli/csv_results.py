"""Results as CSV."""

from __future__ import annotations

import json
from typing import Any, TextIO

import pyarrow as pa
from rich.console import Console

from panes.answers.answer import Answer, may_lack, was_shed
from panes.cli.in_order import answer_in_order
from panes.cli.tables import print_line
from panes.cli.value_text import escaped, exact

_AT_ONCE = 10_000
"""Rows that are turned into text at once."""


class CsvResults:
    """Comma-separated values as in RFC 4180, with a line of names first, and lines that end with a newline.

    NULL is empty, and an empty text is `""`. Lists are JSON in quotes. An empty line stands between two results.
    """

    def __init__(self, out: TextIO, notes: Console, limit: int | None) -> None:
        self._out = out
        self._notes = notes
        self._limit = limit
        self._is_first = True

    def answer(self, answer: Answer, name: str | None = None) -> None:  # noqa: ARG002
        self._write(answer_in_order(answer))
        if answer.complete_from is not None:
            self.note(may_lack(answer.complete_from.isoformat()))
        if answer.is_partial:
            self.note(was_shed(answer.kept))

    def table(self, table: pa.Table) -> None:
        self._write(table)

    def _write(self, table: pa.Table) -> None:
        self._separate()
        self._out.write(",".join(map(cell, table.column_names)) + "\n")
        for batch in table.slice(0, self._limit).to_batches(_AT_ONCE):
            columns = [exact(pa.chunked_array([column])) for column in batch.columns]
            self._out.writelines(",".join(map(cell, row)) + "\n" for row in zip(*columns, strict=True))
        self._out.flush()

    def text(self, words: str) -> None:
        self._separate()
        self._out.write(words + "\n")
        self._out.flush()

    def note(self, words: str) -> None:
        print_line(self._notes, "\n".join(map(escaped, words.splitlines())))

    def _separate(self) -> None:
        if not self._is_first:
            self._out.write("\n")
        self._is_first = False


def cell(value: Any) -> str:
    """An exact value between commas.

    >>> [cell(value) for value in (None, "", "a,b", 0.5, True, [1, None])]
    ['', '""', '"a,b"', '0.5', 'true', '"[1, null]"']
    """
    if value is None:
        return ""
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not words or any(mark in words for mark in ',"\r\n'):
        return '"' + words.replace('"', '""') + '"'
    return words
