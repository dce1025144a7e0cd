"""The corpus of statements: text files of cases, each a statement and what comes of it.

    == a title
    SELECT …
    =>
    the canonical text, and the plan as EXPLAIN shows it; or the message of the refusal

`python -m tests.language.corpus` writes what comes now under every statement: read the difference.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from panes.errors import SqlError
from panes.language import bind, bind_copy, bind_delete, bind_insert, bind_stream, bind_update, parse
from panes.language import statements as st
from panes.language.binder.bind_insert import BoundValues
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, DOUBLE
from panes.stages.explain import Explained, explain, explain_json

FOLDER = Path(__file__).parent.parent / "golden" / "language"
WORKLOADS = FOLDER.parent / "workloads"
"""Queries of well-known benchmarks, over a catalog of their own."""


OWN = [
    st.CreateFunction("reach", Schema.of([("x", DOUBLE), ("y", DOUBLE)]), DOUBLE, "math:hypot"),
    st.CreateFunction("spread", Schema.of([("x", BIGINT)]), BIGINT, "tests.own:Spread", is_aggregate=True),
]


@dataclass
class Shelf:
    """A catalog in memory."""

    things: dict[str, st.CreateStream | st.CreateDerivedStream | st.CreateTable | st.CreateQuery] = field(
        default_factory=dict
    )

    def stream(self, name: str) -> st.CreateStream | st.CreateDerivedStream | None:
        found = self.things.get(name)
        return found if isinstance(found, st.CreateStream | st.CreateDerivedStream) else None

    def table(self, name: str) -> st.CreateTable | None:
        found = self.things.get(name)
        return found if isinstance(found, st.CreateTable) else None

    def names(self) -> Sequence[str]:
        return list(self.things)

    def functions(self) -> dict[str, st.CreateFunction]:
        return {function.name: function for function in OWN}

    def registered(self, name: str) -> st.CreateQuery | None:
        found = self.things.get(name)
        return found if isinstance(found, st.CreateQuery) else None


@dataclass(frozen=True)
class Case:
    file: str
    title: str
    sql: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


@functools.cache
def parsed(sql: str) -> tuple[st.Statement, ...]:
    """The statements of a text. Many tests go over the whole corpus, and none of them changes what it is given."""
    return tuple(parse(sql))


@functools.cache
def bound(sql: str, number: int = 0) -> Node | None:
    """The plan of the query in a statement of the text, over the catalog of the corpus; None when it has none."""
    statement = parsed(sql)[number]
    query = getattr(statement, "query", statement)
    return bind(query, _catalog()) if isinstance(query, st.SelectQuery) else None


@functools.cache
def optimized(sql: str, number: int = 0) -> Node | None:
    """The same plan, rewritten."""
    plan = bound(sql, number)
    return None if plan is None else optimize(plan)


@functools.cache
def _catalog() -> Shelf:
    return read_catalog()


def read_catalog(text: str | None = None, folder: Path = FOLDER) -> Shelf:
    shelf = Shelf()
    for statement in parsed(text or (folder / "catalog.sql").read_text(encoding="utf-8")):
        assert isinstance(
            statement, st.CreateStream | st.CreateDerivedStream | st.CreateTable | st.CreateQuery
        )
        shelf.things[statement.name] = statement
    return shelf


def read_cases(pattern: str = "*.txt", folder: Path = FOLDER) -> list[Case]:
    return [case for file in sorted(folder.glob(pattern)) for case in _cases_of(file)]


def _cases_of(file: Path) -> list[Case]:
    cases = []
    for block in ("\n" + file.read_text(encoding="utf-8")).split("\n== ")[1:]:
        title, _, rest = block.partition("\n")
        sql, _, expected = rest.partition("\n=>")
        cases.append(Case(file.stem, title, sql.strip("\n"), expected.strip("\n")))
    return cases


def outcome(sql: str, shelf: Shelf) -> str:
    """What comes of a statement: its canonical text and its plan, or the refusal."""
    try:
        return "\n\n".join(_outcome_of(statement, shelf) for statement in parsed(sql))
    except SqlError as error:
        return f"refused\n{error}"


def _outcome_of(statement: st.Statement, shelf: Shelf) -> str:
    parts = [statement.sql]
    match statement.statement if isinstance(statement, st.CreateAgain) else statement:
        case st.SelectQuery():
            parts.append(explain(Explained(bind(statement, shelf))))
        case (
            st.CreateQuery(query=query)
            | st.AlterQueryAs(query=query)
            | st.Explain(target=st.SelectQuery() as query)
        ):
            plan = bind(query, shelf)
            in_json = isinstance(statement, st.Explain) and statement.format == "JSON"
            parts.append(
                str(explain_json(Explained(plan))["answer"]) if in_json else explain(Explained(plan))
            )
        case st.CreateDerivedStream() as stream:
            parts.append(explain(Explained(bind_stream(stream, shelf))))
        case st.InsertInto():
            insert = bind_insert(statement, shelf)
            if isinstance(insert, BoundValues):
                parts += [str(row) for row in insert.rows]
            else:
                names = insert.into.columns.names
                parts += [f"{name} := {value}" for name, value in zip(names, insert.columns, strict=True)]
                parts.append(explain(Explained(insert.plan)))
            if insert.conflict is not None:
                parts += [f"{column} := {value}" for column, value in insert.conflict.assignments]
                parts.append(f"on conflict where {insert.conflict.condition}")
        case st.UpdateTable():
            update = bind_update(statement, shelf)
            parts += [f"{column} := {value}" for column, value in update.assignments]
            parts.append(f"where {update.condition}")
        case st.DeleteFrom():
            parts.append(f"where {bind_delete(statement, shelf).condition}")
        case st.CopyFrom():
            parts.append(f"columns {bind_copy(statement, shelf).columns}")
    return "\n".join(parts)


def regenerate(folder: Path) -> None:
    shelf = read_catalog(folder=folder)
    for file in sorted(folder.glob("*.txt")):
        head = ("\n" + file.read_text(encoding="utf-8")).partition("\n== ")[0].strip("\n")
        blocks = [f"== {c.title}\n{c.sql}\n=>\n{outcome(c.sql, shelf)}\n" for c in _cases_of(file)]
        file.write_text("\n".join([*([head + "\n"] if head else []), *blocks]), encoding="utf-8")


__all__ = ["Case", "Shelf", "outcome", "read_cases", "read_catalog"]

if __name__ == "__main__":
    for each in (FOLDER, WORKLOADS):
        regenerate(each)
