"""Results as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, TextIO

import pyarrow as pa
from rich.console import Console

from panes.answers.answer import Answer
from panes.cli.in_order import answer_in_order
from panes.cli.tables import print_line
from panes.cli.value_text import escaped, exact

_AT_ONCE = 10_000
"""Rows that are turned into text at once."""


class JsonResults:
    """A JSON object on one line for each result.

    An answer has `query`, when it is that of a named query, `as_of`, `complete_from`, when its windows may lack
    tuples from before that, `kept`, the share of each stream when some was shed, `count`, the number of all its
    rows, and `rows`. A table has `count` and `rows`, and EXPLAIN has `text`. Integers and doubles have all their
    digits, NaN and infinities are the texts "NaN", "Infinity" and "-Infinity", instants are in ISO 8601.
    """

    def __init__(self, out: TextIO, notes: Console, limit: int | None) -> None:
        self._out = out
        self._notes = notes
        self._limit = limit

    def answer(self, answer: Answer, name: str | None = None) -> None:
        head: dict[str, Any] = {} if name is None else {"query": name}
        head["as_of"] = None if answer.as_of is None else _iso(answer.as_of)
        if answer.complete_from is not None:
            head["complete_from"] = _iso(answer.complete_from)
        if answer.is_partial:
            head["kept"] = dict(answer.kept)
        self._write(head, answer_in_order(answer))

    def table(self, table: pa.Table) -> None:
        self._write({}, table)

    def text(self, words: str) -> None:
        self._out.write(_json({"text": words}) + "\n")
        self._out.flush()

    def note(self, words: str) -> None:
        print_line(self._notes, "\n".join(map(escaped, words.splitlines())))

    def _write(self, head: dict[str, Any], table: pa.Table) -> None:
        """Rows are written as they are made: all of them at once may not fit into memory."""
        opened = _json({**head, "count": table.num_rows, "rows": []})
        self._out.write(opened.removesuffix("]}"))
        comma = ""
        for batch in table.slice(0, self._limit).to_batches(_AT_ONCE):
            columns = [exact(pa.chunked_array([column])) for column in batch.columns]
            for values in zip(*columns, strict=True):
                self._out.write(comma + _json(dict(zip(table.column_names, values, strict=True))))
                comma = ", "
        self._out.write("]}\n")
        self._out.flush()


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
