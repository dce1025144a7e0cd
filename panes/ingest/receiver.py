"""Who gets rows that a program gives: a stream that they are pushed to, or a table that they are loaded into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from panes.errors import ConstraintError, PanesError, SourceError
from panes.language.statements import CreateTable
from panes.plan.schema import Schema
from panes.plan.stream import Stream


@dataclass(frozen=True)
class Receiver:
    """The name and the columns, and the words for what becomes of the rows."""

    kind: Literal["stream", "table"]
    name: str
    columns: Schema

    @classmethod
    def of(cls, receiver: Stream | CreateTable) -> Receiver:
        kind: Literal["stream", "table"] = "stream" if isinstance(receiver, Stream) else "table"
        return cls(kind, receiver.name, receiver.columns)

    @property
    def given(self) -> str:
        """How the rows are given."""
        return "pushed" if self.kind == "stream" else "loaded"

    def refusal(self, problem: str) -> PanesError:
        """The error for rows that it does not take."""
        if self.kind == "stream":
            return SourceError(f"stream {self.name!r}: {problem}; nothing was stored")
        return ConstraintError(f"table {self.name!r}: {problem}; nothing was changed")
