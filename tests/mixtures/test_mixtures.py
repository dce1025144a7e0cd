"""Databases in which features are mixed at random, compared with DuckDB after every step.

`PANES_MIXTURE_SEEDS=300` runs so many seeds, `PANES_MIXTURE_SEED=17` one by its number, `PANES_MIXTURE_STEPS` says
how long scripts are, and `PANES_MIXTURE_WITHOUT=files,late` leaves steps and kinds of data out.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.mixtures.mixture import Mixture
from tests.mixtures.opened import opened

pytestmark = pytest.mark.spark

_ONE = os.environ.get("PANES_MIXTURE_SEED")
SEEDS = [int(_ONE)] if _ONE else range(int(os.environ.get("PANES_MIXTURE_SEEDS", "3")))
STEPS = int(os.environ.get("PANES_MIXTURE_STEPS", "12"))
WITHOUT = os.environ.get("PANES_MIXTURE_WITHOUT", "").split(",")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mixture_of_features_gives_the_answers_of_the_rows_it_was_given(
    spark: Any, tmp_path: Path, seed: int
) -> None:
    mixture = Mixture(seed, tmp_path, partial(opened, spark=spark), WITHOUT)
    mixture.run(STEPS)
    assert mixture.compared
