"""`GROUP BY ALL`: by every item of the SELECT list that has no aggregate."""

from __future__ import annotations

from sqlglot import exp

from panes.language.binder.bind_groups import is_aggregate, outside_subqueries, unaliased
from panes.language.parser.syntax import Grouping, Nested, SelectBlock
from panes.language.positions import offset_of, refuse


def has_all(block: SelectBlock) -> bool:
    """Whether a SELECT has GROUP BY ALL."""
    return any(
        isinstance(key, Grouping) and key.args["kind"] == "ALL" for key in block.args.get("group") or ()
    )


def group_by_all(block: SelectBlock, text: str) -> SelectBlock:
    """The same SELECT with the keys that ALL means, each by its place. Constants are none."""
    keys: list[exp.Expression] = []
    for place, item in enumerate(block.expressions, start=1):
        if item.is_star:
            refuse(
                "* cannot stand next to GROUP BY or an aggregate", text, offset_of(item), "name the columns"
            )
        inside = list(outside_subqueries(unaliased(item)))
        if any(map(is_aggregate, inside)) or not any(
            isinstance(node, exp.Column | Nested) for node in inside
        ):
            continue
        key = exp.Literal.number(place)
        key.meta["start"] = offset_of(item)
        keys.append(key)
    written = block.copy()
    assert isinstance(written, SelectBlock)
    written.set("group", keys or None)
    return written
