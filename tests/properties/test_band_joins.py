"""Drawn joins by inequalities give the answers of SQL, on one shard and by cells on several."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from panes.delta import evaluate
from panes.delta.cells import cells
from panes.delta.consolidate import contents_at
from panes.operators import join
from panes.optimizer.alternatives.partition_bands import is_by_cell, partition_bands
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.estimates import Estimates
from panes.optimizer.optimizer import optimize
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Statistics
from panes.plan.band import Band, band_of
from panes.plan.expressions import Aggregate, Call, Column, Expression, Literal, conjunction
from panes.plan.nodes import Distinct, GroupBy, Join, Node, Project, SemiJoin, StreamScan, Window
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec
from panes.stages.running_query import RunningQuery
from panes.testing import same_rows
from tests.properties.drawn import Case
from tests.properties.running import DIRECT, NT, UPA, Way, check_answers, oracles_answers, together
from tests.properties.shards import Shards
from tests.properties.streams import COLUMNS, Arrivals
from tests.properties.test_redistribute import check_redistributed


def window(random: Random, stream: str, alias: str, *, counted: bool) -> Node:
    columns = Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in COLUMNS))
    specs: list[WindowSpec] = [RangeWindow(random.randint(3, 14)), RangeWindow(9, 3)]
    specs += [RowsWindow(4)] * counted
    return Window(StreamScan(stream, alias, columns), random.choice(specs))


def condition(random: Random) -> Expression:
    """An inequality or a band, and at times something else to test."""
    k, v = ((Column(t, f"a.{n}"), Column(t, f"b.{n}")) for t, n in ((BIGINT, "k"), (DOUBLE, "v")))
    w = [Column(COLUMNS["w"].type, f"{alias}.w") for alias in "ab"]
    compared = random.choice(["lt", "le", "gt", "ge"])
    found = [
        Call(BOOLEAN, compared, random.choice([k, v, tuple(w), k[::-1]])),
        Call(BOOLEAN, "le", (Call(DOUBLE, "abs", (Call(DOUBLE, "subtract", v),)), Literal(DOUBLE, 1.75))),
        Call(BOOLEAN, compared, (Call(BIGINT, "subtract", k), Literal(BIGINT, 1))),
        Call(BOOLEAN, compared, (Call(BIGINT, "add", (k[0], Literal(BIGINT, 1))), k[1])),
    ]
    more = [Call(BOOLEAN, "ne", tuple(w))] * (random.randrange(3) == 0)
    together = conjunction((random.choice(found), *more))
    assert together is not None
    return together


def drawn(seed: int, *, counted: bool = True) -> tuple[Node, Arrivals]:
    random = Random(seed)
    left, right = window(random, "s", "a", counted=counted), window(random, "t", "b", counted=counted)
    kind = SemiJoin if seed % 4 == 0 else Join
    return kind(left, right, (), (), condition(random)), Arrivals.drawn(random, 40, 5)


def check(seed: int, way: Way = UPA) -> None:
    plan, arrivals = drawn(seed, counted=way is not DIRECT)
    check_answers(plan, arrivals, way.lower(plan))


@pytest.mark.parametrize("way", [UPA, NT, DIRECT], ids=lambda way: way.strategy)
def test_a_join_by_ranges_gives_the_answers_of_sql(way: Way) -> None:
    for seed in range(10):
        check(seed, way)


class _WronglyFlipped(Band):
    """A band of which the other side has the ends as they are."""

    def flipped(self) -> Band:
        return Band(self.right, self.left, self.low, self.high, self.size)


def test_a_band_with_its_ends_on_the_wrong_side_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: Any) -> Band | None:
        found = band_of(*arguments)
        return found and _WronglyFlipped(found.left, found.right, found.low, found.high, found.size)

    monkeypatch.setattr(join, "band_of", wrong)
    assert any(_fails(seed) for seed in range(12))


def _fails(seed: int) -> bool:
    try:
        check(seed)
    except (AssertionError, ValueError):
        return True
    return False


def band(random: Random, one: Column, other: Column) -> Expression:
    """A condition with constants at both ends, written in one of the ways there are."""
    low = random.randint(-4, 3)
    high = low + random.choice((0, 1, 2, 3, 7))
    between = (
        Call(BOOLEAN, "ge", (one, Call(BIGINT, "add", (other, Literal(BIGINT, low))))),
        Call(BOOLEAN, "le", (one, Call(BIGINT, "add", (other, Literal(BIGINT, high))))),
    )
    difference = Call(BIGINT, "subtract", (one, other))
    differs = (
        Call(BOOLEAN, "ge", (difference, Literal(BIGINT, low))),
        Call(BOOLEAN, "lt", (difference, Literal(BIGINT, high + 1))),
    )
    within = (Call(BOOLEAN, "le", (Call(BIGINT, "abs", (difference,)), Literal(BIGINT, abs(low)))),)
    found = conjunction(random.choice((between, differs, within)))
    assert found is not None
    return found


def drawn_band(seed: int) -> tuple[Node, Arrivals]:
    """A join by a band of numbers that lie far enough apart for many cells, with something above or below it."""
    random = Random(f"band {seed}")
    left, right = (window(random, name, alias, counted=False) for name, alias in ("sa", "tb"))
    one, other = (Column(BIGINT, f"{alias}.k") for alias in "ab")
    if seed % 4 == 1:
        # The numbers of a group change, so that pairs are taken back.
        left = GroupBy(left, ("a.k",), (Aggregate("a.n", "count", None, BIGINT),))
        one = random.choice((one, Column(BIGINT, "a.n")))
    plan: Node = Join(left, right, (), (), band(random, *random.choice(((one, other), (other, one)))))
    if seed % 4 == 2:
        plan = GroupBy(plan, ("b.k",), (Aggregate("n", "count", None, BIGINT),))
    if seed % 4 == 3:
        plan = Distinct(Project(plan, (("w", Column(COLUMNS["w"].type, "a.w")),)))
    return plan, _with_numbers(Arrivals.drawn(random, 40, 5), random)


def _with_numbers(arrivals: Arrivals, random: Random) -> Arrivals:
    streams = {}
    for name, table in arrivals.streams.items():
        numbers = [random.choice((None, *range(-12, 13))) for _ in range(table.num_rows)]
        streams[name] = table.set_column(0, "k", pa.array(numbers, pa.int64()))
    return replace(arrivals, streams=streams)


def check_by_cells(seed: int, way: Way = UPA, shards: tuple[int, ...] = (1, 2, 5)) -> None:
    plan, arrivals = drawn_band(seed)
    chosen = choose_plan(optimize(plan), Statistics(), Planning(way.strategy))
    assert any(map(is_by_cell, walk(chosen.plan)))
    expected = list(oracles_answers(plan, arrivals))
    for number in shards:
        run = Shards(RunningQuery(1, chosen, number, 0))
        tables: list[pa.Table] = []
        for (came, since, clock), answer in zip(arrivals.spans(), expected, strict=True):
            tables.append(run.process(came, since, clock))
            difference = same_rows(contents_at(together(tables), clock), answer)
            assert difference is None, f"{number} shards at {clock}: {difference}"
            difference = same_rows(run.answer(clock), answer)
            assert difference is None, f"answer on {number} shards at {clock}: {difference}"


@pytest.mark.parametrize("way", [UPA, NT], ids=lambda way: way.strategy)
def test_a_band_on_any_number_of_shards_gives_the_answers_of_sql(way: Way) -> None:
    for seed in range(8):
        check_by_cells(seed, way)


def test_a_band_goes_on_with_another_number_of_shards() -> None:
    for seed in range(4):
        plan, arrivals = drawn_band(seed)
        partitioned = partition_bands(optimize(plan), Estimates(Statistics()))
        assert any(map(is_by_cell, walk(partitioned)))
        check_redistributed(Case(partitioned, arrivals, UPA), 2)


def test_a_row_that_is_copied_to_one_cell_too_few_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(values: pa.Array, width: int, low: int, high: int) -> pa.Array:
        return cells(values, width, low, high - (high > low))

    monkeypatch.setattr(evaluate, "cells", too_few)
    assert any(_fails_by_cells(seed) for seed in range(12))


def test_a_row_that_is_copied_to_one_cell_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(values: pa.Array, width: int, low: int, high: int) -> pa.Array:
        ends = [cells(values, width, end, end).to_pylist() for end in (low, high)]
        return pa.array([first + last for first, last in zip(*ends, strict=True)], pa.list_(pa.int64()))

    monkeypatch.setattr(evaluate, "cells", twice)
    assert any(_fails_by_cells(seed) for seed in range(12))


def _fails_by_cells(seed: int) -> bool:
    try:
        check_by_cells(seed, shards=(2,))
    except AssertionError:
        return True
    return False
