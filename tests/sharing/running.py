"""Running queries that share a plan, next to the same queries on their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.consolidate import contents_at
from panes.operators.input import Input
from panes.operators.lower import lower
from panes.plan.nodes import QUERY, Node, StreamScan, TableScan
from panes.plan.walk import walk
from panes.sharing.index_slice import IndexSlice
from panes.sharing.predicates import Predicate
from panes.sharing.template import Template

Rows = Mapping[str, pa.Table]
"""The tuples of each stream and the changes of each table, with `_ts`."""

Spans = Sequence[tuple[Rows, int, int]]


def on_its_own(plan: Node, spans: Spans) -> list[pa.Table]:
    """The answer of a query at the end of each span."""
    dataflow = lower(plan)
    tables, answers = [], []
    for rows, since, clock in spans:
        came = {name: rows[name] for name in dataflow.inputs}
        tables.append(dataflow.process(came, since, clock).table)
        answers.append(contents_at(pa.concat_tables(tables), clock))
    return answers


def shared(
    template: Template, members: Mapping[int, Sequence[Predicate]], spans: Spans
) -> list[dict[int, pa.Table]]:
    """The answers of all queries of a group at the end of each span, by query."""
    inputs = {matched: Input(f"matched {matched.scan_number}") for matched in template.matched}
    indexes = [
        IndexSlice.of(matched, {query: predicates[number] for query, predicates in members.items()})
        for number, matched in enumerate(template.matched)
    ]
    dataflow = lower(template.plan, inputs=inputs)
    tables, answers = [], []
    for rows, since, clock in spans:
        came = {name: rows[name] for name in dataflow.inputs if name in rows}
        for index in indexes:
            scan = index.node.child
            assert isinstance(scan, StreamScan)
            came[inputs[index.node].name] = index.over_rows(rows[scan.stream]).exploded(rows[scan.stream])
        tables.append(dataflow.process(came, since, clock).table)
        whole = contents_at(pa.concat_tables(tables), clock)
        answers.append({query: answer_of(template, whole, query) for query in members})
    return answers


def answer_of(template: Template, whole: pa.Table, query: int) -> pa.Table:
    """The rows of one query, or what it answers when there are none."""
    mine = whole.filter(pc.equal(whole.column(QUERY), query)).drop_columns([QUERY])
    return mine if mine.num_rows else template.of_nothing


def scans_of(plan: Node) -> dict[str, StreamScan | TableScan]:
    """A scan of each stream and table that a plan reads, with all of its columns that tuples come with."""
    scans = (node for node in walk(plan) if isinstance(node, (StreamScan, TableScan)))
    return {node.stream if isinstance(node, StreamScan) else node.table: node for node in scans}
