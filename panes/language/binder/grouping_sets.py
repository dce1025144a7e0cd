"""GROUPING SETS, ROLLUP and CUBE: the sets of keys that a GROUP BY asks for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import prod

from sqlglot import exp

from panes.language.parser.syntax import Grouping
from panes.language.positions import offset_of, refuse

MOST_SETS = 64
"""Sets of keys that one GROUP BY may have: each is a group-by of its own."""

Keys = tuple[exp.Expression, ...]


def grouping_sets(items: Sequence[exp.Expression], text: str) -> list[Keys]:
    """The keys of each set, from the items of a GROUP BY: one from each item, in all combinations."""
    if any(_count(item) > MOST_SETS for item in items) or prod(map(_count, items)) > MOST_SETS:
        first = next(item for item in items if isinstance(item, Grouping))
        refuse(
            f"these are more than {MOST_SETS} grouping sets", text, offset_of(first), "write fewer of them"
        )
    return [sum(chosen, ()) for chosen in product(*map(_sets, items))]


def _count(item: exp.Expression) -> int:
    if not isinstance(item, Grouping):
        return 1
    match item.args["kind"]:
        case "CUBE":
            return int(2 ** min(len(item.expressions), MOST_SETS))
        case "ROLLUP":
            return len(item.expressions) + 1
    return sum(map(_count, item.expressions))


def _sets(item: exp.Expression) -> list[Keys]:
    if not isinstance(item, Grouping):
        return [_keys(item)]
    parts = item.expressions
    match item.args["kind"]:
        case "CUBE":
            chosen = (some for n in range(len(parts), -1, -1) for some in combinations(parts, n))
            return [sum(map(_keys, some), ()) for some in chosen]
        case "ROLLUP":
            return [sum(map(_keys, parts[:n]), ()) for n in range(len(parts), -1, -1)]
    return [keys for part in parts for keys in _sets(part)]


def _keys(item: exp.Expression) -> Keys:
    return tuple(item.expressions) if isinstance(item, exp.Tuple) else (item,)
