"""`SELECT sum(Wstream(sum(a)) [ROWS 10]) FROM s [RANGE 6 sec SLIDE 6 sec]`: an aggregate of the last results.

It is short for a query over a windowed derived table whose own windows are internal:

    SELECT sum(value_1) FROM (SELECT sum(a) AS value_1 FROM s [RANGE 6 sec SLIDE 6 sec INTERNAL]) [ROWS 10]
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from panes.language.binder.bind_groups import is_aggregate
from panes.language.parser.syntax import FromItem, Nested, SelectBlock, WindowClause, WindowedCall
from panes.language.positions import offset_of, refuse


def has_windowed_call(block: SelectBlock) -> bool:
    return any(item.find(WindowedCall) for item in block.expressions)


def over_last_results(block: SelectBlock, text: str) -> SelectBlock:
    """The query that a block with Wstream inside an aggregate is short for."""
    _check(block, text)
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
    for clause in windows:
        if clause.args["spec"] != windows[0].args["spec"]:
            refuse("all Wstream of one SELECT list have the same window", text, offset_of(clause))
    results = SelectBlock(
        expressions=inner,
        from_=[_internal(item) for item in block.args["from_"]],
        where=block.args.get("where"),
    ).update_positions(block)
    source = FromItem(this=Nested(this=results), window=windows[0], kind="").update_positions(block)
    outer.set("from_", [source])
    outer.set("where", None)
    return outer


def _check(block: SelectBlock, text: str) -> None:
    if block.args.get("group") or block.args.get("having"):
        refuse(
            "Wstream inside an aggregate does not go with GROUP BY", text, offset_of(block),
            "write the inner query in FROM: (SELECT … FROM … [… INTERNAL] GROUP BY …) [ROWS n]",
        )  # fmt: skip
    if block.args.get("window"):
        refuse(
            "Wstream does not go with BEGIN … END", text, offset_of(block.args["window"]),
            "give the streams windows in brackets",
        )  # fmt: skip
    items = block.args["from_"]
    if all(isinstance(item.this, exp.Identifier) and not item.args.get("window") for item in items):
        refuse(
            "Wstream inside an aggregate needs a window in FROM", text, offset_of(items[0]),
            f"such as {items[0].this.name} [RANGE 6 SECONDS SLIDE 6 SECONDS]",
        )  # fmt: skip
    for item in block.expressions:
        for column in item.find_all(exp.Column):
            if column.find_ancestor(WindowedCall) is None:
                refuse(
                    "beside Wstream inside an aggregate no column can be read", text, offset_of(column),
                    "write the inner query in FROM: (SELECT … FROM … [… INTERNAL]) [ROWS n]",
                )  # fmt: skip


def _internal(item: FromItem) -> FromItem:
    clause = item.args.get("window")
    if clause is None:
        return item
    made = item.copy()
    made.args["window"].set("spec", replace(clause.args["spec"], internal=True))
    return made
