"""`SELECT sum(Wstream(sum(a)) [ROWS 10]) FROM s [RANGE 6 sec SLIDE 6 sec]`: an aggregate of the last results.

It is short for a query over a windowed derived table whose own windows are internal:

    SELECT sum(value_1) FROM (SELECT sum(a) AS value_1 FROM s [RANGE 6 sec SLIDE 6 sec INTERNAL]) [ROWS 10]
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from panes.language.bind_groups import is_aggregate
from panes.language.positions import offset_of, refuse
from panes.language.syntax import FromItem, Nested, SelectBlock, WindowClause, WindowedCall
from panes.plan.windows import BeginEndWindow


def has_windowed_call(block: SelectBlock) -> bool:
    return any(item.find(WindowedCall) for item in block.expressions)


def over_last_results(block: SelectBlock, text: str) -> SelectBlock:
    """The query that a block with Wstream inside an aggregate is short for."""
    if block.args.get("group") or block.args.get("having"):
        refuse(
            "Wstream inside an aggregate does not go with GROUP BY", text, offset_of(block),
            "write the inner query in FROM: (SELECT … FROM … [… INTERNAL] GROUP BY …) [ROWS n]",
        )  # fmt: skip
    outer = block.copy()
    inner: list[exp.Expression] = []
    windows: list[WindowClause] = []
    for item in outer.expressions:
        for call in list(item.find_all(WindowedCall)):
            if not is_aggregate(call.this) or not is_aggregate(call.parent or call):
                refuse(
                    "Wstream inside a SELECT list stands between two aggregates", text, offset_of(call),
                    "such as sum(Wstream(sum(a)) [ROWS 10])",
                )  # fmt: skip
            name = f"value_{len(inner) + 1}"
            windows.append(call.args["window"])
            inner.append(exp.Alias(this=call.this, alias=exp.Identifier(this=name)))
            call.replace(exp.Column(this=exp.Identifier(this=name)).update_positions(call))
    if any(clause.args["spec"] != windows[0].args["spec"] for clause in windows):
        refuse("all Wstream of one SELECT list have the same window", text, offset_of(windows[1]))
    results = SelectBlock(
        expressions=inner,
        from_=[_internal(item, text) for item in block.args["from_"]],
        where=block.args.get("where"),
        window=block.args.get("window"),
    ).update_positions(block)
    source = FromItem(this=Nested(this=results), window=windows[0], kind="").update_positions(block)
    outer.set("from_", [source])
    outer.set("where", None)
    outer.set("window", None)
    return outer


def _internal(item: FromItem, text: str) -> FromItem:
    clause = item.args.get("window")
    if clause is None:
        return item
    if isinstance(clause.args["spec"], BeginEndWindow):
        refuse("Wstream does not go with BEGIN … END", text, offset_of(clause))
    made = item.copy()
    made.args["window"].set("spec", replace(clause.args["spec"], internal=True))
    return made
