"""Rows in any form as a table in the declared types, or an error with the row and the column."""

from __future__ import annotations

import pyarrow as pa

from panes.ingest.exact_values import exact
from panes.ingest.given_rows import Rows, columns_given
from panes.ingest.inexact import Inexact
from panes.ingest.receiver import Receiver


def conforming_rows(receiver: Receiver, rows: Rows) -> pa.Table:
    """The rows, in the order of the columns. Raises SourceError or ConstraintError when a value does not fit."""
    given = columns_given(receiver, rows)
    columns = []
    for field in receiver.columns:
        try:
            columns.append(exact(given[field.name], field.type))
        except Inexact as error:
            raise receiver.refusal(f"row {error.row}, column {field.name!r}: {error.problem}") from None
    return pa.table(columns, schema=receiver.columns.arrow)
