"""Where `now()` stands in a text, for messages that point at it."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from panes.language.binder.bind_expressions import NAMES_OF_NOW
from panes.language.positions import offset_of

NO_INSTANT = "now() is the instant of an answer, and a change of a table has none"
WRITE_IT = "write the instant, as TIMESTAMP '2026-01-31 12:00:00'"

_DISTANCE = (exp.Add, exp.Sub, exp.Paren)
_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.Between)
_CONNECTED = (exp.And, exp.Paren)


def is_now(node: exp.Expression) -> bool:
    """Whether a node is `now()` or `current_timestamp`, unless a column has that name."""
    if isinstance(node, exp.Column):
        return node.args.get("table") is None and node.name.casefold() == "current_timestamp"
    return isinstance(node, exp.Anonymous) and node.name.casefold() in NAMES_OF_NOW and not node.expressions


def place_of_now(tree: exp.Expression) -> int:
    """The offset of the first `now()` that bounds no time of a row; of the first one when all seem to."""
    found = sorted(_all(tree), key=offset_of)
    wrong = next((node for node in found if not _bounds_a_time(node)), None)
    return offset_of(wrong or next(iter(found), tree))


def _all(tree: exp.Expression) -> Iterator[exp.Expression]:
    return (node for node in tree.find_all(exp.Anonymous, exp.Column) if is_now(node))


def _bounds_a_time(node: exp.Expression) -> bool:
    """Whether it stands in a comparison of WHERE, HAVING or ON, at a distance, connected with others by AND."""
    compared = _last_within(node, _DISTANCE).parent
    if not isinstance(compared, _COMPARISONS):
        return False
    return _last_within(compared, _CONNECTED).arg_key in ("where", "having", "on")


def _last_within(node: exp.Expr, kinds: tuple[type[exp.Expr], ...]) -> exp.Expr:
    """The node, or the last one above it while these are of some kinds."""
    while isinstance(node.parent, kinds):
        node = node.parent
    return node
