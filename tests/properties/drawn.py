"""How many cases the property tests draw, and for how long: `make test` the same ones every time, a soak new
ones until the time that PANES_SOAK_SECONDS gives to each test is over."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

SOAK_SECONDS = float(os.environ.get("PANES_SOAK_SECONDS", "0"))

CASES = 2_100
"""Drawn by `make test`, over all property tests."""


def drawn(case: SearchStrategy[Any], *, share: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test over drawn cases; `share` is its part of them, or of the time of a soak."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        checked = settings(
            max_examples=round(CASES * share),
            deadline=None,
            derandomize=not SOAK_SECONDS,
            database=None,
            phases=(Phase.explicit, Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            print_blob=bool(SOAK_SECONDS),
        )(given(case)(test))
        if not SOAK_SECONDS:
            return checked

        @functools.wraps(test)
        def soak() -> None:
            end = time.monotonic() + SOAK_SECONDS * share
            while time.monotonic() < end:
                checked()

        del soak.__wrapped__  # pytest would take the arguments of the test for fixtures
        return soak

    return decorate
