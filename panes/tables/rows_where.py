"""The rows of a table for which a condition is true: by key where the condition names keys, else by a scan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pyarrow as pa

from panes.delta.evaluate import mask_of
from panes.delta.rows import take, where
from panes.language.statements import CreateTable
from panes.plan.expressions import Call, Column, Expression, Literal, Value
from panes.tables.net_change import weighted
from panes.tables.table_contents import Contents

_MOST_KEYS = 10_000
"""The most keys that are looked up one by one: IN lists of several columns multiply."""


def rows_where(contents: Contents, condition: Expression | None) -> pa.Table:
    """The different rows for which the condition is true (None: all); `_weight` is how often each is there."""
    keys = None if condition is None else _keys_named(contents.definition, condition)
    if condition is None or keys is None:
        return contents.matching(condition)
    rows = contents.with_keys(keys)
    fulfills = np.asarray(mask_of(condition, rows))
    return weighted(rows if fulfills.all() else take(rows, where(fulfills)), 1)


def _keys_named(definition: CreateTable, condition: Expression) -> pa.Table | None:
    """The primary keys that a row must have one of for the condition to be true; None when it does not say."""
    values: dict[str, list[Value]] = {}
    for part in _conjuncts(condition):
        match part:
            case (
                Call(function="eq", args=(Column(name=name), Literal(value=value)))
                | Call(function="eq", args=(Literal(value=value), Column(name=name)))
            ):
                values.setdefault(name, [value])
            case Call(function="in", args=(Column(name=name), *options)):
                literals = [option.value for option in options if isinstance(option, Literal)]
                if len(literals) == len(options):
                    values.setdefault(name, literals)
    named = [values.get(name) for name in definition.primary_key]
    if not named or not all(named):
        return None
    keys = list(product(*(found for found in named if found)))
    if len(keys) > _MOST_KEYS:
        return None
    columns = zip(*keys, strict=True)
    fields = [definition.columns[name] for name in definition.primary_key]
    return pa.table(
        {f.name: pa.array(column, f.type.arrow) for f, column in zip(fields, columns, strict=True)}
    )


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that are all true when this one is."""
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.args:
            yield from _conjuncts(part)
    else:
        yield condition
