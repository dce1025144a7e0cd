"""The shape of a plan in one line: how its joins, negations, DISTINCTs and groups stand in one another."""

from __future__ import annotations

from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Join,
    MultiJoin,
    Node,
    OuterJoin,
    SemiJoin,
    StreamScan,
    TableScan,
    Union,
)

_SIGNS: dict[type[Node], str] = {
    Join: "⋈",
    OuterJoin: "⟕",
    SemiJoin: "⋉",
    AntiJoin: "▷",
    Union: "∪",
    Intersect: "∩",
    Except: "−",
}
_LETTERS: dict[type[Node], str] = {Distinct: "δ", GroupBy: "γ"}


def shape(plan: Node) -> str:
    """The plan without what does not change its shape: streams and tables by their aliases, others by signs."""
    return _bare(_shape(plan))


def _shape(node: Node) -> str:
    if _is_chain(node):
        return _alias(node)
    inside = [_shape(child) for child in node.children]
    if isinstance(node, MultiJoin):
        return f"⋈({', '.join(map(_bare, inside))})"
    if type(node) in _SIGNS:
        sign = "×" if isinstance(node, Join) and not node.left_keys else _SIGNS[type(node)]
        return f"({inside[0]} {sign} {inside[1]})"
    if type(node) in _LETTERS:
        return f"{_LETTERS[type(node)]}({_bare(inside[0])})"
    return inside[0] if inside else "values"


def _is_chain(node: Node) -> bool:
    """Whether a node is one stream or table, whatever was done to its rows one by one."""
    while len(node.children) == 1 and type(node) not in _LETTERS:
        node = node.children[0]
    return isinstance(node, (StreamScan, TableScan))


def _alias(node: Node) -> str:
    """What a stream or table is called where its rows come from: that of a query has the alias of the query."""
    aliases = {name.rpartition(".")[0] for name in node.schema.names}
    if len(aliases) == 1 and "" not in aliases:
        return aliases.pop()
    return node.alias if isinstance(node, (StreamScan, TableScan)) else _alias(node.children[0])


def _bare(text: str) -> str:
    """Without the parentheses around the whole, which only a node of two children has."""
    return text[1:-1] if text.startswith("(") else text
