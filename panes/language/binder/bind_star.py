"""`* EXCEPT (a, b)` and `* REPLACE (x AS a)`: the columns of FROM, less some, or with other values."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from panes.language.binder.bind_over import OverBinder
from panes.language.names import same
from panes.language.positions import did_you_mean, offset_of, refuse
from panes.plan.expressions import Expression

Items = Sequence[tuple[exp.Expression, Expression]]
"""Columns of a SELECT list: what they are named after, and what they are."""


def bind_star(item: exp.Expression, columns: Items, binder: OverBinder, text: str) -> Items:
    """The columns that `*` stands for, without those of EXCEPT and with the values of REPLACE."""
    star = item if isinstance(item, exp.Star) else item.this
    left_out = [name.name for name in star.args.get("except_") or ()]
    changed = {alias.alias: alias for alias in star.args.get("replace") or ()}
    names = [node.name for node, _ in columns]
    for written in [*(star.args.get("except_") or ()), *changed.values()]:
        name = written.alias if isinstance(written, exp.Alias) else written.name
        if not any(same(name, known) for known in names):
            hint = did_you_mean(name, names)
            refuse(f"* has no column named {name!r}", text, offset_of(written), hint)
        if isinstance(written, exp.Alias) and any(same(name, other) for other in left_out):
            refuse(f"{name} is both left out and replaced", text, offset_of(written), "keep one of the two")
    kept: list[tuple[exp.Expression, Expression]] = []
    for node, column in columns:
        if any(same(node.name, name) for name in left_out):
            continue
        new = next((alias for name, alias in changed.items() if same(node.name, name)), None)
        if new is not None:
            column = binder.bind(new.this)
            if not binder.reads_own(column):
                refuse("a SELECT list cannot read a column of the query around it", text, offset_of(new))
        kept.append((node, column))
    if not kept:
        refuse("EXCEPT leaves no column", text, offset_of(item), "leave EXCEPT out, or count rows: count(*)")
    return kept
