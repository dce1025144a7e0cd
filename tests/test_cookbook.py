"""The recipes of docs/cookbook.md: each query gives the answer that the page prints.

A recipe is a section with one block of SQL, whose last statement is the query, a block `csv name` for each stream
and table that has rows, and blocks `csv answer at HH:MM:SS`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from panes.clock import to_microseconds
from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.language import bind, parse
from panes.language import statements as st
from panes.optimizer.optimizer import optimize
from panes.plan import nodes
from panes.plan.types import TIMESTAMP
from panes.plan.walk import walk
from tests.language.corpus import Shelf
from tests.properties.shards import Shards

PAGE = Path(__file__).parent.parent / "docs" / "cookbook.md"
DAY = "2026-01-31"
BLOCK = re.compile(r"```(sql|csv [^\n]+)\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Recipe:
    title: str
    sql: str
    given: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, str], ...]


def recipes() -> Iterator[Recipe]:
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        blocks = BLOCK.findall(section)
        sql = [text for kind, text in blocks if kind == "sql"]
        tables = [(kind.removeprefix("csv "), text) for kind, text in blocks if kind != "sql"]
        given = tuple((name, text) for name, text in tables if not name.startswith("answer at "))
        answers = tuple(
            (n.removeprefix("answer at "), text) for n, text in tables if n.startswith("answer at ")
        )
        yield Recipe(section.partition("\n")[0], "".join(sql), given, answers)


RECIPES = list(recipes())


def instant(time: str) -> datetime:
    return datetime.fromisoformat(f"{DAY} {time}").replace(tzinfo=UTC)


def rows_of(thing: st.CreateStream | st.CreateTable, text: str) -> pa.Table:
    """The rows of a block, with their instants; those of tables were always there."""
    rows = list(csv.DictReader(io.StringIO(text)))
    columns = []
    for field in thing.columns:
        texts = [row[field.name] or None for row in rows]
        if field.type == TIMESTAMP:
            columns.append(
                pa.array([t and instant(t) for t in texts], thing.columns.arrow.field(field.name).type)
            )
        else:
            columns.append(pa.array(texts, pa.string()).cast(thing.columns.arrow.field(field.name).type))
    table = pa.table(columns, schema=thing.columns.arrow)
    if isinstance(thing, st.CreateTable):
        ends = {TS: ALWAYS, EXP: FOREVER, WEIGHT: 1}
        for name, end in ends.items():
            table = table.append_column(name, pa.array(np.full(len(rows), end, np.int64)))
        return table
    assert thing.stream.timestamp is not None
    at = [to_microseconds(instant(row[thing.stream.timestamp.column])) for row in rows]
    return table.append_column(TS, pa.array(at, pa.int64()))


def answer(recipe: Recipe, time: str, *, one_by_one: bool) -> Counter[tuple[str, ...]]:
    """What the query of a recipe gives at an instant, when rows come one by one or all at once."""
    *definitions, query = parse(recipe.sql)
    shelf = Shelf()
    for thing in definitions:
        assert isinstance(thing, st.CreateStream | st.CreateDerivedStream | st.CreateTable | st.CreateQuery)
        shelf.things[thing.name] = thing
    assert isinstance(query, st.SelectQuery)
    plan = optimize(bind(query, shelf))
    given = {}
    for name, text in recipe.given:
        thing = shelf.things[name]
        assert isinstance(thing, st.CreateStream | st.CreateTable)
        given[name] = rows_of(thing, text)
    end = to_microseconds(instant(time))
    times = {int(at) for rows in given.values() for at in rows.column(TS).to_pylist() if ALWAYS < at < end}
    clocks = [*sorted(times if one_by_one else ()), end]
    shards = Shards.of(plan, 2)
    for since, clock in zip([BEGINNING, *clocks], clocks, strict=False):
        came = {}
        for leaf in walk(plan):
            if isinstance(leaf, nodes.StreamScan):
                at = given[leaf.stream].column(TS).to_numpy()
                came[leaf.stream] = given[leaf.stream].filter(pa.array((since < at) & (at <= clock)))
            elif isinstance(leaf, nodes.TableScan):
                rows = given[leaf.table]
                came[leaf.table] = rows if since == BEGINNING else rows.slice(0, 0)
        shards.process(came, since, clock)
    rows = shards.answer(end).to_pylist()
    return Counter(tuple(written(value) for value in row.values()) for row in rows)


def written(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    return "" if value is None else str(value)


@pytest.mark.parametrize("one_by_one", [False, True], ids=["at once", "one by one"])
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_gives_the_answer_that_the_page_prints(recipe: Recipe, one_by_one: bool) -> None:
    assert recipe.answers
    for time, text in recipe.answers:
        _, *expected = csv.reader(io.StringIO(text))
        assert answer(recipe, time, one_by_one=one_by_one) == Counter(map(tuple, expected))


def test_the_page_lists_its_recipes() -> None:
    listed = re.findall(r"^- \[(.+)\]", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [recipe.title for recipe in RECIPES]
