"""The rows that INSERT gives, as a table in the types of the columns."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.evaluate import evaluate
from panes.delta.zeros import with_unsigned_zeros
from panes.language.binder.bind_insert import BoundSelection, BoundValues


def inserted_rows(insert: BoundValues | BoundSelection, answer: pa.Table | None = None) -> pa.Table:
    """The rows of VALUES, or those that the answer of a query becomes.

    Raises EvaluationError for a value that does not fit.
    """
    schema = insert.into.columns.arrow
    if isinstance(insert, BoundValues):
        columns = zip(*insert.rows, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    else:
        arrays = [evaluate(column, answer) for column in insert.columns]
    return with_unsigned_zeros(pa.table(arrays, schema=schema))
