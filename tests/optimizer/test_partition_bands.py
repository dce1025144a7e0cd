"""Which joins go by cells of a band, what EXPLAIN says of it, and when they stay on one shard."""

from __future__ import annotations

import pytest

from panes.language import bind, parse
from panes.optimizer.alternatives.partition_bands import is_by_cell, partition_bands
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.estimates import Estimates
from panes.optimizer.optimizer import optimize
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.nodes import Join, Node, Unnest
from panes.plan.walk import walk
from panes.stages.explain import Explained, explain
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.plan_text import plan_from, plan_text
from tests.language.corpus import read_catalog

CATALOG = read_catalog(
    "".join(f"CREATE STREAM {name} (k BIGINT, i INT, t TIMESTAMP, d DOUBLE);" for name in "ab")
    + "CREATE TABLE r (k BIGINT, w TEXT);"
)
WINDOWS = "SELECT a.k, b.k AS other FROM a [RANGE 60 SECONDS], b [RANGE 60 SECONDS] WHERE "
BAND = f"{WINDOWS} a.k BETWEEN b.k - 2 AND b.k + 3"


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    return optimize(bind(query, CATALOG))


def chosen(sql: str, planning: Planning | None = None, known: Statistics | None = None) -> PhysicalPlan:
    return choose_plan(plan_of(sql), known or Statistics(), planning or Planning(shards=4))


def cells_of(plan: Node) -> dict[str, str]:
    return {node.column: str(node.expression) for node in walk(plan) if isinstance(node, Unnest)}


@pytest.mark.parametrize(
    ("condition", "cells"),
    [
        (
            "a.k BETWEEN b.k - 2 AND b.k + 3",
            ("the cell of 5 of a.k", "the cells of 5 from b.k - 2 to b.k + 3"),
        ),
        (
            "a.k - b.k <= 2 AND b.k - a.k <= 1",
            ("the cell of 3 of a.k", "the cells of 3 from b.k - 1 to b.k + 2"),
        ),
        ("abs(a.k - b.k) < 2", ("the cell of 4 of a.k", "the cells of 4 from b.k - 2 to b.k + 2")),
        ("a.k <= b.k AND a.k >= b.k", ("the cell of 1 of a.k", "the cell of 1 of b.k")),
        (
            "b.t BETWEEN a.t AND a.t + INTERVAL 5 SECONDS",
            ("the cell of 5 SECONDS of a.t", "the cells of 5 SECONDS from b.t - 5 SECONDS to b.t"),
        ),
    ],
)
def test_a_cell_is_as_wide_as_the_band_and_rows_are_copied_to_those_it_touches(
    condition: str, cells: tuple[str, str]
) -> None:
    plan = plan_of(WINDOWS + condition)
    partitioned = partition_bands(plan, Estimates(Statistics()))
    assert partitioned.schema == plan.schema
    assert tuple(cells_of(partitioned).values()) == cells
    (join,) = (node for node in walk(partitioned) if isinstance(node, Join))
    assert is_by_cell(join)


@pytest.mark.parametrize(
    "condition",
    [
        "a.k <= b.k + 3",
        "a.k + 1 < b.k AND a.k > b.k",
        "abs(a.d - b.d) <= 5",
        "a.k = b.k AND abs(a.i - b.i) <= 5",
        "a.k BETWEEN b.k - 9000000000000000000 AND b.k + 9000000000000000000",
    ],
    ids=["one end", "nothing in it", "not exact", "a key", "all values"],
)
def test_other_joins_stay_as_they_are(condition: str) -> None:
    plan = plan_of(WINDOWS + condition)
    assert partition_bands(plan, Estimates(Statistics())) == plan


def test_a_table_is_on_every_shard_anyway() -> None:
    plan = plan_of("SELECT a.k, r.w FROM a [RANGE 60 SECONDS], r WHERE abs(a.k - r.k) <= 5")
    assert partition_bands(plan, Estimates(Statistics())) == plan


def test_rows_of_the_slower_stream_are_copied() -> None:
    for slow, fast in ("ab", "ba"):
        known = Statistics({FactName("rate", slow): Fact(10.0, 1), FactName("rate", fast): Fact(1000.0, 1)})
        found = cells_of(chosen(BAND, known=known).plan)
        assert set(found) == {f"cell near {slow}.k", f"cell of {fast}.k"}


def test_rows_of_one_side_are_expected_once_and_those_of_the_other_twice() -> None:
    known = Statistics({FactName("rate", "a"): Fact(100.0, 1), FactName("rate", "b"): Fact(10.0, 1)})
    estimates = Estimates(known)
    found = {node.column: node for node in walk(chosen(BAND, known=known).plan) if isinstance(node, Unnest)}
    assert estimates.of(found["cell of a.k"]).rate == 100.0
    assert estimates.of(found["cell near b.k"]).rate == 20.0


def test_explain_shows_the_cells_and_the_plan_is_stored_with_them() -> None:
    plan = chosen(BAND)
    assert plan_from(plan_text(plan)) == plan
    text = explain(Explained(plan, 4))
    assert "Shuffle to 4 shards by cell of a.k" in text
    assert "Shuffle to 4 shards by cell near b.k" in text
    assert "rules: partition_bands" in text


@pytest.mark.parametrize(
    "planning",
    [Planning(shards=1), Planning(cores=1), Planning(shards=4, rules_off=frozenset(["partition_bands"]))],
    ids=["one shard", "one core", "switched off"],
)
def test_nothing_is_copied_where_it_gains_nothing(planning: Planning) -> None:
    plan = chosen(BAND, planning)
    assert not any(map(is_by_cell, walk(plan.plan)))
    assert "by ranges of a.k and b.k" in explain(Explained(plan, 4))


def test_a_join_that_a_count_window_keeps_on_one_shard_has_no_cells() -> None:
    plan = chosen(BAND.replace("a [RANGE 60 SECONDS]", "a [ROWS 5]"))
    assert not any(map(is_by_cell, walk(plan.plan)))


def test_what_is_above_and_below_the_join_has_stages_of_its_own() -> None:
    counts = "(SELECT k, count(*) AS n FROM a [RANGE 60 SECONDS] GROUP BY k)"
    sql = f"SELECT x.k, count(*) AS m FROM {counts} x, b [RANGE 60 SECONDS] WHERE abs(x.n - b.k) <= 1 GROUP BY x.k"
    plan = chosen(sql)
    assert [stage.is_sharded for stage in plan.stages] == [True, True, True]
    assert any(map(is_by_cell, walk(plan.plan)))


def test_a_join_runs_on_all_shards_below_what_needs_all_rows_together() -> None:
    for sql in (f"{BAND} LIMIT 3", f"SELECT count(*) AS n FROM ({BAND})"):
        assert [stage.is_sharded for stage in chosen(sql).stages] == [True, False]
