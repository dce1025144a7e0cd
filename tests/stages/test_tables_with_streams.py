"""Worked examples of a stream joined with a table, and what an update of the table costs.

The first two are figures 1 and 2 of Ghanem et al., "Incremental evaluation of sliding-window queries over data
streams": how many favorite items were sold in the last five time units. The text gives the counts 4, 3, 2 at T4,
T5 and T6, the items 4 and 5 that expire at T5 and T6, and the item 2 of T5, which is no favorite. Which of the
five tuples up to T4 is none either the text leaves open: here it is that of T3.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.language import bind, parse
from panes.language.statements import CreateFunction
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from tests.properties.running import together
from tests.properties.shards import Shards

SALES = [4, 5, 5, 1, 4, 2, 3]
"""The item that is sold at T0, T1, … T6."""
COUNTS = [1, 2, 3, 3, 4, 3, 2]
"""The correct output (C) at T0, T1, … T6."""


class Sales:
    """A catalog with a stream of sales, and the favorite items in both kinds of table."""

    def __init__(self):
        (self.sales,) = parse("CREATE STREAM sales (item BIGINT, price BIGINT) FROM RATE")
        (self.favorites,) = parse("CREATE TABLE favorites (item BIGINT, name STRING)")
        (self.listed,) = parse("CREATE TABLE listed (item BIGINT, name STRING) NON RETROACTIVE")

    def stream(self, name):
        return self.sales if name == "sales" else None

    def table(self, name):
        return {"favorites": self.favorites, "listed": self.listed}.get(name)

    def names(self):
        return ["sales", "favorites", "listed"]

    def functions(self) -> dict[str, CreateFunction]:
        return {}

    def registered(self, name: str) -> None:  # noqa: ARG002
        return None


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    return optimize(bind(query, Sales()))


def sold(*sales: tuple[int, int]) -> pa.Table:
    """Tuples from (ts, item)."""
    columns = [
        pa.array(column, pa.int64()) for column in zip(*((i, 10 * i, ts) for ts, i in sales), strict=True)
    ]
    return pa.table(columns or [pa.array([], pa.int64())] * 3, names=["item", "price", TS])


def changed(*changes: tuple[int, int, str, int]) -> pa.Table:
    """Changes of a table from (instant, item, name, weight)."""
    schema = pa.schema(
        [("item", pa.int64()), ("name", pa.string()), *((n, pa.int64()) for n in (TS, EXP, WEIGHT))]
    )
    rows = [{"item": i, "name": n, TS: ts, EXP: FOREVER, WEIGHT: w} for ts, i, n, w in changes]
    return pa.Table.from_pylist(rows, schema=schema)


COUNT = "SELECT count(*) AS n FROM sales [RANGE 5 MICROSECONDS] s, {0} f WHERE s.item = f.item"
FAVORITES = changed((ALWAYS, 4, "four", 1), (ALWAYS, 5, "five", 1))


@pytest.mark.parametrize("strategy", ["upa", "nt"])
@pytest.mark.parametrize("table", ["favorites", "listed"])
@pytest.mark.parametrize("shards", [1, 3])
def test_favorites_of_the_last_five_instants_are_counted_when_they_come_and_when_they_leave(
    strategy: str, table: str, shards: int
) -> None:
    #  T0  T1  T2  T3  T4  T5  T6
    #  4   5   5   1   4   2   3       S1: what is sold
    #  4   5   5       4               S2: what is a favorite
    #                      4-  5-      ... and leaves the window (figure 2b)
    #  1   2   3   3   4   3   2       C
    run = Shards.of(plan_of(COUNT.format(table)), shards, strategy=strategy)
    told: list[pa.Table] = []
    counts = []
    since = BEGINNING
    for clock, item in enumerate(SALES):
        came = {"sales": sold((clock, item)), table: FAVORITES if clock == 0 else FAVORITES.slice(0, 0)}
        told.append(run.process(came, since, clock))
        counts += contents_at(together(told), clock).column("n").to_pylist()
        since = clock
    assert counts == COUNTS


def answers(
    sql: str, table: str, changes: Sequence[pa.Table], sales: Sequence[pa.Table]
) -> list[list[object]]:
    """The answer at each clock, 1, 2, …, with what comes before it."""
    dataflow = lower(plan_of(sql))
    told: list[pa.Table] = []
    found = []
    for clock, (change, came) in enumerate(zip(changes, sales, strict=True), start=1):
        told.append(dataflow.process({table: change, "sales": came}, clock - 1, clock).table)
        rows = contents_at(together(told), clock).to_pylist()
        found.append(sorted(tuple(row.values()) for row in rows))
    return found


def test_an_update_of_a_relation_changes_what_is_in_the_window_and_one_of_the_other_kind_what_comes() -> None:
    #  1   2   3   4
    #  4                     sold at 1
    #      u                 four becomes quatre
    #          4             sold at 3
    sql = "SELECT s.item, f.name FROM sales [RANGE 9 MICROSECONDS] s, {0} f WHERE s.item = f.item"
    nothing = changed()
    changes = [changed((ALWAYS, 4, "four", 1)), changed((2, 4, "four", -1), (2, 4, "quatre", 1)), nothing]
    sales = [sold((1, 4)), sold(), sold((3, 4))]
    relation = answers(sql.format("favorites"), "favorites", changes, sales)
    assert relation == [[(4, "four")], [(4, "quatre")], [(4, "quatre"), (4, "quatre")]]
    looked_up = answers(sql.format("listed"), "listed", changes, sales)
    assert looked_up == [[(4, "four")], [(4, "four")], [(4, "four"), (4, "quatre")]]


ITEMS = 1_000
EACH = 20
"""The window holds each of the items so often."""


def filled(table: str) -> Dataflow:
    """A join of a large window with a table that has every item."""
    dataflow = lower(
        plan_of(f"SELECT s.price, f.name FROM sales [RANGE 1 HOUR] s, {table} f WHERE s.item = f.item")
    )
    rows = changed(*((ALWAYS, item, "name", 1) for item in range(ITEMS)))
    sales = sold(*((1 + number, number % ITEMS) for number in range(ITEMS * EACH)))
    dataflow.process({table: rows, "sales": sales}, 0, ITEMS * EACH)
    return dataflow


def updated(dataflow: Dataflow, table: str) -> tuple[int, int]:
    """What an update of one item touches in all states, and how many rows come of it."""
    before = sum(done.touched for done in dataflow.measures.values())
    clock = ITEMS * EACH
    change = changed((clock + 1, 7, "name", -1), (clock + 1, 7, "other", 1))
    delta = dataflow.process({table: change, "sales": sold()}, clock, clock + 1)
    return int(sum(done.touched for done in dataflow.measures.values()) - before), delta.rows


def test_an_update_of_one_key_of_a_relation_touches_its_matches_and_not_the_window() -> None:
    touched, results = updated(filled("favorites"), "favorites")
    assert results == 2 * EACH
    assert touched <= 4 * EACH


def test_an_update_of_a_table_that_is_looked_up_touches_nothing_and_takes_nothing_back() -> None:
    dataflow = filled("listed")
    assert updated(dataflow, "listed") == (0, 0)
    (lookup,) = (step.name for step in dataflow.fragment.steps if step.operator == "Lookup")
    assert dataflow.measures[lookup].state_rows == ITEMS + 2
    assert sum(state.rows for state in dataflow.buffers.values()) == ITEMS + 2
    done = dataflow.measures[lookup]
    assert (done.expired, done.invalid) == (0, 0)
