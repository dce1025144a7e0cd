"""FROM: names looked up, derived streams and registered queries expanded in place, windows put on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from panes.language.binder.bind_lookup import window_over
from panes.language.binder.bind_unnest import bind_unnest
from panes.language.binder.joined_items import JoinedItems
from panes.language.binder.known_relations import find
from panes.language.binder.refusals import (
    check_always_on,
    check_has_times,
    check_rows_counted,
    slides_in_time,
)
from panes.language.binder.scope import Relation, Scope
from panes.language.names import same
from panes.language.parser.syntax import FromItem, SelectBlock, WindowClause
from panes.language.positions import did_you_mean, offset_of
from panes.language.statements import CreateDerivedStream, CreateQuery, CreateStream, CreateTable
from panes.plan.expressions import Column
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.nodes import GroupBy, Istream, Node, Project, Rstream, StreamScan, TableScan, Values, Window
from panes.plan.patterns import MONOTONIC, answer_pattern, has_internal, pattern_of
from panes.plan.schema import Field, Schema
from panes.plan.stream import TimestampBy
from panes.plan.walk import is_table_only, walk
from panes.plan.windows import NowWindow, RangeWindow, UnboundedWindow

if TYPE_CHECKING:
    from panes.language.binder.bind_query import QueryBinder


def bind_from(binder: QueryBinder, block: SelectBlock, scope: Scope) -> JoinedItems:
    """Fills the scope with the relations of FROM; returns them as far as they are joined in a given order, and the
    conditions of the other joins."""
    items = JoinedItems(scope, binder.catalog)
    for item in block.args["from_"]:
        if isinstance(item.this, exp.Anonymous):
            items.unnest(item, *bind_unnest(item, scope))
        else:
            items.add(item, *_relation(binder, item, scope))
    if scope.window is not None and not any(_has_window(p.node, scope.window) for p in items.parts):
        binder.refuse(
            "BEGIN … END is for streams, and there is none in FROM", scope.window, "leave BEGIN … END out"
        )
    return items


def _has_window(node: Node, clause: WindowClause) -> bool:
    return any(isinstance(n, Window) and n.spec is clause.args["spec"] for n in walk(node))


def _relation(binder: QueryBinder, item: FromItem, scope: Scope) -> tuple[Relation, Node]:
    window: WindowClause | None = item.args.get("window")
    if window is not None and scope.window is not None:
        binder.refuse(
            "BEGIN … END is for streams without a window of their own", window, "keep one of the two"
        )
    named = isinstance(item.this, exp.Identifier)
    if item.args.get("alias"):
        alias = item.args["alias"].name
    elif named:
        alias = item.this.name
    else:
        alias = f"query_{len(scope.relations) + 1}"
    prefix = scope.prefix_for(alias)
    node = _named(binder, item.this, prefix) if named else renamed(binder.query(item.this), prefix)
    ends = _ends_of(binder, node)
    if ends is not None:
        node, window = _alive(binder, node, ends, scope.window if window is None else window), None
    if item.args.get("columns"):
        node = _with_columns(binder, node, item.args["columns"], prefix, alias)
    if is_table_only(node):
        if window is not None:
            binder.refuse(f"{alias} is a table: it has no window", window, "leave the window out")
        return Relation(alias, prefix, node.schema, offset_of(item)), node
    if window is None and ends is None and pattern_of(node).pattern is MONOTONIC:
        window = scope.default_window()
    if window is not None:
        node = _windowed(binder, node, window, prefix, alias)
    return Relation(alias, prefix, node.schema, offset_of(item)), node


def _ends_of(binder: QueryBinder, node: Node) -> TimestampBy | None:
    """The column with the ends of the tuples of a stream, by its name in the plan, if they bring these."""
    if not isinstance(node, StreamScan):
        return None
    found = binder.catalog.stream(node.stream)
    if not isinstance(found, CreateStream) or found.stream.expires is None:
        return None
    return replace(found.stream.expires, column=f"{node.alias}.{found.stream.expires.column}")


def _alive(binder: QueryBinder, scan: Node, ends: TimestampBy, clause: WindowClause | None) -> Node:
    """A stream whose tuples bring their own ends, within a window if one is written."""
    if clause is None:
        return Window(scan, LifetimeWindow(ends))
    spec = clause.args["spec"]
    if spec.internal or not isinstance(spec, (RangeWindow, NowWindow, UnboundedWindow)):
        binder.refuse(
            "the tuples of a stream with EXPIRES BY leave at times of their own, which this window does not know",
            clause,
            "RANGE, with or without SLIDE, holds the tuples that are alive; so does no window at all",
        )
    return Window(scan, LifetimeWindow(ends, spec))


def _named(binder: QueryBinder, name: exp.Identifier, prefix: str) -> Node:
    found = find(binder.catalog, name.name)
    match found:
        case CreateStream():
            return StreamScan(found.name, prefix, _prefixed(found.columns, prefix), binder.expansion.queries)
        case CreateTable():
            columns = _prefixed(found.columns, prefix)
            return TableScan(found.name, prefix, columns, found.retroactive, queries=binder.expansion.queries)
        case CreateDerivedStream():
            return renamed(binder.inside(found, name).stream(found.query), prefix)
        case CreateQuery():
            plan = binder.inside(found, name).query(found.query.tree)
            return renamed(as_stream(plan) if has_internal(plan) else plan, prefix)
    hint = did_you_mean(name.name, list(binder.catalog.names()))
    return binder.refuse(f"there is no stream, table or query named {name.name!r}", name, hint)


def _with_columns(
    binder: QueryBinder, node: Node, names: Sequence[exp.Identifier], prefix: str, alias: str
) -> Node:
    """The relation with other names for its columns, from the first one on."""
    old = [f.name[len(prefix) + 1 :] for f in node.schema]
    if len(names) > len(old):
        binder.refuse(f"{alias} has {len(old)} columns, and these are {len(names)} names", names[len(old)])
    new = [*(name.name for name in names), *old[len(names) :]]
    for place, name in enumerate(names):
        if name.name.startswith("_"):
            binder.refuse("column names do not begin with an underscore", name)
        if any(same(name.name, other) for other in new[:place] + new[place + 1 :]):
            binder.refuse(f"two columns of {alias} are called {name.name!r}", name)
    prefixed = [f"{prefix}.{name}" for name in new]
    if isinstance(node, Project):
        return replace(
            node, columns=tuple((name, e) for name, (_, e) in zip(prefixed, node.columns, strict=True))
        )
    if isinstance(node, Values):
        return _renamed_values(node, prefixed)
    fields = zip(prefixed, node.schema, strict=True)
    return Project(node, tuple((name, Column(f.type, f.name)) for name, f in fields))


def _renamed_values(node: Values, names: Sequence[str]) -> Values:
    fields = (Field(name, type_) for name, type_ in zip(names, node.schema.types, strict=True))
    return replace(node, columns=Schema(tuple(fields)))


def _prefixed(columns: Schema, prefix: str) -> Schema:
    return Schema(tuple(Field(f"{prefix}.{f.name}", f.type) for f in columns))


def renamed(node: Node, prefix: str) -> Node:
    """The same relation with its columns named `prefix.column`."""
    if isinstance(node, Project):
        columns = tuple((f"{prefix}.{name}", e) for name, e in node.columns)
        kept = all(isinstance(e, Column) and e.name == name for name, e in columns)
        if kept and len(columns) == len(node.child.schema):
            return node.child  # SELECT * under the alias it already has
        return replace(node, columns=columns)
    if isinstance(node, Values):
        return _renamed_values(node, [f"{prefix}.{name}" for name in node.schema.names])
    return Project(node, tuple((f"{prefix}.{f.name}", Column(f.type, f.name)) for f in node.schema))


def _windowed(binder: QueryBinder, node: Node, clause: WindowClause, prefix: str, alias: str) -> Node:
    spec = clause.args["spec"]
    check_always_on("a window over it", node, binder.text, offset_of(clause))
    check_has_times(node, binder.text, offset_of(clause))
    check_rows_counted(node, spec, binder.text, offset_of(clause))
    pattern, reason = answer_pattern(node)
    if pattern is not MONOTONIC:
        binder.refuse(
            f"a window stands on a stream, and {alias} is a relation that changes ({reason})", clause,
            "make its windows INTERNAL, or put Istream(…) around it",
        )  # fmt: skip
    if has_internal(node):
        node = as_stream(node)
    if spec.partition_by:
        columns = []
        for written in spec.partition_by:
            field = next((f for f in node.schema if same(f.name, f"{prefix}.{written}")), None)
            if field is None:
                names = [f.name[len(prefix) + 1 :] for f in node.schema]
                hint = did_you_mean(written, names)
                binder.refuse(f"{alias} has no column named {written!r}", clause, hint)
            columns.append(field.name)
        spec = replace(spec, partition_by=tuple(columns))
    return window_over(node, spec)


def as_stream(node: Node) -> Node:
    """What INTERNAL windows produce, as the stream it is.

    Groups give a value at every slide in time, whether it changed or not; everything else gives what is new.
    """
    return Rstream(node) if _is_grouped(node) and None not in slides_in_time(node) else Istream(node)


def _is_grouped(node: Node) -> bool:
    return isinstance(node, GroupBy) or any(_is_grouped(child) for child in node.children)
