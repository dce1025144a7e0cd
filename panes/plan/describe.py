"""What a node of a plan does, in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from panes.plan import nodes
from panes.plan.durations import duration_text
from panes.plan.estimated_group_by import HIDDEN_SUM, is_hidden
from panes.plan.expressions import Aggregate, Column, Expression, columns_of
from panes.plan.lookups import Matching
from panes.plan.stated_error import stated_error


def describe(node: nodes.Node) -> str:
    """The node as EXPLAIN shows it, without its children."""
    return _CASES[type(node)](node)


def _scan(node: nodes.StreamScan) -> str:
    alias = "" if node.alias == node.stream else f" AS {node.alias}"
    return f"Stream {node.stream}{alias}{_of_queries(node)}"


def _table(node: nodes.TableScan) -> str:
    alias = "" if node.alias == node.table else f" AS {node.alias}"
    return (
        f"{'Table' if node.retroactive else 'Table (non retroactive)'} {node.table}{alias}{_of_queries(node)}"
    )


def _of_queries(node: nodes.StreamScan | nodes.TableScan) -> str:
    """Where the text that reads a stream or table stands, unless it is that of the query itself."""
    return "," * bool(node.queries) + "".join(f" of query {name}" for name in node.queries)


def _temporal_filter(node: nodes.TemporalFilter) -> str:
    symbol = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "="}[node.op]
    distance = node.distance_us
    by = f" {'-' if distance < 0 else '+'} INTERVAL {duration_text(abs(distance))}" if distance else ""
    return f"Select while {node.value} {symbol} now(){by}"


def _project(node: nodes.Project) -> str:
    below = node.child.schema.names
    if all(isinstance(e, Column) for _, e in node.columns) and _bare(node.schema.names) == _bare(below):
        old, new = _aliases(below), _aliases(node.schema.names)
        if len(old) == len(new) == 1 and new != {""}:
            return " ".join(["Rename", *(alias for alias in old if alias), "to", new.pop()])
    kept = [(name, e) for name, e in node.columns if isinstance(e, Column) and e.name == name]
    if tuple(name for name, _ in kept) == below and len(node.columns) > len(kept):
        added = (str(e) for name, e in node.columns if name not in below)
        return f"Project *, {', '.join(added)}"
    return "Project " + ", ".join(_item(name, e) for name, e in node.columns if not is_hidden(name))


def _bare(names: Iterable[str]) -> list[str]:
    return [name.rpartition(".")[2] for name in names]


def _aliases(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[0] for name in names}


def _item(name: str, expression: Expression) -> str:
    if any(read.startswith(HIDDEN_SUM) for read in columns_of(expression)):
        return f"estimate of {name}"
    if str(expression) == name:
        return name
    if isinstance(expression, Column) and "." not in name and expression.name.rpartition(".")[2] == name:
        return expression.name
    return f"{expression} AS {name}"


def _group_by(node: nodes.GroupBy) -> str:
    keys = ", ".join(node.keys) or "all rows"
    shown = [_aggregate(node, a) for a in node.aggregates if not is_hidden(a.name)]
    hidden = len(node.aggregates) - len(shown)
    aggregates = ", ".join([*shown, *([f"{hidden} sums for estimates"] if hidden else [])])
    return f"Group by {keys}" + (f": {aggregates}" if aggregates else "")


def _aggregate(node: nodes.GroupBy, aggregate: Aggregate) -> str:
    """An aggregate; with what may be wrong in it, where it is approximate."""
    error = stated_error(node, aggregate)
    return aggregate.name if error is None else f"{aggregate.name} ({error})"


def _over(node: nodes.Over) -> str:
    by = [f"partition by {', '.join(node.partition_by)}"] if node.partition_by else []
    order = [f"order by {', '.join(map(str, node.order))}"] if node.order else []
    return f"Over {' '.join([*by, *order]) or 'all rows'}: {', '.join(map(str, node.functions))}"


def _top_n(node: nodes.TopN) -> str:
    places = (
        f"First {node.limit}" if not node.offset else f"Rows {node.offset + 1} to {node.offset + node.limit}"
    )
    of = f" of each {', '.join(node.partition_by)}" if node.partition_by else ""
    by = f" by {', '.join(map(str, node.order))}" if node.order else " by all columns"
    return places + of + by


def _matching(word: str, of_lookup: str) -> Callable[[Any], str]:
    def text(node: Matching) -> str:
        pairs = [f"{a} = {b}" for a, b in zip(node.left_keys, node.right_keys, strict=True)]
        if node.residual is not None:
            pairs.append(str(node.residual))
        shown = word if node.time is None else of_lookup
        on = f"on {' AND '.join(pairs)}" if pairs else "of all pairs"
        at = "" if node.time is None else f", at the time of {_tuple_of(node.time)}"
        return f"{shown} {on}{at}"

    return text


def _multi_join(node: nodes.MultiJoin) -> str:
    equal = [" = ".join(names) for names in zip(*node.keys, strict=True)]
    if node.residual is not None:
        equal.append(str(node.residual))
    return f"Join of {len(node.inputs)} on {' AND '.join(equal)}"


def _tuple_of(time: str) -> str:
    """The alias of the tuple whose time a column has."""
    return time.rpartition(".")[0] or "the tuple"


def _anti_join(node: nodes.AntiJoin) -> str:
    negation = " (NOT IN)" if node.null_aware else ""
    return _matching(f"Anti-join{negation}", f"Lookup, anti-join{negation}")(node)


def _outer_join(node: nodes.OuterJoin) -> str:
    return _matching("Full join" if node.is_full else "Left join", "Lookup, left join")(node)


def _restorable(word: str) -> Callable[[Any], str]:
    return lambda node: f"{word} RESTORE" if node.restore else word


_CASES: dict[type[nodes.Node], Callable[[Any], str]] = {
    nodes.StreamScan: _scan,
    nodes.TableScan: _table,
    nodes.Values: lambda node: f"Values, {len(node.rows)} row{'s' * (len(node.rows) != 1)}",
    nodes.Window: lambda node: f"Window {node.spec.text()}",
    nodes.Drop: lambda node: f"Drop: keep a share of {node.stream}",
    nodes.Select: lambda node: f"Select {node.predicate}",
    nodes.TemporalFilter: _temporal_filter,
    nodes.Project: _project,
    nodes.Unnest: lambda node: f"Unnest {node.expression} AS {node.column}",
    nodes.Matched: lambda _: "Match with the selections of all queries of the group",
    nodes.Signed: lambda node: f"Sign with which of {len(node.predicates)} selections are passed",
    nodes.Synopsis: lambda node: f"Synopsis ({node.form})",
    nodes.JoinSynopsis: lambda _: "Synopsis (cells)",
    nodes.MatchedPairs: lambda _: "Match pairs with what all queries of the group ask",
    nodes.Timed: lambda _: "Keep tuples by key and time",
    nodes.Distinct: lambda _: "Distinct",
    nodes.GroupBy: _group_by,
    nodes.Over: _over,
    nodes.TopN: _top_n,
    nodes.OrderBy: lambda node: f"Sort by {', '.join(map(str, node.order))}",
    nodes.Join: _matching("Join", "Lookup"),
    nodes.MultiJoin: _multi_join,
    nodes.OuterJoin: _outer_join,
    nodes.SemiJoin: _matching("Semi-join", "Lookup, semi-join"),
    nodes.AntiJoin: _anti_join,
    nodes.Union: lambda _: "Union",
    nodes.Intersect: lambda _: "Intersect",
    nodes.Except: lambda _: "Except",
    nodes.Istream: _restorable("Istream"),
    nodes.Dstream: lambda _: "Dstream",
    nodes.Rstream: _restorable("Rstream"),
    nodes.Wstream: lambda node: f"Wstream {node.spec.text()}",
}
