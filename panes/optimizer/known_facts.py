"""All facts that are known: what epochs add to them, and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from panes.optimizer.cost_sums import cost_after, cost_sums, costs_of
from panes.optimizer.fact_sums import KEPT, KEPT_OF_INVOCATIONS, FactSums, ratio_after
from panes.optimizer.observed_facts import Observed
from panes.optimizer.statistics import Fact, FactName, Statistics

KnownFacts = Mapping[FactName, FactSums]
"""The sums of facts. Those of costs stand under the name of the operator alone."""

_MOST = 4000
"""How many facts are kept; those that were not seen for the longest time go."""
_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("name", pa.string()),
        ("sums", pa.list_(pa.float64())),
        ("epochs", pa.int64()),
        ("seen", pa.int64()),
    ]
)


def facts_after(
    before: KnownFacts, observed: Observed, values: Mapping[FactName, float], epoch: int
) -> KnownFacts:
    """What is known after an epoch; `values` are of facts that are measured as they are, and not added up."""
    found = dict(before)
    for name, (numerator, denominator) in observed.ratios.items():
        left = KEPT_OF_INVOCATIONS if name.kind == "invocations" else KEPT
        found[name] = ratio_after(before.get(name), numerator, denominator, epoch, left)
    for operator, steps in observed.costs.items():
        cost = FactName("cost", operator)
        found[cost] = cost_after(before.get(cost), cost_sums(steps), epoch)
    for name, value in values.items():
        old = before.get(name)
        found[name] = FactSums((value, 1.0), 1 if old is None else old.epochs + 1, epoch)
    if len(found) > _MOST:
        kept = sorted(found, key=lambda name: found[name].seen, reverse=True)[:_MOST]
        found = {name: found[name] for name in kept}
    return found


def statistics_of(known: KnownFacts, table_rows: Mapping[str, int] | None = None) -> Statistics:
    """The facts themselves; `table_rows` says how many rows each table has."""
    facts = {FactName("rows", table): Fact(float(rows), 1) for table, rows in (table_rows or {}).items()}
    for name, known_sums in known.items():
        if name.kind == "cost":
            for part, value in costs_of(name.name, known_sums.sums).items():
                facts[FactName("cost", f"{name.name} {part}")] = Fact(value, known_sums.epochs)
        elif known_sums.sums[1]:
            facts[name] = Fact(known_sums.sums[0] / known_sums.sums[1], known_sums.epochs)
    return Statistics(facts)


def stored(known: KnownFacts) -> bytes:
    """The facts as they are stored."""
    columns: list[Any] = [[name.kind for name in known], [name.name for name in known]]
    columns += [list(column) for column in zip(*known.values(), strict=True)] or [[], [], []]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SCHEMA) as stream:
        stream.write_table(pa.table(columns, schema=_SCHEMA))
    return bytes(sink.getvalue())


def read_from(content: bytes) -> KnownFacts:
    """The facts that were stored; none where nothing was."""
    if not content:
        return {}
    columns = pa.ipc.open_stream(content).read_all().to_pydict()
    names = map(FactName, columns["kind"], columns["name"])
    sums = map(FactSums, map(tuple, columns["sums"]), columns["epochs"], columns["seen"])
    return dict(zip(names, sums, strict=True))
