"""The error for a value that a declared type does not take."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


class Inexact(Exception):
    """A value that the declared type does not take."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row
        """Counted from 0."""
        self.problem = problem


def shown(value: Any) -> str:
    """A value as an error shows it."""
    if isinstance(value, pa.Scalar):
        try:
            value = value.as_py()
        except (OverflowError, ValueError):  # beyond what Python holds, or no text
            return str(value.cast(pa.int64()) if pa.types.is_timestamp(value.type) else value.type)
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
