"""From syntax trees back to text: what is printed parses to the same tree."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generator import Generator

from panes.language.names import quoted
from panes.language.parser.syntax import (
    AtInstant,
    Default,
    FromItem,
    Grouping,
    NamedWindow,
    Nested,
    OnConflict,
    Output,
    OverCall,
    OverWindow,
    SelectBlock,
    SetOperation,
    Sorted,
    StatementNode,
    TypeName,
    ValuesBlock,
    WindowClause,
    WindowedCall,
)


def _select_block(self: Generator, node: SelectBlock) -> str:
    parts = ["SELECT DISTINCT" if node.args.get("distinct") else "SELECT", _csv(self, node.expressions)]
    if node.args.get("distinct_on"):
        parts[0] = f"SELECT DISTINCT ON ({_csv(self, node.args['distinct_on'])})"
    if node.args.get("from_"):
        parts.append("FROM " + "".join(self.sql(item) for item in node.args["from_"]))
    if node.args.get("where"):
        parts.append(f"WHERE {self.sql(node, 'where')}")
    if node.args.get("window"):
        parts.append(self.sql(node, "window"))
    if node.args.get("group"):
        parts.append(f"GROUP BY {_csv(self, node.args['group'])}")
    if node.args.get("having"):
        parts.append(f"HAVING {self.sql(node, 'having')}")
    if node.args.get("windows"):
        parts.append(f"WINDOW {_csv(self, node.args['windows'])}")
    if node.args.get("qualify"):
        parts.append(f"QUALIFY {self.sql(node, 'qualify')}")
    return " ".join(parts)


def _over_window(self: Generator, node: OverWindow) -> str:
    parts = [self.sql(node, "base")] if node.args.get("base") else []
    if node.args.get("partition"):
        parts.append(f"PARTITION BY {_csv(self, node.args['partition'])}")
    if node.args.get("order"):
        parts.append(f"ORDER BY {_csv(self, node.args['order'])}")
    if node.args.get("frame"):
        parts.append(str(node.args["frame"]))
    return f"({' '.join(parts)})"


def _from_item(self: Generator, node: FromItem) -> str:
    kind = node.args.get("kind") or ""
    lead = {"": "", ",": ", "}.get(kind, f"{' NATURAL' * bool(node.args.get('natural'))} {kind} ")
    text = lead + self.sql(node, "this")
    if node.args.get("window"):
        text += f" {self.sql(node, 'window')}"
    if node.args.get("alias"):
        text += f" AS {self.sql(node, 'alias')}"
    if node.args.get("columns"):
        text += f"({_csv(self, node.args['columns'])})"
    if node.args.get("on"):
        text += f" ON {self.sql(node, 'on')}"
    if node.args.get("using"):
        text += f" USING ({_csv(self, node.args['using'])})"
    return text


def _grouping(self: Generator, node: Grouping) -> str:
    if node.args["kind"] == "ALL":
        return "ALL"
    word = {"SETS": "GROUPING SETS"}.get(node.args["kind"], node.args["kind"])
    return f"{word} ({_csv(self, node.expressions)})"


def _set_operation(self: Generator, node: SetOperation) -> str:
    word = node.args["kind"] + (" ALL" if node.args.get("all") else "")
    return f"{self.sql(node, 'this')} {word} {self.sql(node, 'expression')}"


def _sorted(self: Generator, node: Sorted) -> str:
    text = self.sql(node, "this")
    if node.args.get("order"):
        text += f" ORDER BY {_csv(self, node.args['order'])}"
    for word in ("limit", "offset"):
        if node.args.get(word):
            text += f" {word.upper()} {self.sql(node, word)}"
    return text


def _output(self: Generator, node: Output) -> str:
    restore = " RESTORE" if node.args.get("restore") else ""
    window = f" {self.sql(node, 'window')}" if node.args.get("window") else ""
    return f"{node.args['kind']}{restore}({self.sql(node, 'this')}){window}"


def _insert(self: Generator, node: exp.Insert) -> str:
    this = node.this
    columns = f" ({_csv(self, this.expressions)})" if isinstance(this, exp.Schema) else ""
    name = this.this if isinstance(this, exp.Schema) else this
    source = node.expression
    given = f"VALUES {_csv(self, source.expressions)}" if isinstance(source, exp.Values) else self.sql(source)
    return f"INSERT INTO {self.sql(name)}{columns} {given}{_after(self, node, 'conflict', 'at')}"


def _on_conflict(self: Generator, node: OnConflict) -> str:
    keys = f" ({_csv(self, node.args['keys'])})" if node.args.get("keys") else ""
    if not node.expressions:
        return f"ON CONFLICT{keys} DO NOTHING"
    where = _after(self, node, "where")
    return f"ON CONFLICT{keys} DO UPDATE SET {_csv(self, node.expressions)}{where}"


def _update(self: Generator, node: exp.Update) -> str:
    assignments = _csv(self, node.expressions)
    return f"UPDATE {self.sql(node, 'this')} SET {assignments}{_after(self, node, 'where', 'at')}"


def _delete(self: Generator, node: exp.Delete) -> str:
    return f"DELETE FROM {self.sql(node, 'this')}{_after(self, node, 'where', 'at')}"


def _after(self: Generator, node: exp.Expression, *clauses: str) -> str:
    """The clauses that are there, each with a space before it."""
    return "".join(f" {self.sql(node, clause)}" for clause in clauses if node.args.get(clause))


def _in(self: Generator, node: exp.In) -> str:
    inside = self.sql(node, "query") if node.args.get("query") else _csv(self, node.expressions)
    return f"{self.sql(node, 'this')} IN ({inside})"


def _between(self: Generator, node: exp.Between) -> str:
    symmetric = "SYMMETRIC " * bool(node.args.get("symmetric"))
    return f"{self.sql(node, 'this')} BETWEEN {symmetric}{self.sql(node, 'low')} AND {self.sql(node, 'high')}"


def _not(self: Generator, node: exp.Not) -> str:
    inside = node.this
    if isinstance(inside, exp.Is):
        return f"{self.sql(inside, 'this')} IS NOT NULL"
    return f"NOT {self.sql(inside)}"


def _case(self: Generator, node: exp.Case) -> str:
    parts = ["CASE", *([self.sql(node, "this")] if node.this else [])]
    for branch in node.args["ifs"]:
        parts.append(f"WHEN {self.sql(branch, 'this')} THEN {self.sql(branch, 'true')}")
    if node.args.get("default"):
        parts.append(f"ELSE {self.sql(node, 'default')}")
    return " ".join([*parts, "END"])


def _ordered(self: Generator, node: exp.Ordered) -> str:
    nulls = " NULLS FIRST" if node.args.get("nulls_first") else ""
    return f"{self.sql(node, 'this')}{' DESC' if node.args.get('desc') else ''}{nulls}"


def _call(self: Generator, node: exp.Anonymous) -> str:
    order = [arg for arg in node.expressions if isinstance(arg, exp.Order)]
    inside = _csv(self, [arg for arg in node.expressions if not isinstance(arg, exp.Order)])
    ordered = f" ORDER BY {_csv(self, order[0].expressions)}" if order else ""
    return f"{quoted(node.name)}({inside}{ordered})"


def _star(self: Generator, node: exp.Star) -> str:
    left_out, changed = node.args.get("except_"), node.args.get("replace")
    text = "*" if not left_out else f"* EXCLUDE ({_csv(self, left_out)})"
    return text if not changed else f"{text} REPLACE ({_csv(self, changed)})"


def _csv(self: Generator, nodes: list[exp.Expression]) -> str:
    return ", ".join(self.sql(node) for node in nodes)


class PanesGenerator(Generator):
    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **Generator.TRANSFORMS,
        SelectBlock: _select_block,
        FromItem: _from_item,
        Grouping: _grouping,
        WindowClause: lambda _, node: node.args["spec"].text(quoted),
        WindowedCall: lambda self, node: f"Wstream({self.sql(node, 'this')}) {self.sql(node, 'window')}",
        OverCall: lambda self, node: f"{self.sql(node, 'this')} OVER {self.sql(node, 'window')}",
        OverWindow: _over_window,
        NamedWindow: lambda self, node: f"{self.sql(node, 'this')} AS {self.sql(node, 'window')}",
        SetOperation: _set_operation,
        Sorted: _sorted,
        ValuesBlock: lambda self, node: f"VALUES {_csv(self, node.expressions)}",
        Nested: lambda self, node: f"({self.sql(node, 'this')})",
        Output: _output,
        StatementNode: lambda _, node: node.this.sql,
        TypeName: lambda _, node: str(node.this),
        OnConflict: _on_conflict,
        Default: lambda *_: "DEFAULT",
        AtInstant: lambda self, node: f"AT TIMESTAMP {self.sql(node, 'this')}",
        exp.Where: lambda self, node: f"WHERE {self.sql(node, 'this')}",
        exp.Insert: _insert,
        exp.Update: _update,
        exp.Delete: _delete,
        exp.Between: _between,
        exp.Filter: lambda self, node: f"{self.sql(node, 'this')} FILTER ({self.sql(node, 'expression')})",
        exp.In: _in,
        exp.Not: _not,
        exp.Case: _case,
        exp.Ordered: _ordered,
        exp.Exists: lambda self, node: f"EXISTS ({self.sql(node, 'this')})",
        exp.Interval: lambda self, node: f"INTERVAL {self.sql(node, 'this')} {self.sql(node, 'unit')}",
        exp.Anonymous: _call,
        exp.Distinct: lambda self, node: f"DISTINCT {_csv(self, node.expressions)}",
        exp.Cast: lambda self, node: f"CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})",
        exp.TryCast: lambda self, node: f"TRY_CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})",
        exp.AtTimeZone: lambda self, node: f"{self.sql(node, 'this')} AT TIME ZONE {self.sql(node, 'zone')}",
        exp.Dot: lambda self, node: f"{self.sql(node, 'this')}.{self.sql(node, 'expression')}",
        exp.Bracket: lambda self, node: f"{self.sql(node, 'this')}[{_csv(self, node.expressions)}]",
        exp.Array: lambda self, node: f"[{_csv(self, node.expressions)}]",
        exp.HexString: lambda _, node: f"x'{node.name}'",
        exp.Tuple: lambda self, node: f"({_csv(self, node.expressions)})",
        exp.Identifier: lambda _, node: quoted(node.name),
        exp.Star: _star,
        exp.Neg: lambda self, node: f"-{' ' * isinstance(node.this, exp.Neg)}{self.sql(node, 'this')}",
        exp.Paren: lambda self, node: f"({self.sql(node, 'this')})",
    }
