"""What plans tell of facts: the same however rows are cut into epochs, and on however many shards."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import TS
from panes.language import bind, parse
from panes.operators.measures import Measures
from panes.optimizer import observed_facts
from panes.optimizer.known_facts import KnownFacts, facts_after, statistics_of
from panes.optimizer.observed_facts import ObservedFacts
from panes.optimizer.optimizer import optimize
from panes.optimizer.statistics import FactName, Statistics
from panes.plan.nodes import Node
from panes.stages.make_plan import make_plan
from panes.stages.measure_log import Measured, StepPlace, measured_after
from tests.optimizer.rewriting import CATALOG
from tests.properties.shards import Shards

SECONDS = 40
RATE = 200
VALUES = 100
"""Of the key, all as frequent."""

JOIN = "SELECT x.k FROM s [RANGE 8 SECONDS] x, t [RANGE 4 SECONDS] y WHERE x.k = y.k AND x.v > 0.75"
MATCHES = "SELECT * FROM t [RANGE 8 SECONDS] y WHERE x.k = y.k"
EXISTS = f"SELECT k FROM s [RANGE 8 SECONDS] x WHERE EXISTS ({MATCHES})"
NOT_EXISTS = EXISTS.replace("WHERE EXISTS", "WHERE NOT EXISTS")
EXCEPT = "SELECT k FROM s [RANGE 8 SECONDS] x EXCEPT ALL SELECT k FROM t [RANGE 4 SECONDS] y"


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    return optimize(bind(query, CATALOG))


def drawn(seed: int, rows: int = SECONDS * RATE) -> pa.Table:
    draw = np.random.default_rng(seed)
    columns = {"k": draw.integers(0, VALUES, rows), "v": draw.random(rows), "w": pa.nulls(rows, pa.string())}
    return pa.table({**columns, TS: np.sort(draw.integers(0, SECONDS * 1_000_000, rows))})


def regular(rate: int) -> pa.Table:
    """So many rows in every second, of one value after the other."""
    numbers = np.arange(SECONDS * rate)
    columns = {"k": numbers * 37 % VALUES, "v": numbers * 1.0, "w": pa.nulls(len(numbers), pa.string())}
    return pa.table({**columns, TS: (numbers * 2 + 1) * 500_000 // rate})


FEW_MATCHES = {"s": drawn(1), "t": regular(2)}


def between(rows: pa.Table, since: int, clock: int) -> pa.Table:
    ts = rows.column(TS).to_numpy()
    return rows.filter(pa.array((ts > since) & (ts <= clock)))


def facts_of(
    sql: str,
    cuts: list[float],
    shards: int,
    strategy: str = "upa",
    arrivals: Mapping[str, pa.Table] | None = None,
) -> Statistics:
    """What is known after a query has run over epochs that end at these seconds."""
    arrivals = arrivals or {"s": drawn(1), "t": drawn(2, SECONDS * RATE // 2)}
    running = Shards.of(plan_of(sql), shards, strategy=strategy)
    observer, since = ObservedFacts(), -1
    facts: KnownFacts = {}
    measured: Measured = {}
    for epoch, end in enumerate(cuts):
        clock = round(end * 1_000_000)
        running.process({name: between(rows, since, clock) for name, rows in arrivals.items()}, since, clock)
        first = frozenset({1} if epoch == 0 else ())
        observed = observer.of({1: running.query.plan}, first, running.done, measured)
        facts = facts_after(facts, observed, {}, epoch)
        measured = measured_after(measured, epoch, {1: (clock - since) / 1e6}, running.done)
        since = clock
    return statistics_of(facts)


CUTS = [
    [40],
    [2, 20, 40],
    list(range(1, 41)),
    [0.1, 20, 20.5, *range(21, 30), 39, 39.01, 40],
]
FINE = [end / 2 for end in range(1, 35)]
WAYS = [(cuts, shards, "upa") for cuts in CUTS for shards in (1, 3)] + [(FINE, 2, "nt")]


@pytest.mark.parametrize(("cuts", "shards", "strategy"), WAYS)
def test_selectivities_do_not_depend_on_epochs_and_shards(cuts: list[float], shards: int, strategy: str):
    known = facts_of(JOIN, cuts, shards, strategy)
    assert known.measured("selectivity", "s.v > 0.75") == pytest.approx(0.25, rel=0.1)
    assert known.join("s.k = t.k of (s.v > 0.75)") == pytest.approx(1 / VALUES, rel=0.1)


@pytest.mark.parametrize("cuts", [[2], [0.5, 2], [1, 1.5, 2]])
def test_windows_that_are_not_full_tell_the_same(cuts: list[float]):
    known = facts_of(JOIN, cuts, 1)
    assert known.join("s.k = t.k of (s.v > 0.75)") == pytest.approx(1 / VALUES, rel=0.15)


def test_a_join_by_negative_tuples_says_nothing_of_epochs_in_which_results_come_and_go():
    assert facts_of(JOIN, CUTS[1], 1, "nt").join("s.k = t.k of (s.v > 0.75)") is None


MET = "s.k = t.k"


@pytest.mark.parametrize(("cuts", "shards"), [(CUTS[1], 3), (CUTS[2], 1), (CUTS[3], 3)])
def test_shares_of_rows_with_a_match_do_not_depend_on_epochs_and_shards(cuts: list[float], shards: int):
    for sql, name in ((EXISTS, f"EXISTS {MET}"), (NOT_EXISTS, f"NOT EXISTS {MET}")):
        whole = facts_of(sql, CUTS[1], 1, arrivals=FEW_MATCHES).measured("selectivity", name)
        assert whole is not None
        known = facts_of(sql, cuts, shards, arrivals=FEW_MATCHES).measured("selectivity", name)
        assert known == pytest.approx(whole, rel=0.15)


def test_early_departures_do_not_depend_on_shards_nor_on_epochs_that_are_shorter_than_windows():
    for sql, name in ((NOT_EXISTS, f"NOT EXISTS {MET}"), (EXCEPT, "s.k EXCEPT t.k")):
        expected = facts_of(sql, FINE, 1, arrivals=FEW_MATCHES).early(name)
        assert expected is not None
        assert 0 < expected < 0.6
        assert facts_of(sql, FINE, 3, arrivals=FEW_MATCHES).early(name) == pytest.approx(expected, rel=1e-6)
        assert facts_of(sql, CUTS[2][:17], 1, arrivals=FEW_MATCHES).early(name) == pytest.approx(
            expected, rel=0.2
        )


def test_negative_tuples_of_the_left_do_not_count_as_early():
    known = facts_of(NOT_EXISTS, CUTS[1], 1, "nt")
    assert known.early(f"NOT EXISTS {MET}") is None
    assert known.measured("selectivity", f"NOT EXISTS {MET}") is None


def test_every_operator_has_a_cost():
    known = facts_of(JOIN, CUTS[2], 2)
    operators = {name.name.rpartition(" ")[0] for name in known.facts if name.kind == "cost"}
    assert operators == {"Entry", "Select", "Project", "TimeWindow", "ReleaseOnTime", "Join"}
    parts = [known.cost("Join", part) for part in ("probe", "insert", "expire")]
    assert all(part > 0 for part in parts)
    assert sum(parts) < known.cost("Join")


def test_the_first_epoch_of_a_query_says_nothing_of_costs():
    assert not [name for name in facts_of(JOIN, [40], 1).facts if name.kind == "cost"]


def test_a_table_that_every_shard_has_counts_once():
    sql = "SELECT x.k FROM s [RANGE 8 SECONDS] x, r WHERE x.k = r.k"
    table = pa.table({"k": np.arange(50), "v": np.zeros(50), "w": pa.nulls(50, pa.string())})
    at_once = {TS: np.zeros(50, np.int64), "_exp": np.full(50, 2**63 - 1), "_weight": np.ones(50, np.int64)}
    for name, column in at_once.items():
        table = table.append_column(name, pa.array(column))
    for shards in (1, 3):
        known = facts_of(sql, CUTS[1], shards, arrivals={"s": drawn(1), "r": table})
        # Half of the values of the stream are in the table: 50 · f = 0.5.
        assert known.join("r.k = s.k") == pytest.approx(0.01, rel=0.1)


def test_plans_take_turns_where_there_are_many(monkeypatch: pytest.MonkeyPatch):
    plan = make_plan(plan_of("SELECT k FROM s [RANGE 8 SECONDS] x WHERE v > 0.5"))
    (step,) = [step for step in plan.stages[0].inputs[0].fragment.steps if step.operator == "Select"]
    place = StepPlace(0, 0, plan.stages[0].inputs[0].name, step.name)
    monkeypatch.setattr(observed_facts, "_STEPS", 20)
    observer, plans = ObservedFacts(), dict.fromkeys(range(6), plan)
    done = {place._replace(query=number): Measures(rows_in=2**number, spans=1) for number in plans}
    seen = []
    for _ in range(3):
        observed = observer.of(plans, frozenset(), done, {})
        seen.append(observed.ratios[FactName("selectivity", "s.v > 0.5")][1])
    assert seen == [3, 12, 48]  # two of them in each epoch
