"""The rows of a table for which a condition is true: by key where the condition names keys, else by a scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pyarrow as pa

from panes.delta.evaluate import mask_of
from panes.delta.rows import take, where
from panes.language.statements import CreateTable
from panes.plan.expressions import Call, Column, Expression, Literal, Value, listed_constants
from panes.tables.net_change import weighted
from panes.tables.table_contents import Contents

_MOST_KEYS = 10_000
"""The most keys that are looked up one by one: IN lists of several columns multiply."""


def rows_where(contents: Contents, condition: Expression | None) -> pa.Table:
    """The different rows for which the condition is true (None: all); `_weight` is how often each is there."""
    if condition is None:
        return contents.matching(None)
    named = _keys_named(contents.definition, condition)
    if named is None:
        return contents.matching(condition)
    keys, says_more = named
    rows = contents.with_keys(keys)
    return weighted(take(rows, where(np.asarray(mask_of(condition, rows)))) if says_more else rows, 1)


def _keys_named(definition: CreateTable, condition: Expression) -> tuple[pa.Table, bool] | None:
    """The primary keys of which a row must have one for the condition to be true, and whether it says more than
    that; None when it does not name whole keys."""
    values: dict[str, Sequence[Value]] = {}
    says_more = False
    for part in _conjuncts(condition):
        column, options = _options(part)
        if column in definition.primary_key and column not in values:
            values[column] = options
        else:
            says_more = True
    if not definition.primary_key or len(values) < len(definition.primary_key):
        return None
    keys = list(product(*(values[name] for name in definition.primary_key)))
    if len(keys) > _MOST_KEYS:
        return None
    fields = [definition.columns[name] for name in definition.primary_key]
    columns = zip(*keys, strict=True)
    arrays = {f.name: pa.array(column, f.type.arrow) for f, column in zip(fields, columns, strict=True)}
    return pa.table(arrays), says_more


def _options(condition: Expression) -> tuple[str, Sequence[Value]]:
    """The column and the constants, if a condition says that the one equals one of the others; else no column."""
    match condition:
        case (
            Call(function="eq", args=(Column(name=name), Literal(value=value)))
            | Call(function="eq", args=(Literal(value=value), Column(name=name)))
        ):
            return name, [value]
        case Call(function="in", args=(Column(name=name), *_)):
            values = listed_constants(condition)
            return ("", ()) if values is None else (name, values)
    return "", ()


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that are all true when this one is."""
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.args:
            yield from _conjuncts(part)
    else:
        yield condition
