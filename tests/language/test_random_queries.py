"""Random queries, bound and given to DuckDB: the plan and the text have the same answer (see test_meaning)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import duckdb
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as draw

from panes.errors import SqlError
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.optimizer.optimizer import optimize
from tests.language.corpus import read_catalog
from tests.language.test_meaning import answer_of_plan, answer_of_text, small_database, value

CATALOG = read_catalog()
DUCK: duckdb.DuckDBPyConnection = small_database(8, CATALOG, lambda field, chance: value(field.type, chance))
STREAMS = ("s1", "s2", "s3", "r", "s")
TABLES = ("owned", "priced")
QUERIES = ("kept", "summed")
"""Registered queries, the second of which reads the first."""
REFUSED = (
    "is looked up as it was at the time of one tuple",
    "is NON RETROACTIVE",
    "a DOUBLE cannot be cast to STRING",
)
"""Queries that look a table up by rows that have no time of their own are not drawn on purpose, nor are texts of
variances and their kin, which a derived table may have."""
TESTS = (
    "{0} IS NULL", "{0} IS NOT NULL", "{0} IN ({1}, 3)", "{0} NOT IN (1, {1})", "{0} BETWEEN {1} AND 5",
    "{0} IS DISTINCT FROM {1}", "{0} IS NOT DISTINCT FROM {1}", "{0} BETWEEN SYMMETRIC {1} AND 5",
    "{0} NOT BETWEEN SYMMETRIC 2 AND {1}", "({0})::STRING ILIKE '%2'", "{0} = {1}",
    "{0} <> {1}", "{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}", "{0} <=> {1}",
)  # fmt: skip


@draw.composite
def columns(drawing: draw.DrawFn, aliases: list[str]) -> str:
    return f"{drawing(draw.sampled_from(aliases))}.{drawing(draw.sampled_from('ab'))}"


@draw.composite
def scalars(drawing: draw.DrawFn, aliases: list[str], depth: int = 2) -> str:
    if depth == 0 or drawing(draw.booleans()):
        return drawing(draw.one_of(columns(aliases), draw.integers(-3, 9).map(str)))
    left, right = drawing(scalars(aliases, depth - 1)), drawing(scalars(aliases, depth - 1))
    form = drawing(
        draw.sampled_from(
            (
                "{0} + {1}", "{0} - {1}", "({0} * {1})", "coalesce({0}, {1})", "nullif({0}, {1})", "-{0}",
                "greatest({0}, {1})", "CASE WHEN {0} > {1} THEN {0} ELSE {1} END", "({0} - {1})", "abs({0})",
                "({0})::STRING::BIGINT", "TRY_CAST(({0})::STRING AS BIGINT)",
                "trunc({0})", "strpos(({0})::STRING, '1')",
                "length(lpad(({0})::STRING, 2, '*'))", "length(concat_ws('-', ({0})::STRING, ({1})::STRING))",
            )
        )
    )  # fmt: skip
    text: str = form.format(left, right)
    return text.replace("--", "- -")


@draw.composite
def conditions(drawing: draw.DrawFn, aliases: list[str], depth: int = 2) -> str:
    if depth and drawing(draw.booleans()):
        one, other = drawing(conditions(aliases, depth - 1)), drawing(conditions(aliases, depth - 1))
        form = drawing(draw.sampled_from(("({0} OR {1})", "{0} AND {1}", "NOT ({0} AND {1})", "NOT {0}")))
        return str(form.format(one, other))
    left, right = drawing(scalars(aliases, 1)), drawing(scalars(aliases, 1))
    form = drawing(draw.sampled_from(TESTS))
    return str(form.format(left, right))


@draw.composite
def over(drawing: draw.DrawFn, aliases: list[str]) -> str:
    """A function with OVER whose value does not depend on the order of peers."""
    arg = drawing(scalars(aliases, 1))
    functions = ("rank()", "dense_rank()", "percent_rank()", "cume_dist()", "count(*)", f"sum({arg})",
                 f"max({arg})", f"count({arg}) FILTER (WHERE {arg} > 2)")  # fmt: skip
    by = drawing(draw.sampled_from(("", f"PARTITION BY {drawing(columns(aliases))} ")))
    way = drawing(draw.sampled_from(("", " DESC", " NULLS FIRST")))
    order = f"ORDER BY {drawing(scalars(aliases, 1))} + 0{way}"
    frame = drawing(draw.sampled_from(("", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")))
    within = drawing(draw.sampled_from((by, f"{by}{order}", f"{by}{order}{frame}")))
    return f"{drawing(draw.sampled_from(functions))} OVER ({within})"


@draw.composite
def sources(drawing: draw.DrawFn, window: str) -> str:
    """A stream with a window, a table or a registered query."""
    name = drawing(draw.sampled_from((*STREAMS, *TABLES, *QUERIES)))
    return f"{name} {window}" if name in STREAMS else name


@draw.composite
def predicates(drawing: draw.DrawFn, aliases: list[str], number: int) -> str:
    """A condition with a subquery."""
    inner = f"u{number}"
    source = drawing(sources("[NOW]"))
    negation = drawing(draw.sampled_from(("", "NOT ")))
    where = drawing(conditions([inner], 1))
    if drawing(draw.booleans()):
        subject = drawing(columns(aliases))
        return f"{subject} {negation}IN (SELECT {inner}.a FROM {source} {inner} WHERE {where})"
    tie = f"{inner}.a = {drawing(columns(aliases))}"
    if drawing(draw.booleans()):
        tied = drawing(draw.sampled_from((f"{tie} AND ", "")))
        form = drawing(
            draw.sampled_from(("count(*)", "max({0}.b)", "count({0}.b) + coalesce(sum({0}.a), 1)"))
        )
        test = drawing(draw.sampled_from(("{0} >= {1}", "{0} = {1}", "({0} < {1} OR {1} IS NULL)")))
        value = f"(SELECT {form.format(inner)} FROM {source} {inner} WHERE {tied}{where})"
        return str(test.format(drawing(columns(aliases)), value))
    more = drawing(conditions([inner, *aliases], 1))
    return f"{negation}EXISTS (SELECT * FROM {source} {inner} WHERE {tie} AND {where} AND {more})"


@draw.composite
def chains(drawing: draw.DrawFn, items: list[str], aliases: list[str]) -> str:
    """The items joined one after the other, some by outer joins."""
    text = items[0]
    for place, item in enumerate(items[1:], start=1):
        before, new = aliases[:place], aliases[place]
        kind = drawing(draw.sampled_from(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ",")))
        text += f"{', ' if kind == ',' else f' {kind} '}{item}"
        if kind == "FULL JOIN":  # DuckDB has no FULL JOIN with other conditions
            text += f" ON {drawing(columns(before[-1:]))} = {drawing(columns([new]))}"
        elif kind not in (",", "CROSS JOIN"):
            on = [f"{drawing(columns(before[-1:]))} = {drawing(columns([new]))}"]
            on += drawing(draw.lists(conditions([before[-1], new], 1), max_size=1))
            text += f" ON {' AND '.join(drawing(draw.permutations(on)))}"
    return text


@draw.composite
def orders(drawing: draw.DrawFn, width: int) -> str:
    """Nothing, or the order of a query of so many columns and some places of it."""
    if drawing(draw.booleans()):
        return ""
    names = drawing(draw.lists(draw.sampled_from([f"c{n}" for n in range(width)]), max_size=2, unique=True))
    ways = draw.sampled_from(("", " DESC", " NULLS FIRST", " DESC NULLS FIRST"))
    order = f" ORDER BY {', '.join(name + drawing(ways) for name in names)}" if names else ""
    return order + drawing(draw.sampled_from(("", " LIMIT 3", " LIMIT 2 OFFSET 1", " OFFSET 2", " LIMIT 0")))


@draw.composite
def blocks(drawing: draw.DrawFn, width: int, depth: int = 1) -> str:
    """A SELECT of so many columns."""
    aliases = [f"t{place}" for place in range(drawing(draw.integers(1, 3)))]
    items = []
    for alias in aliases:
        if depth and drawing(draw.integers(0, 3)) == 0:
            names = drawing(blocks(2, depth - 1)) + drawing(orders(2))
            items.append(f"(SELECT x.c0 AS a, x.c1 AS b FROM ({names}) x) {alias}")
        else:
            items.append(f"{drawing(sources('[RANGE 1 MINUTE]'))} {alias}")
    parts = drawing(draw.lists(conditions(aliases), max_size=2))
    ties = [f"{one}.a = {other}.b" for one, other in pairwise(aliases)]
    subqueries = [drawing(predicates(aliases, n)) for n in range(drawing(draw.integers(0, 2)))]
    if drawing(draw.integers(0, 2)) == 0:
        items, ties = [drawing(chains(items, aliases))], []
    if drawing(draw.integers(0, 5)) == 0:
        row = drawing(draw.sampled_from(aliases))
        items.append(f"unnest([{row}.a, NULL, {row}.a]) AS u(v)")
        parts.append(f"(u.v = {row}.a OR u.v IS NULL)")
    where = drawing(draw.permutations([*ties, *parts, *subqueries]))
    text = f"FROM {', '.join(items)}" + (f" WHERE {' AND '.join(where)}" if where else "")
    if drawing(draw.booleans()):
        shown = draw.one_of(scalars(aliases), scalars(aliases), over(aliases))
        listed = [f"{drawing(shown)} AS c{place}" for place in range(width)]
        return f"SELECT {drawing(draw.sampled_from(('', 'DISTINCT ')))}{', '.join(listed)} {text}"
    key = drawing(columns(aliases))
    forms = ("count(*)", "sum({0})", "min({0}) + max({0})", "count(DISTINCT {0})", "count({0}) + {1}", "{1}",
             "count(*) FILTER (WHERE {0} > 2)", "sum({0}) FILTER (WHERE {0} < 5)",
             "rank() OVER (ORDER BY count(*))", "sum(count(*)) OVER ()", "max({1}) OVER (ORDER BY min({0}) DESC)",
             "count(DISTINCT {0}) FILTER (WHERE {0} > {1})", "max({0}) FILTER (WHERE {1} > 2)",
             "sum(DISTINCT {0})", "var_pop({0})", "covar_samp({0}, {1} + {0})", "count_if({0} > 2)",
             "CASE WHEN bool_or({0} > {1}) THEN 1 END", "max_by({0}, {0} * 2)")  # fmt: skip
    listed = [
        f"{drawing(draw.sampled_from(forms)).format(drawing(scalars(aliases, 1)), key)} AS c{place}"
        for place in range(width)
    ]
    having = drawing(draw.sampled_from(("", f" HAVING count(*) > 1 OR {key} = 2")))
    return f"SELECT {', '.join(listed)} {text} GROUP BY {key}{having}"


@draw.composite
def queries(drawing: draw.DrawFn) -> str:
    width = drawing(draw.integers(1, 3))
    text = drawing(blocks(width))
    if drawing(draw.integers(0, 3)) == 0:
        shown = ", ".join(f"x.c{place}" for place in range(width))
        text = f"WITH w AS ({text}{drawing(orders(width))}) SELECT {shown} FROM w AS x JOIN w ON x.c0 = w.c0"
    for _ in range(drawing(draw.integers(0, 2))):
        word = drawing(
            draw.sampled_from(("UNION ALL", "UNION", "INTERSECT ALL", "INTERSECT", "EXCEPT ALL", "EXCEPT"))
        )
        text += f" {word} {drawing(blocks(width, 0))}"
    return text + drawing(orders(width))


@settings(max_examples=100, deadline=timedelta(minutes=1), suppress_health_check=list(HealthCheck))
@given(queries())
def test_duckdb_gives_the_same_answer_to_the_text_and_to_the_plan(sql: str) -> None:
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    assert parse(query.sql) == [query]
    try:
        plan = bind(query, CATALOG)
    except SqlError as error:
        assume(not any(reason in str(error) for reason in REFUSED))
        raise
    assert answer_of_plan(plan, DUCK) == answer_of_text(query, DUCK)
    assert answer_of_plan(optimize(plan), DUCK) == answer_of_text(query, DUCK)
