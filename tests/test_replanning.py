"""Giving registered queries other plans: what epochs run before, during and after a switch. No epoch is run
here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import panes
from panes import replanning, stored_plans
from panes.errors import CatalogError
from panes.runtime.epoch_runner import Workload
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import NOTHING, QueryProgress, StreamProgress

RUNNING = [
    "SELECT a.k FROM s [RANGE 9 SECONDS] AS a, s [RANGE 7 SECONDS] AS b WHERE a.k = b.k",
    "SELECT DISTINCT k FROM s [RANGE 20 SECONDS]",
]


class Epochs:
    """A database whose epochs are committed without being run; the strategy stands for the plan that is chosen."""

    def __init__(self, db: panes.Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.db, self.strategy, self.join = db, "upa", "auto"
        self.before = NOTHING
        choose = stored_plans.choose_plan

        def chosen(plan, statistics, planning, *rules):
            planning = replace(planning, strategy=self.strategy, join=self.join)
            return choose(plan, statistics, planning, *rules)

        monkeypatch.setattr(stored_plans, "choose_plan", chosen)

    def workload(self) -> Workload:
        return self.db._running.workload(self.before, 2)

    def commit(self, workload: Workload) -> None:
        epoch = self.before.epoch + 1
        queries = {
            query.known_as: QueryProgress(
                2, 0, 0, 0, epoch=epoch, clock=epoch, answer=query.place_of(query.plan.last)
            )
            for query in workload.queries
        }
        streams = {1: StreamProgress(rows=epoch, clock=epoch)}
        self.before = replace(NOTHING, epoch=epoch, queries=queries, streams=streams)
        self.db._log.commit(self.before)

    def next(self) -> list[tuple[int, int, int | None, str]]:
        """An epoch; gives the number of each plan that it runs, its query, what it replaces, and which plan it
        is."""
        workload = self.workload()
        self.commit(workload)
        return [(query.id, query.query, query.replaces, query.plan.strategy) for query in workload.queries]

    def replan(self, name: str, strategy: str) -> None:
        self.strategy = strategy
        self.db.sql(f"ALTER QUERY {name} REPLAN")

    def plans(self, name: str) -> list[tuple[object, ...]]:
        shown = self.db.sql(f"SHOW PLANS {name}")
        return [tuple(row.values()) for row in shown.select(SHOWN).to_pylist()]


SHOWN = ["plan", "state", "first_epoch", "last_epoch", "reason"]
ASKED = "ALTER QUERY … REPLAN"


@pytest.fixture
def epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Epochs]:
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        for number, sql in enumerate(RUNNING):
            db.register(sql, name=f"q{number + 1}")
        yield Epochs(db, monkeypatch)


def test_both_plans_run_for_an_epoch_and_then_the_new_one_alone(epochs: Epochs):
    assert epochs.next() == [(1, 1, None, "upa"), (2, 2, None, "upa")]
    epochs.replan("q1", "nt")
    assert epochs.next() == [(1, 1, None, "upa"), (2, 2, None, "upa"), (3, 1, 1, "nt")]
    assert set(epochs.before.queries) == {1, 2, 3}
    assert epochs.next() == [(3, 1, None, "nt"), (2, 2, None, "upa")]
    assert set(epochs.before.queries) == {1, 2}
    assert epochs.plans("q1") == [(1, "ended", 0, 1, "registered"), (3, "runs", 1, None, ASKED)]
    assert epochs.plans("q2") == [(2, "runs", 0, None, "registered")]
    assert "nt" in epochs.db.query("q1").explain()


def joins_of(query: RunningQuery) -> list[str]:
    """The operators of a plan that join windows."""
    fragments = [stage.fragment for stage in query.plan.stages if stage.fragment is not None]
    steps = [step.operator for fragment in fragments for step in fragment.steps]
    return [operator for operator in steps if operator in ("Join", "MultiJoin")]


def test_a_tree_of_joins_becomes_a_pipeline_and_a_tree_again(epochs: Epochs):
    epochs.join = "tree"
    windows = ", ".join(f"s [RANGE {5 + number} SECONDS] AS {name}" for number, name in enumerate("abc"))
    epochs.db.register(f"SELECT a.k FROM {windows} WHERE a.k = b.k AND b.k = c.k", name="around")
    seen = []
    for join in ("tree", "pipelined", "tree"):
        if join != epochs.join:
            epochs.join = join
            epochs.replan("around", "upa")
        for _ in range(2):
            workload = epochs.workload()
            epochs.commit(workload)
            running = [query for query in workload.queries if query.query == 3]
            seen.append([(joins_of(query), query.replaces is not None) for query in running])
    tree, pipeline = ["Join", "Join"], ["MultiJoin"]
    assert seen == [
        [(tree, False)],
        [(tree, False)],
        [(tree, False), (pipeline, True)],
        [(pipeline, False)],
        [(pipeline, False), (tree, True)],
        [(tree, False)],
    ]


def test_an_epoch_that_is_done_again_runs_both_plans_again(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    for _ in range(2):
        assert [query.id for query in epochs.workload().queries] == [1, 2, 3]
    epochs.commit(epochs.workload())
    for _ in range(2):
        assert [query.id for query in epochs.workload().queries] == [3, 2]


def test_a_switch_goes_on_in_the_next_process(epochs: Epochs, tmp_path: Path):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.next()
    epochs.db.close()
    with panes.connect(tmp_path / "db") as epochs.db:
        assert epochs.next() == [(3, 1, None, "nt"), (2, 2, None, "upa")]


def test_a_plan_that_is_chosen_while_another_begins_follows_it(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.next()
    epochs.replan("q1", "upa")
    assert epochs.next() == [(3, 1, None, "nt"), (2, 2, None, "upa"), (4, 1, 3, "upa")]
    assert epochs.next() == [(4, 1, None, "upa"), (2, 2, None, "upa")]


def test_of_two_plans_that_wait_the_later_one_begins(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.replan("q1", "direct")
    assert epochs.next()[2:] == [(4, 1, 1, "direct")]
    assert epochs.plans("q1")[1:] == [(4, "begins", 1, None, ASKED)]


def test_a_choice_that_comes_out_as_before_is_noted_and_changes_nothing(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.replan("q1", "upa")
    assert len(epochs.next()) == 2
    same = f"{ASKED}: the choice is the plan that runs"
    assert epochs.plans("q1") == [(1, "runs", 0, None, "registered"), (None, "same", None, None, same)]


def test_a_query_that_has_not_begun_gets_its_plan_at_once(epochs: Epochs):
    epochs.replan("q1", "nt")
    assert epochs.next() == [(1, 1, None, "nt"), (2, 2, None, "upa")]


def test_a_query_that_begins_in_an_epoch_gets_its_plan_in_the_next(epochs: Epochs):
    epochs.workload()  # an epoch that fails
    epochs.replan("q1", "nt")
    assert epochs.next() == [(1, 1, None, "upa"), (2, 2, None, "upa")]
    assert epochs.next()[2:] == [(3, 1, 1, "nt")]


def test_when_the_new_plan_fails_the_old_one_goes_on(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.workload()
    epochs.db._registered.suspend({3: "a sum is too large"})
    for _ in range(2):
        assert epochs.next() == [(1, 1, None, "upa"), (2, 2, None, "upa")]
    failed = f"{ASKED}; failed: a sum is too large"
    assert epochs.plans("q1") == [(1, "runs", 0, None, "registered"), (3, "failed", 1, 1, failed)]
    assert epochs.db.status().failed == {}


def test_when_the_old_plan_fails_the_query_is_suspended(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.workload()
    epochs.db._registered.suspend({1: "a sum is too large"})
    assert epochs.next() == [(2, 2, None, "upa")]
    assert epochs.db.status().failed == {"q1": "a sum is too large"}
    with pytest.raises(CatalogError, match="'q1' is suspended, and gets a new plan when it is resumed"):
        epochs.replan("q1", "nt")
    epochs.db.sql("ALTER QUERY q1 RESUME")
    assert epochs.next() == [(1, 1, None, "nt"), (2, 2, None, "upa")]


def test_a_replaced_plan_that_fails_later_suspends_its_query(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.next()
    epochs.workload()
    epochs.db._registered.suspend({3: "a sum is too large"})
    assert epochs.next() == [(2, 2, None, "upa")]
    assert epochs.db.status().failed == {"q1": "a sum is too large"}


def test_an_altered_query_begins_with_a_plan_of_its_own(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.workload()
    epochs.db.sql(f"ALTER QUERY q1 AS {RUNNING[1]}")
    assert epochs.next() == [(4, 4, None, "nt"), (2, 2, None, "upa")]
    assert epochs.plans("q1") == [(1, "ended", 0, 1, "registered"), (4, "runs", 1, None, "registered")]


def test_nothing_is_left_of_a_query_that_is_dropped(epochs: Epochs):
    epochs.next()
    epochs.replan("q1", "nt")
    epochs.next()
    epochs.replan("q1", "upa")
    epochs.next()
    epochs.db.sql("DROP QUERY q1")
    assert epochs.next() == [(2, 2, None, "upa")]
    assert epochs.db._catalog._select("SELECT id FROM plans") == [(2,)]
    assert set(epochs.db._catalog.queries_by_plan()) == {2}


def test_queries_that_share_a_plan_keep_it(epochs: Epochs):
    epochs.db.sql("SET share_from = 1; CREATE QUERY shared AS SELECT k FROM s [RANGE 3 SECONDS] WHERE k > 1")
    with pytest.raises(CatalogError, match="'shared' keeps its plan: it shares the plan with other queries"):
        epochs.replan("shared", "nt")
    assert [row[1] for row in epochs.plans("shared")] == ["runs"]


def test_a_query_whose_windows_reach_behind_the_history_keeps_its_plan(epochs: Epochs):
    epochs.db.register("SELECT k, count(*) AS n FROM s GROUP BY k", name="ever")
    epochs.next()
    epochs.strategy = "nt"
    epochs.db.sql("ALTER QUERY ever REPLAN")
    # Between the statement and the epoch the stream lets go of something.
    manifest = epochs.db._running._replanning._history.at(1, 0)
    kept = replace(manifest, dropped=1, dropped_to=0)
    epochs.db._running._replanning._history.at = lambda *_: kept
    assert len(epochs.next()) == 3
    reason = "its windows reach back to tuples of 's' that are not kept any more"
    assert epochs.plans("ever")[1:] == [(4, "refused", None, None, f"{ASKED}; refused: {reason}")]
    with pytest.raises(CatalogError, match=f"'ever' keeps its plan: {reason}"):
        epochs.db.sql("ALTER QUERY ever REPLAN")


# By itself.


@pytest.fixture
def drifting(epochs: Epochs, monkeypatch: pytest.MonkeyPatch) -> Epochs:
    """The plan of the strategy nt becomes the cheaper one; plans are looked at after every second epoch."""
    monkeypatch.setattr(replanning, "LOOK_EVERY", 2)
    costs = {"upa": 0.5, "nt": 0.1, "direct": 0.45}
    monkeypatch.setattr(epochs.db._running._replanning, "_cost", lambda plan: costs[plan.strategy])
    epochs.next()
    epochs.strategy = "nt"
    return epochs


def test_plans_are_switched_once_when_another_has_become_cheaper(drifting: Epochs):
    ran = [drifting.next() for _ in range(9)]
    # One plan is looked at before an epoch, so the second begins when the first takes over.
    assert [len(plans) for plans in ran] == [2, 2, 3, 3, 2, 2, 2, 2, 2]
    assert ran[-1] == [(3, 1, None, "nt"), (4, 2, None, "nt")]
    reason = "80 % cheaper: 0.1 instead of 0.5 CPU seconds per second"
    assert drifting.plans("q1") == [(1, "ended", 0, 3, "registered"), (3, "runs", 3, None, reason)]
    shown = drifting.db.sql("SHOW PLANS q1").select(["cost_before", "cost_after"]).to_pylist()
    assert shown[1] == {"cost_before": 0.5, "cost_after": 0.1}
    # A little later the other way round would be cheaper again: not so soon.
    drifting.strategy = "upa"
    drifting.db._running._replanning._cost = lambda plan: {"upa": 0.01, "nt": 0.1}[plan.strategy]
    assert all(len(drifting.next()) == 2 for _ in range(6))


def test_plans_that_are_hardly_cheaper_are_left_alone(drifting: Epochs):
    drifting.strategy = "direct"
    assert all(len(drifting.next()) == 2 for _ in range(6))


def test_plans_are_not_looked_at_when_nobody_wants_it(drifting: Epochs):
    drifting.db.sql("SET replan = 'never'")
    assert all(len(drifting.next()) == 2 for _ in range(6))
    drifting.db.sql("SET replan = 'auto'")
    assert any(len(drifting.next()) == 3 for _ in range(6))


def test_one_plan_is_looked_at_before_an_epoch_and_all_in_turn(drifting: Epochs):
    for number in range(3, 9):
        drifting.strategy = "upa"
        drifting.db.register(RUNNING[1].replace("20", str(20 + number)), name=f"q{number}")
    drifting.strategy = "nt"
    begun = [sum(replaces is not None for *_, replaces, _ in drifting.next()) for _ in range(12)]
    assert max(begun) == 1
    assert sum(begun) == 8


def test_plans_are_not_compared_again_while_the_cost_of_one_stays_the_same(
    drifting: Epochs, monkeypatch: pytest.MonkeyPatch
):
    drifting.db.sql("DROP QUERY q2")
    monkeypatch.setattr(replanning, "_LOOKS_PER_CHOICE", 10)
    costs = {"upa": 0.1, "nt": 0.1}
    choices = []
    replanned = drifting.db._running._replanning
    monkeypatch.setattr(replanned, "_cost", lambda plan: costs[plan.strategy])
    monkeypatch.setattr(replanned, "_compare", lambda *_: choices.append(drifting.before.epoch))
    for epoch in range(60):
        costs["upa"] = 0.1 if epoch < 10 else 0.105 if epoch < 20 else 0.13
        drifting.next()
    # Every second epoch is looked at: first, when the cost has moved by more than a tenth, and long after.
    assert choices == [2, 20, 40]


def test_a_plan_with_other_columns_does_not_take_over(drifting: Epochs, monkeypatch: pytest.MonkeyPatch):
    drifting.db.sql("DROP QUERY q2")
    other = stored_plans.choose_plan

    def of_other_columns(plan, statistics, planning, *rules):
        return other(plan.children[0], statistics, planning, *rules)

    monkeypatch.setattr(stored_plans, "choose_plan", of_other_columns)
    with pytest.raises(CatalogError, match="'q1' keeps its plan: the other one has the columns"):
        drifting.db.sql("ALTER QUERY q1 REPLAN")
    assert all(len(drifting.next()) == 1 for _ in range(4))


def test_a_choice_that_fails_leaves_the_plan_as_it_is(drifting: Epochs, monkeypatch: pytest.MonkeyPatch):
    def failing(*_: object) -> None:
        raise CatalogError("no plan today")

    monkeypatch.setattr(stored_plans, "choose_plan", failing)
    for _ in range(3):
        assert len(drifting.next()) == 2
    noted = "no other plan could be chosen: no plan today"
    assert drifting.plans("q1")[-1] == (None, "same", None, None, noted)


def test_a_query_that_went_or_changed_since_the_last_epoch_is_not_looked_at(drifting: Epochs):
    drifting.next()
    drifting.next()
    drifting.db.sql("DROP QUERY q1")
    drifting.strategy = "direct"
    drifting.db.sql("ALTER QUERY q2 REPLAN")
    drifting.strategy = "nt"
    assert drifting.next() == [(2, 2, None, "upa"), (3, 2, 2, "direct")]
