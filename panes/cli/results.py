"""Printing what a statement gave back."""

from __future__ import annotations

import pyarrow as pa
from rich.console import Console

from panes.answers.answer import Answer
from panes.cli.tables import print_rows


def print_result(out: Console, result: object) -> None:
    """Rows as a table and text as it is; what else a statement gives back is for programs."""
    if isinstance(result, Answer):
        print_rows(out, result.table)
    elif isinstance(result, pa.Table):
        print_rows(out, result)
    elif isinstance(result, str):
        out.print(result, highlight=False, markup=False, soft_wrap=True)
