"""Databases in which features are mixed at random, compared with DuckDB after every step.

`PANES_MIXTURE_SEEDS=300` runs so many seeds, `PANES_MIXTURE_SEED=17` one by its number, `PANES_MIXTURE_STEPS` says
how long scripts are, and `PANES_MIXTURE_WITHOUT=files,late` leaves steps and kinds of data out. With `-s`
each seed prints what it has compared, and the last line sums it up.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.mixtures.mixture import Mixture
from tests.mixtures.opened import opened

_ONE = os.environ.get("PANES_MIXTURE_SEED")
SEEDS = [int(_ONE)] if _ONE else range(int(os.environ.get("PANES_MIXTURE_SEEDS", "24")))
STEPS = int(os.environ.get("PANES_MIXTURE_STEPS", "12"))
WITHOUT = os.environ.get("PANES_MIXTURE_WITHOUT", "").split(",")


@pytest.fixture(scope="module")
def compared() -> Iterator[Counter[str]]:
    """What all seeds have compared, printed after the last one."""
    total: Counter[str] = Counter()
    yield total
    print(f"\nmixtures: {summary(total)}")


def summary(compared: Counter[str]) -> str:
    return ", ".join(f"{what} {count}" for what, count in sorted(compared.items()))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mixture_of_features_gives_the_answers_of_the_rows_it_was_given(
    tmp_path: Path, seed: int, compared: Counter[str]
) -> None:
    mixture = Mixture(seed, tmp_path, opened, WITHOUT)
    mixture.run(STEPS)
    assert mixture.compared
    print(f"seed {seed}: {summary(mixture.compared)}")
    compared.update(mixture.compared)
    compared["seeds"] += 1


@pytest.mark.parametrize("seed", range(2))
def test_the_same_on_spark(spark: Any, tmp_path: Path, seed: int) -> None:
    mixture = Mixture(seed, tmp_path, partial(opened, spark=spark), WITHOUT)
    mixture.run(STEPS)
    assert mixture.compared
