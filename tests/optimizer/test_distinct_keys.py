"""How many values keys have: over tasks, over epochs, and over restarts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panes.aggregates.distinct_sketch import ERROR, Registers, distinct_sketch
from panes.delta.hashing import hash_rows
from panes.language import bind, parse
from panes.optimizer import distinct_keys
from panes.optimizer.distinct_keys import DistinctKeys, keys_fact
from panes.optimizer.optimizer import optimize
from panes.optimizer.statistics import FactName
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalInput
from tests.optimizer.rewriting import CATALOG

K = FactName("distinct", "s.k")


def sketch(*values: range) -> tuple[FactName, Registers, int]:
    keys = np.concatenate([np.array(some) for some in values])
    return K, distinct_sketch(hash_rows(pa.table({"k": keys}), ["k"])), len(keys)


def inputs(sql: str) -> list[PhysicalInput]:
    (query,) = parse(sql)
    plan = make_plan(optimize(bind(query, CATALOG)))
    return [source for stage in plan.stages for source in stage.inputs]


def test_tasks_and_epochs_are_put_together():
    keys = DistinctKeys()
    found = keys.after([sketch(range(1_000)), sketch(range(500, 1_500))], {})
    assert found[K] == pytest.approx(1_500, rel=4 * ERROR)
    found = keys.after([sketch(range(1_000, 3_000))], {})
    assert found[K] == pytest.approx(3_000, rel=4 * ERROR)
    assert keys.after([], {}) == {}


def test_values_that_come_no_more_are_forgotten():
    keys = DistinctKeys()
    for _ in range(10):
        keys.after([sketch(range(1_000))], {})
    for _ in range(9):
        found = keys.after([sketch(range(1_000, 1_100))], {})
    assert found[K] == pytest.approx(1_100, rel=4 * ERROR)
    for _ in range(11):
        found = keys.after([sketch(range(1_000, 1_100))], {})
    assert found[K] == pytest.approx(100, rel=4 * ERROR)


def test_a_domain_that_was_not_seen_wholly_goes_on_growing():
    keys = DistinctKeys()
    for epoch in range(30):
        found = keys.after([sketch(range(epoch * 100, epoch * 100 + 100))], {})
    assert found[K] == pytest.approx(3_000, rel=4 * ERROR)


def test_what_was_known_counts_until_as_much_was_seen_again():
    keys = DistinctKeys()
    for _ in range(10):
        assert keys.after([sketch(range(100))], {K: 5_000.0})[K] == 5_000
    assert keys.after([sketch(range(100))], {K: 5_000.0})[K] == pytest.approx(100, rel=4 * ERROR)


def test_inputs_are_named_by_what_their_keys_are_of():
    (left, right) = inputs(
        "SELECT x.k FROM s [RANGE 5 SECONDS] x, t [RANGE 5 SECONDS] y WHERE x.k = y.k AND x.v > 3"
    )
    assert keys_fact(left) == FactName("distinct", "s.k of (s.v > 3.0)")
    assert keys_fact(right) == FactName("distinct", "t.k")
    (groups,) = inputs("SELECT k, count(*) AS n FROM s [RANGE 9 SECONDS SLIDE 1 SECOND] GROUP BY k")
    assert keys_fact(groups) == K
    (whole,) = inputs("SELECT count(*) AS n FROM s [RANGE 9 SECONDS SLIDE 1 SECOND]")
    assert keys_fact(whole) is None


def test_an_epoch_sketches_each_fact_once_and_only_so_many_in_turn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(distinct_keys, "_INPUTS", 2)
    some = [
        source
        for n in (1, 2, 3, 1)
        for source in inputs(
            f"SELECT k, count(*) AS n FROM s [RANGE 9 SECONDS SLIDE 1 SECOND] WHERE v > {n} GROUP BY k"
        )
    ]
    keys = DistinctKeys()
    assert [sorted(keys.chosen(some)) for _ in range(3)] == [[0, 1], [0, 2], [1, 2]]
