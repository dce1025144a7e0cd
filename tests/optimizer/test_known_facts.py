"""All facts: kept over restarts, bounded, and told as statistics."""

from __future__ import annotations

import pytest

from panes.operators.measures import Measures
from panes.optimizer import known_facts
from panes.optimizer.known_facts import facts_after, read_from, statistics_of, stored
from panes.optimizer.observed_facts import Observed
from panes.optimizer.statistics import Fact, FactName

RATE = FactName("rate", "s")
DISTINCT = FactName("distinct", "s.k")


def observed(*names: FactName) -> Observed:
    found = Observed()
    for name in names:
        found.add(name, 6, 2)
    return found


def test_facts_are_read_as_they_were_stored():
    found = observed(RATE)
    found.add_cost("Select", Measures(rows_in=10, cpu_us=20, spans=1))
    known = facts_after({}, found, {DISTINCT: 7.0}, 3)
    assert read_from(stored(known)) == known
    assert read_from(stored({})) == {}
    assert read_from(b"") == {}


def test_facts_are_told_with_the_number_of_epochs_that_they_are_from():
    known = facts_after({}, observed(RATE), {DISTINCT: 7.0}, 0)
    known = facts_after(known, observed(RATE), {}, 1)
    told = statistics_of(known, {"hosts": 12})
    assert told.facts == {
        FactName("rows", "hosts"): Fact(12.0, 1),
        RATE: Fact(3.0, 2),
        DISTINCT: Fact(7.0, 1),
    }
    assert (told.rate("s"), told.table_rows("hosts"), told.distinct("s.k")) == (3.0, 12.0, 7.0)


def test_a_ratio_of_nothing_is_no_fact():
    found = Observed()
    found.add(RATE, 5, 0)
    assert statistics_of(facts_after({}, found, {}, 0)).measured("rate", "s") is None


def test_costs_are_told_by_part():
    found = Observed()
    found.add_cost("Select", Measures(rows_in=1_000, cpu_us=1_100, spans=1))
    found.add_cost("Select", Measures(rows_in=9_000, cpu_us=9_100, spans=1))
    told = statistics_of(facts_after({}, found, {}, 0))
    assert told.cost("Select") == pytest.approx(1.0)
    assert told.cost("Select", "fixed") == pytest.approx(100)


def test_facts_that_were_not_seen_for_the_longest_time_go_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(known_facts, "_MOST", 2)
    names = [FactName("selectivity", f"s.v > {n}") for n in range(3)]
    known = facts_after({}, observed(names[0]), {}, 0)
    known = facts_after(known, observed(names[1]), {}, 1)
    known = facts_after(known, observed(names[0], names[2]), {}, 2)
    assert set(known) == {names[0], names[2]}
