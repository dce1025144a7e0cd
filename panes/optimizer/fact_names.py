"""The names under which facts of nodes are kept: those who measure and those who plan ask here.

A name says what was measured and not where it stood in a plan, so the same join in another order has the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from panes.optimizer.origins import Origins, columns_text, condition_text, match_text, origins_of
from panes.plan import nodes
from panes.plan.expressions import Expression, columns_of, conjuncts, substitute
from panes.plan.walk import walk

_Matching = nodes.Join | nodes.OuterJoin | nodes.SemiJoin | nodes.AntiJoin


def selection_name(predicate: Expression, child: nodes.Node) -> str:
    """The name of the selectivity of a condition over a node."""
    return condition_text(predicate, origins_of(child))


def join_name(join: _Matching) -> str:
    """The name of the selectivity of a join: its condition, and of each side what decides which rows of the
    relations that the condition reads come to it. Other relations that were joined before do not count."""
    left, right = origins_of(join.left), origins_of(join.right)
    text = match_text(join.left_keys, join.right_keys, join.residual, left, right)
    read = frozenset() if join.residual is None else columns_of(join.residual)
    sides = sorted(
        _limits(side, _relations([*keys, *read], origins))
        for side, keys, origins in (
            (join.left, join.left_keys, left),
            (join.right, join.right_keys, right),
        )
    )
    return " of ".join([text, *(f"({side})" for side in sides if side)])


def exists_name(node: _Matching) -> str:
    """The name of the share of the rows of the left that have a match, or that have none."""
    kind = "NOT EXISTS" if isinstance(node, nodes.AntiJoin) else "EXISTS"
    return f"{kind} {join_name(node)}"


def unnest_name(unnest: nodes.Unnest) -> str:
    """The name of the number of items that rows have."""
    return f"UNNEST {condition_text(unnest.expression, origins_of(unnest.child))}"


def matched_name(matched: nodes.Matched) -> str:
    """The name of the number of queries that share a plan which a row is for."""
    origins = origins_of(matched.child)
    streams = sorted(_relations(list(origins), origins))
    limits = _limits(matched.child, set(streams))
    return f"QUERIES OVER {', '.join(streams)}" + (f" of ({limits})" if limits else "")


def distinct_name(node: nodes.Node, columns: Sequence[str]) -> str:
    """The name of the number of different values that columns of a node have."""
    origins = origins_of(node)
    limits = _limits(node, _relations(columns, origins))
    return columns_text(columns, origins) + (f" of ({limits})" if limits else "")


def output_name(operator: str, node: nodes.Node) -> str:
    """The name of the number of rows that an operator gives for each that comes to it, of one which brings rows
    together that come in one span or slide: how many that are depends on its windows, too."""
    origins = origins_of(node)
    if isinstance(node, nodes.GroupBy):
        by = columns_text(node.keys, origins)
    elif isinstance(node, nodes.TopN):
        by = f"{columns_text(node.partition_by, origins)} LIMIT {node.limit} OFFSET {node.offset}"
    else:
        by = columns_text(node.schema.names, origins)
    return f"{operator} {by} OVER {' AND '.join(text for child in node.children for text in _windows(child))}"


def _windows(node: nodes.Node) -> list[str]:
    """The windows of streams that a node is made of, and what limits their rows."""
    found = []
    for window in walk(node):
        if isinstance(window, (nodes.Window, nodes.Wstream)):
            origins = origins_of(window)
            streams = ", ".join(sorted(_relations(list(origins), origins)))
            found.append(f"{streams} {window.spec.text()}")
    origins = origins_of(node)
    limits = _limits(node, _relations(list(origins), origins))
    return sorted(found) + ([limits] if limits else [])


def early_name(negation: nodes.AntiJoin | nodes.Except) -> str:
    """The name of the share of results of a negation that leave early."""
    if isinstance(negation, nodes.AntiJoin):
        return exists_name(negation)
    sides = (distinct_name(side, side.schema.names) for side in negation.children)
    return " EXCEPT ".join(sides)


def _relations(columns: Sequence[str], origins: Origins) -> Set[str]:
    """The streams and tables that columns come from."""
    found = (columns_of(origins[name]) for name in columns if name in origins)
    return {_relation(name) for names in found for name in names}


def _relation(origin: str) -> str:
    return origin.rpartition(".")[0]


def _limits(node: nodes.Node, relations: Set[str]) -> str:
    """What decides which rows of relations are in a node, in one order."""
    return " AND ".join(sorted(set(_found(node, relations))))


def _found(node: nodes.Node, relations: Set[str]) -> Iterator[str]:
    match node:
        case nodes.Select():
            origins = origins_of(node.child)
            for part in conjuncts(node.predicate):
                if _relations(list(columns_of(part)), origins) & relations:
                    yield str(substitute(part, origins))
        case nodes.Window() if node.spec.partition_by:
            origins = origins_of(node)
            yield node.spec.text(lambda name: str(origins[name]))
        case nodes.Distinct():
            yield f"DISTINCT {columns_text(node.schema.names, origins_of(node))}"
        case nodes.GroupBy():
            yield f"GROUP BY {columns_text(node.keys, origins_of(node))}"
        case nodes.TopN():
            yield f"LIMIT {node.limit}"
        case nodes.SemiJoin() | nodes.AntiJoin():
            origins = origins_of(node.left)
            if _relations(node.left_keys, origins) & relations:
                yield exists_name(node)
            yield from _found(node.left, relations)
            return
    for child in node.children:
        yield from _found(child, relations)
