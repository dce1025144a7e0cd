"""What the pages about the language show is what the code does.

`python -m tests.language.test_pages` writes the plans, tables and messages into the pages anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from panes.language import bind, bind_copy, bind_delete, bind_insert, bind_stream, bind_update, parse
from panes.language import statements as st
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.cost import plan_cost
from panes.optimizer.optimizer import optimize
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Statistics
from panes.optimizer.utilization import utilization
from panes.plan.aggregates import AGGREGATES
from panes.plan.can_cast import CASTS
from panes.plan.functions import FUNCTIONS
from panes.plan.over_functions import OVER_FUNCTIONS
from panes.stages.explain import Explained, explain
from panes.stages.explain_plans import explain_plans
from panes.stages.make_plan import make_plan
from tests.language.corpus import WORKLOADS, Shelf, outcome, read_cases

DOCS = Path(__file__).parent.parent.parent / "docs"
LANGUAGE, EXPLAIN, TABLES = DOCS / "language.md", DOCS / "explain.md", DOCS / "tables.md"
SQL = re.compile(r"```sql\n(.*?)```", re.DOTALL)
SQL_AND_PLAN = re.compile(r"```sql\n([^`]*?)```\n\n```text\n(.*?)```", re.DOTALL)
BENCHMARKS = {"nexmark": "Nexmark", "tpch": "TPC-H"}
REFUSAL = "SELECT x.src FROM link0 x, link1 [RANGE 1 MINUTE] y WHERE x.src = y.src"


def statements_of(page: Path) -> Iterator[tuple[st.Statement, Shelf]]:
    """Every statement of a page, with the catalog that those before it have made."""
    shelf = Shelf()
    for block in SQL.findall(page.read_text(encoding="utf-8")):
        for statement in parse(block):
            yield statement, shelf
            if isinstance(
                statement, st.CreateStream | st.CreateDerivedStream | st.CreateTable | st.CreateQuery
            ):
                shelf.things[statement.name] = statement


@pytest.mark.parametrize("page", [LANGUAGE, EXPLAIN, TABLES], ids=lambda page: page.name)
def test_every_statement_on_the_page_is_understood(page: Path) -> None:
    bound = 0
    for statement, shelf in statements_of(page):
        match statement.statement if isinstance(statement, st.CreateAgain) else statement:
            case st.SelectQuery():
                bind(statement, shelf)
            case (
                st.CreateQuery(query=query)
                | st.AlterQueryAs(query=query)
                | st.Explain(target=st.SelectQuery() as query)
            ):
                bind(query, shelf)
            case st.CreateDerivedStream() as stream:
                bind_stream(stream, shelf)
            case st.InsertInto():
                bind_insert(statement, shelf)
            case st.UpdateTable():
                bind_update(statement, shelf)
            case st.DeleteFrom():
                bind_delete(statement, shelf)
            case st.CopyFrom():
                bind_copy(statement, shelf)
        bound += 1
    assert bound >= 5


@pytest.mark.parametrize("page", [LANGUAGE, EXPLAIN], ids=lambda page: page.name)
def test_what_the_page_shows_is_what_the_code_gives(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == renewed(page)


def test_every_kind_of_statement_is_on_the_page() -> None:
    shown = {type(statement) for statement, _ in statements_of(LANGUAGE)}
    kinds = {kind for kind in vars(st).values() if isinstance(kind, type) and issubclass(kind, st.Statement)}
    abstract = {kind for kind in kinds if kind.__name__.startswith("_")} | {st.Statement}
    assert kinds - abstract - shown == set()


def renewed(page: Path) -> str:
    """The page with its generated parts as they must be."""
    text = page.read_text(encoding="utf-8")
    if page == EXPLAIN:
        return SQL_AND_PLAN.sub(with_plan, text)
    parts = {
        "aggregates": aggregates(), "functions": functions(), "casts": casts(), "over": over_functions(),
        "workloads": workloads(),
    }  # fmt: skip
    for name, table in parts.items():
        text = re.sub(f"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{table}\g<2>", text, flags=re.DOTALL)
    return re.sub("```text\n.*?```", lambda _: f"```text\n{refusal()}```", text, flags=re.DOTALL)


def with_plan(match: re.Match[str]) -> str:
    (statement,) = parse(match.group(1))
    shown = plans_of(statement) if isinstance(statement, st.Explain) else plan_of(statement)
    return f"```sql\n{match.group(1)}```\n\n```text\n{shown}\n```"


def plan_of(query: st.Statement) -> str:
    assert isinstance(query, st.SelectQuery)
    plan = make_plan(optimize(bind(query, catalog_of(EXPLAIN))))
    cost = plan_cost(plan, Statistics(), shards=2)
    busy = str(utilization([cost], 2))
    return explain(Explained(plan, 2, expected={**cost.steps, **cost.shuffles}, utilization=(busy,)))


def plans_of(statement: st.Explain) -> str:
    assert statement.plans
    assert isinstance(statement.target, st.SelectQuery)
    plan = optimize(bind(statement.target, catalog_of(EXPLAIN)))
    return explain_plans(choose_plan(plan, Statistics(), Planning(cores=2)).choice)


def catalog_of(page: Path) -> Shelf:
    """The catalog after the last statement of a page."""
    *_, (_, shelf) = statements_of(page)
    return shelf


def refusal() -> str:
    return outcome(REFUSAL, catalog_of(LANGUAGE)).removeprefix("refused\n") + "\n"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def aggregates() -> str:
    rows = [(f"`{f.form}`", f.meaning) for f in AGGREGATES.values()]
    return table(("aggregate", "gives"), rows)


def functions() -> str:
    rows = [(f"`{f.symbol or f.name}`", f.meaning) for f in FUNCTIONS.values()]
    return table(("function", "gives"), rows)


def over_functions() -> str:
    return table(("function", "gives"), [(f"`{form}`", meaning) for form, meaning in OVER_FUNCTIONS.items()])


def workloads() -> str:
    """Which queries of benchmarks run, and why others are refused."""
    rows = []
    for case in read_cases(folder=WORKLOADS):
        number, _, asks = case.title.partition(" ")
        refused = case.expected.partition(": ")[2].partition("\n")[0]
        runs = not case.expected.startswith("refused\n")
        rows.append((f"{BENCHMARKS[case.file]} {number}", asks, "runs" if runs else f"refused: {refused}"))
    return table(("query", "asks for", ""), rows)


def casts() -> str:
    alike: dict[tuple[str, str], list[str]] = {}
    for (source, target), meaning in CASTS.items():
        if str(source) != "NULL":
            alike.setdefault((str(target), meaning), []).append(f"`{source}`")
    rows = [(", ".join(sources), f"`{target}`", meaning) for (target, meaning), sources in alike.items()]
    return table(("from", "to", "gives"), rows)


def test_the_refusal_on_the_page_is_one() -> None:
    shown = refusal()
    assert shown.startswith("line 1, column ")
    assert "give x a window" in shown


if __name__ == "__main__":
    for page in (LANGUAGE, EXPLAIN):
        page.write_text(renewed(page), encoding="utf-8")
