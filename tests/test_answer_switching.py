"""Queries have their answers in another way when they are invoked more or less often. No epoch is run here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import panes
from panes import answer_switching
from panes.answer_ways import fact_of_query, fact_of_shape
from panes.current_statistics import CurrentStatistics
from panes.errors import CatalogError, QueryBegunAnew
from panes.optimizer import drift
from panes.optimizer.statistics import EPOCH, Fact, FactName, Statistics
from panes.state.storage.epoch_log import NOTHING, QueryProgress, StreamProgress

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS"
COUNTS = "SELECT k, count(*) AS n FROM s [RANGE 100 SECONDS SLIDE 10 SECONDS] GROUP BY k"
PAIRS = "SELECT a.k, b.v FROM s [RANGE 9 SECONDS] AS a, s [RANGE 7 SECONDS] AS b WHERE a.k = b.k"
SELDOM, OFTEN = 0.0001, 50.0
REST_EPOCHS = 8


class Epochs:
    """A database whose epochs are committed without being run, under statistics that a test sets."""

    def __init__(self, db: panes.Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.db, self.before = db, NOTHING
        self.facts = {FactName("rate", "s"): Fact(20_000.0, 9), FactName("span", EPOCH): Fact(1.0, 9)}
        monkeypatch.setattr(CurrentStatistics, "__call__", lambda _: Statistics(dict(self.facts)))

    def invoked(self, name: str, rate: float) -> None:
        """The query is invoked so many times per second, as far as is known."""
        record = self.db._catalog.query(name)
        for fact in (fact_of_query(record.origin), fact_of_shape(self.db._registered.plan_of(record))):
            self.facts[FactName("invocations", fact)] = Fact(rate, 9)

    def run(self, count: int = 1) -> list[int]:
        """Some epochs; gives the queries and groups that the last one ran."""
        for _ in range(count):
            workload = self.db._running.workload(self.before, 2)
            epoch = self.before.epoch + 1
            queries = {
                query.known_as: QueryProgress(
                    2, 0, 0, 0, epoch=epoch, clock=epoch, answer=query.place_of(query.plan.last)
                )
                for query in workload.queries
            }
            streams = {1: StreamProgress(rows=epoch, clock=epoch)}
            self.before = replace(
                NOTHING, epoch=epoch, queries=queries, streams=streams, finished_us=epoch * 1_000_000
            )
            self.db._log.commit(self.before)
        return sorted(query.query for query in workload.queries)

    def mode(self, name: str) -> str:
        return self.db._catalog.query(name).answers.mode

    def reason(self, name: str) -> str:
        return self.db._catalog.query(name).answers.reason


@pytest.fixture
def epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Epochs]:
    monkeypatch.setattr(answer_switching, "LOOK_EVERY", 2)
    monkeypatch.setattr(drift, "REST_EPOCHS", REST_EPOCHS)
    with panes.connect(tmp_path / "db") as db:
        db.sql(STREAM)
        yield Epochs(db, monkeypatch)


# When a query is registered.


def test_nothing_is_known_of_the_first_query_and_so_the_number_of_those_alike_decides(epochs: Epochs):
    epochs.db.register(COUNTS, name="q")
    assert epochs.mode("q") == "eager"
    assert "measured:" not in epochs.db.query("q").explain()


def test_a_query_is_registered_in_the_way_that_its_like_make_cheapest(epochs: Epochs):
    epochs.db.register(PAIRS, name="first")
    epochs.invoked("first", SELDOM)
    epochs.db.register(PAIRS.replace("9", "11"), name="other")
    epochs.db.register(f"{PAIRS} AND a.v > 5", name="alike")
    assert epochs.mode("other") == "none", "pairs of the same streams and keys are of one shape"
    assert epochs.mode("alike") == "none"
    assert epochs.reason("alike").startswith("0.0001 invocations/s, 20,000 rows/s: ")
    assert epochs.reason("alike").endswith("which 'eager' would take")
    epochs.invoked("first", OFTEN)
    epochs.facts[FactName("cost", "read history fixed")] = Fact(5e6, 9)
    epochs.db.register(f"{PAIRS} AND a.v > 6", name="read_often")
    assert epochs.mode("read_often") != "none"


def test_what_a_statement_or_a_setting_asks_for_is_given_whatever_it_costs(epochs: Epochs):
    epochs.db.register(PAIRS, name="first")
    epochs.invoked("first", SELDOM)
    epochs.db.sql(f"CREATE QUERY given WITH (answers = 'eager') AS {PAIRS} AND a.v > 5")
    assert (epochs.mode("given"), epochs.reason("given")) == ("eager", "as it was registered")


def test_nothing_is_kept_of_no_query_whose_like_somebody_follows(epochs: Epochs):
    first = epochs.db.register(PAIRS, name="first")
    epochs.run()
    epochs.db._answers.readers._cursors.move(epochs.db._catalog.query("first").origin, "me", 0)
    assert first.readers() == {"me": 0}
    epochs.invoked("first", SELDOM)
    epochs.db.register(f"{PAIRS} AND a.v > 5", name="alike")
    assert epochs.mode("alike") != "none"


@pytest.mark.parametrize("begin", ["ALTER QUERY q AS", "CREATE OR REPLACE QUERY q AS"])
def test_a_query_that_somebody_follows_is_kept_when_it_is_altered(epochs: Epochs, begin: str):
    epochs.db.sql(f"CREATE QUERY q AS {COUNTS}")
    epochs.run()
    epochs.invoked("q", SELDOM)
    record = epochs.db._catalog.query("q")
    epochs.db._answers.readers._cursors.move(record.origin, "phone", 0)
    epochs.db.sql(f"{begin} {PAIRS}")
    altered = epochs.db._catalog.query("q")
    assert altered.id != record.id
    assert altered.answers.mode != "none"
    with pytest.raises(QueryBegunAnew, match=r"changes\(reader='phone', restart=True\)"):
        list(epochs.db.query("q").changes(reader="phone"))


def test_explain_tells_the_rates_and_what_each_way_costs(epochs: Epochs):
    epochs.db.register(COUNTS, name="q")
    epochs.invoked("q", 0.25)
    text = " ".join(epochs.db.query("q").explain().split())
    assert "measured: 0.25 invocations/s, 20,000 rows/s; 'eager' 0." in text
    costs = epochs.db._registered.answer_costs(epochs.db._catalog.query("q"))
    assert costs is not None
    assert set(costs.ways) == {"eager", "lazy", "none"}
    assert all(f"{mode!r} {cost:.3g}" in text for mode, cost in costs.ways.items())


# While it runs.


def test_a_query_that_is_hardly_invoked_is_asked_of_the_history_and_one_that_is_again_is_kept(
    epochs: Epochs,
):
    epochs.db.register(PAIRS, name="q")
    assert epochs.run(3) == [1]
    epochs.invoked("q", SELDOM)
    assert epochs.run(REST_EPOCHS - 3) == [1], "not so soon after it has begun"
    assert epochs.run(4) == []
    assert epochs.mode("q") == "none"
    switched = epochs.db._catalog.query("q").first_epoch
    assert epochs.reason("q").startswith(f"since epoch {switched}: 0.0001 invocations/s, 20,000 rows/s: ")
    epochs.invoked("q", OFTEN)
    epochs.facts[FactName("cost", "read history fixed")] = Fact(5e6, 9)
    assert epochs.run(REST_EPOCHS - 3) == []
    (running,) = epochs.run(5)
    assert epochs.mode("q") in ("eager", "lazy")
    assert running != 1, "it begins anew, and its state never meets the one that it had"
    assert epochs.db._catalog.query("q").origin == 1


def test_an_epoch_that_is_done_again_runs_what_it_ran_before(epochs: Epochs):
    epochs.db.register(PAIRS, name="q")
    epochs.run(REST_EPOCHS + 1)
    epochs.invoked("q", SELDOM)
    while epochs.mode("q") == "eager":
        ran = [query.query for query in epochs.db._running.workload(epochs.before, 2).queries]
        again = [query.query for query in epochs.db._running.workload(epochs.before, 2).queries]
        assert ran == again
        epochs.run()
    assert epochs.mode("q") == "none"


def test_a_query_goes_to_a_store_and_leaves_it_again(epochs: Epochs, monkeypatch: pytest.MonkeyPatch):
    epochs.db.register(COUNTS, name="q")
    epochs.invoked("q", OFTEN)
    ways = {"eager": 0.5, "lazy": 0.1, "none": 0.9}
    costs = epochs.db._registered.answer_costs(epochs.db._catalog.query("q"))
    monkeypatch.setattr(epochs.db._registered, "answer_costs", lambda _: replace(costs, ways=dict(ways)))
    epochs.run(REST_EPOCHS + 5)
    record = epochs.db._catalog.query("q")
    assert (record.answers.mode, record.group is not None) == ("lazy", True)
    assert epochs.run() == [record.group]
    ways["eager"] = 0.01
    epochs.run(REST_EPOCHS + 5)
    record = epochs.db._catalog.query("q")
    assert (record.answers.mode, record.group) == ("eager", None)
    assert epochs.run() == [record.id]


@pytest.mark.parametrize("why", ["followed", "never", "equal", "chosen", "gone"])
def test_a_query_keeps_its_way(epochs: Epochs, why: str, monkeypatch: pytest.MonkeyPatch):
    given = " WITH (answers = 'eager')" if why == "chosen" else ""
    epochs.db.sql(f"CREATE QUERY q{given} AS {PAIRS}")
    epochs.run(REST_EPOCHS)
    if why == "followed":
        epochs.db._answers.readers._cursors.move(1, "me", 0)
    elif why == "never":
        epochs.db.sql("SET replan = 'never'")
    elif why == "equal":
        epochs.db.register(PAIRS, name="same")
    elif why == "gone":
        reason = "its windows reach back to tuples that are not kept any more"
        monkeypatch.setattr(epochs.db._running._replanning, "why_not_rebuilt", lambda *_: reason)
    epochs.invoked("q", SELDOM)
    epochs.run(12)
    assert epochs.mode("q") == "eager"


def test_who_follows_a_query_of_which_nothing_is_kept_has_it_kept_from_the_next_epoch_on(epochs: Epochs):
    query = epochs.db.register(PAIRS, name="q")
    epochs.run(REST_EPOCHS)
    epochs.invoked("q", SELDOM)
    epochs.run(6)
    assert epochs.mode("q") == "none"
    assert list(query.changes()) == []
    assert epochs.mode("q") == "eager"
    assert epochs.reason("q") == f"since epoch {epochs.before.epoch + 1}: somebody follows its changes"
    assert len(epochs.run()) == 1
    epochs.db.sql(f"CREATE QUERY asked WITH (answers = 'none') AS {PAIRS}")
    with pytest.raises(CatalogError, match="no changes to follow"):
        epochs.db.query("asked").changes()


def test_reads_do_not_become_dearer_while_readers_are_made_to_wait(epochs: Epochs):
    epochs.db.register(PAIRS, name="q")
    epochs.run()
    epochs.invoked("q", SELDOM)
    switching = epochs.db._answers._switching
    # Of the second that each epoch took, readers waited for a half: they asked less often than they would have.
    switching.waited_seconds = lambda: 0.5
    epochs.run(3 * answer_switching.LOOK_EVERY)
    assert epochs.mode("q") == "eager"
    switching.waited_seconds = lambda: 0.0
    epochs.run()
    assert epochs.mode("q") == "eager", "the rates are means over the epochs before"
    epochs.run(3 * answer_switching.LOOK_EVERY)
    assert epochs.mode("q") == "none"
