"""How many different values there are, from a kilobyte."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panes.aggregates.distinct_sketch import ERROR, Registers, distinct_in, distinct_sketch
from panes.delta.hashing import hash_rows
from panes.stages.routing import shards_of


def hashes(values: object) -> np.ndarray:
    return hash_rows(pa.table({"k": values}), ["k"])


def drawn(domain: int, rows: int, seed: int) -> np.ndarray:
    return hashes(np.random.default_rng(seed).integers(0, domain, rows) * 7919 + seed)


@pytest.mark.parametrize("count", [1, 2, 10, 100, 1_000, 2_500, 5_000, 20_000, 300_000])
def test_counts_are_within_the_stated_error(count: int):
    errors = []
    for seed in range(20):
        found = distinct_in(distinct_sketch(hashes(np.arange(count) + seed * 10_000_000)))
        errors.append(found / count - 1)
    assert abs(np.mean(errors)) < ERROR  # without a bias at any size
    assert np.std(errors) < 1.5 * ERROR
    assert np.abs(errors).max() < 4 * ERROR


def test_texts_are_counted_as_numbers_are():
    found = distinct_in(distinct_sketch(hashes([f"host-{n % 700}" for n in range(5_000)])))
    assert found == pytest.approx(700, rel=4 * ERROR)


def test_the_greater_registers_of_two_sketches_are_the_sketch_of_both():
    one, other = drawn(500, 3_000, 1), drawn(900, 2_000, 2)
    both = np.maximum(distinct_sketch(one), distinct_sketch(other))
    assert (both == distinct_sketch(np.concatenate([one, other]))).all()


@pytest.mark.parametrize("cuts", [[1], [7, 8], [100, 2_000, 2_999]])
def test_it_does_not_matter_how_rows_are_cut_and_on_which_shard_they_are(cuts: list[int]):
    all_ = drawn(800, 3_000, 3)
    whole = distinct_sketch(all_)
    assert (_together([distinct_sketch(part) for part in np.split(all_, cuts)]) == whole).all()
    shard = shards_of(all_, 4)
    assert (_together([distinct_sketch(all_[shard == number]) for number in range(4)]) == whole).all()


def test_no_rows_have_no_values():
    assert distinct_in(distinct_sketch(np.zeros(0, np.uint64))) == 0


def test_a_hash_of_zeros_is_a_value():
    assert distinct_in(distinct_sketch(np.zeros(5, np.uint64))) == pytest.approx(1, rel=0.01)
    assert distinct_in(distinct_sketch(np.full(5, np.iinfo(np.uint64).max))) == pytest.approx(1, rel=0.01)


def _together(sketches: list[Registers]) -> Registers:
    return np.maximum.reduce(sketches)
