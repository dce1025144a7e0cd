"""`SELECT src, share(*) FROM … GROUP BY src HAVING share(*) > 0.01`: the part of all rows that are of a group.

It is short for a count by the sum of all counts:

    SELECT src, CAST(count(*) AS DOUBLE) / sum(count(*)) OVER () FROM … GROUP BY src
    QUALIFY CAST(count(*) AS DOUBLE) / sum(count(*)) OVER () > 0.01

All of HAVING becomes QUALIFY: what it leaves out is still a part of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from panes.language.binder.bind_groups import outside_subqueries
from panes.language.parser.syntax import Grouping, OverCall, OverWindow, SelectBlock, TypeName
from panes.language.positions import offset_of, refuse
from panes.plan.types import DOUBLE

SHARE = "share"


def has_share(block: SelectBlock) -> bool:
    """Whether a SELECT asks for the share of a group."""
    return any(True for _ in _shares(block))


def with_shares_written(block: SelectBlock, text: str) -> SelectBlock:
    """The query that a block with share(*) is short for."""
    _check(block, text)
    written = block.copy()
    having, qualify = written.args.get("having"), written.args.get("qualify")
    if having is not None:
        written.set("having", None)
        written.set("qualify", having if qualify is None else exp.And(this=having, expression=qualify))
    for item in written.expressions:
        if _is_share(item):
            item.replace(exp.Alias(this=item.copy(), alias=exp.Identifier(this=SHARE)).update_positions(item))
    for call in list(_shares(written)):
        call.replace(_quotient(call))
    return written


def _check(block: SelectBlock, text: str) -> None:
    for call in _shares(block):
        if len(call.expressions) != 1 or not isinstance(call.expressions[0], exp.Star):
            refuse("share is written share(*)", text, offset_of(call))
        if len(block.args.get("group") or ()) == 0:
            refuse("share(*) is the part of a group in all rows, and needs GROUP BY", text, offset_of(call))
        if any(isinstance(item, Grouping) for item in block.args["group"]):
            refuse(
                "share(*) does not go with GROUPING SETS, ROLLUP or CUBE: rows are in several groups there", text,
                offset_of(call), "divide by a count with OVER (PARTITION BY …)",
            )  # fmt: skip
    over = next((call for item in block.expressions for call in item.find_all(OverCall)), None)
    if over is not None and block.args.get("having") is not None:
        refuse(
            "share(*) and HAVING do not go with OVER: it would see the groups that HAVING leaves out", text,
            offset_of(over), "put the query with share(*) in FROM: SELECT … OVER (…) FROM (SELECT …)",
        )  # fmt: skip


def _shares(block: SelectBlock) -> Iterator[exp.Expression]:
    conditions = (block.args.get(name) for name in ("having", "qualify"))
    for item in [*block.expressions, *(condition for condition in conditions if condition is not None)]:
        for node in outside_subqueries(item):
            if _is_share(node):
                yield node


def _is_share(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name == SHARE


def _quotient(call: exp.Expression) -> exp.Expression:
    count = exp.Anonymous(this="count", expressions=[exp.Star()])
    total = exp.Anonymous(this="sum", expressions=[count.copy()])
    whole = OverCall(this=total, window=OverWindow())
    part = exp.Cast(this=count, to=TypeName(this=DOUBLE))
    quotient = exp.Paren(this=exp.Div(this=part, expression=whole))
    for node in quotient.walk():
        node.update_positions(call)
    return quotient
