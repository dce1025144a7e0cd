"""How long binding and planning a query takes, over the corpus: `python -m benchmarks.planning`.

Every query of `tests/golden/language` is bound, and all its edges are labeled, ROUNDS times. Parsing is
measured beside it.
"""

from __future__ import annotations

import time
from statistics import mean

from panes.language import bind, parse
from panes.language.statements import CreateQuery, SelectQuery, Statement
from panes.plan.patterns import pattern_of
from panes.plan.walk import walk
from tests.language.corpus import read_cases, read_catalog

ROUNDS = 10


def main() -> None:
    catalog = read_catalog()
    texts = [case.sql for case in read_cases() if not case.file.startswith("refused")]
    statements = [statement for text in texts for statement in parse(text)]
    queries = [query for statement in statements if (query := query_of(statement)) is not None]
    parsing, planning = [], []
    for _ in range(ROUNDS):
        for text in texts:
            began = time.perf_counter()
            parse(text)
            parsing.append(time.perf_counter() - began)
        for query in queries:
            began = time.perf_counter()
            for node in walk(bind(query, catalog)):
                pattern_of(node)
            planning.append(time.perf_counter() - began)
    print(f"{len(texts)} statements, {len(queries)} queries, {ROUNDS} rounds")
    print(
        f"parse a statement:      mean {1000 * mean(parsing):6.2f} ms   worst {1000 * max(parsing):6.2f} ms"
    )
    print(
        f"bind and plan a query:  mean {1000 * mean(planning):6.2f} ms   worst {1000 * max(planning):6.2f} ms"
    )


def query_of(statement: Statement) -> SelectQuery | None:
    query = statement.query if isinstance(statement, CreateQuery) else statement
    return query if isinstance(query, SelectQuery) else None


if __name__ == "__main__":
    main()
