"""How long binding and planning a query takes, over the corpus: `python -m benchmarks.planning`.

Every query of `tests/golden/language` is parsed, bound, rewritten by rules and planned by cost, ROUNDS times. CPU
time is measured, since the machine may do other work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import mean
from typing import TypeVar

from panes.language import bind, parse
from panes.language.statements import CreateQuery, SelectQuery, Statement
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.optimizer import optimize
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Statistics
from panes.plan.begin_end import is_begin_end
from panes.plan.walk import is_table_only
from tests.language.corpus import read_cases, read_catalog

Item = TypeVar("Item")

ROUNDS = 5


def main() -> None:
    catalog = read_catalog()
    texts = [case.sql for case in read_cases() if not case.file.startswith("refused")]
    statements = [statement for text in texts for statement in parse(text)]
    queries = [query for statement in statements if (query := query_of(statement)) is not None]
    bound = [bind(query, catalog) for query in queries]
    plans = [optimize(plan) for plan in bound]
    standing = [plan for plan in plans if not is_begin_end(plan) and not is_table_only(plan)]
    statistics, planning = Statistics(), Planning()

    print(f"{len(texts)} statements, {len(queries)} queries, {ROUNDS} rounds")
    report("parse a statement", texts, parse)
    report("bind a query", queries, lambda query: bind(query, catalog))
    report("apply the rules", bound, optimize)
    report("bind, and apply the rules", queries, lambda query: optimize(bind(query, catalog)))
    report("choose a plan", standing, lambda plan: choose_plan(plan, statistics, planning))


def report(what: str, items: Sequence[Item], work: Callable[[Item], object]) -> None:
    """Prints how long some work takes for each of the items."""
    means, worst = [], []
    for _ in range(ROUNDS):
        seconds = []
        for item in items:
            began = time.process_time()
            work(item)
            seconds.append(time.process_time() - began)
        means.append(mean(seconds))
        worst.append(max(seconds))
    print(f"{what + ':':28} mean {1000 * mean(means):6.2f} ms   worst {1000 * min(worst):6.2f} ms")


def query_of(statement: Statement) -> SelectQuery | None:
    query = statement.query if isinstance(statement, CreateQuery) else statement
    return query if isinstance(query, SelectQuery) else None


if __name__ == "__main__":
    main()
