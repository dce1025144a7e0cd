"""How many cases the property tests draw, and for how long: `make test` the same ones every time, a soak new
ones until the time that PANES_SOAK_SECONDS gives to all tests together is over.

A case is drawn from a seed, so that all that can be drawn comes equally often. When one fails, rows and
clocks are taken out of it for as long as it still fails, and what is left is shown.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from hypothesis import HealthCheck, Phase, given, settings

from panes.plan import nodes
from tests.properties.plans import Drawing
from tests.properties.running import UPA, Way
from tests.properties.streams import SEEDS, TABLES, Arrivals

SOAK_SECONDS = float(os.environ.get("PANES_SOAK_SECONDS", "0"))

CASES = 1_200
"""Drawn by `make test`, by the tests whose shares add up to 1."""


_ROUND = 25
"""Cases between two looks at the time of a soak."""


@dataclass(frozen=True)
class Case:
    plan: nodes.Node
    arrivals: Arrivals
    way: Way
    large_tables: frozenset[str] = frozenset()

    def smaller(self) -> Iterator[Case]:
        for arrivals in self.arrivals.smaller():
            yield replace(self, arrivals=arrivals)

    def __str__(self) -> str:
        tables = (f"{name}: {table.to_pylist()}" for name, table in self.arrivals.tables.items())
        large = f"large tables {sorted(self.large_tables)}"
        return "\n".join([str(self.way), f"clocks {self.arrivals.clocks}", large, *tables, str(self.plan)])


Check = Callable[[Case], None]


@dataclass(frozen=True)
class Cases:
    """What to draw: plans up to a depth (or as `plan` draws them), and arrivals up to a number of rows."""

    deepest: int = 3
    retracts: bool = True
    plan: Callable[[Drawing], nodes.Node] | None = None
    most_rows: int = 40
    most_clocks: int = 4
    ways: tuple[Way, ...] = (UPA,)
    out_of_order: bool = False

    def draw(self, seed: bytes) -> Case:
        random = Random(seed)
        drawing = Drawing(random, self.retracts)
        plan = self.plan(drawing) if self.plan else drawing.relation(random.randint(0, self.deepest))
        arrivals = Arrivals.drawn(random, self.most_rows, self.most_clocks)
        if self.out_of_order:
            arrivals = arrivals.out_of_order(random)
        large_tables = frozenset(random.choice(((), (), TABLES)))
        return Case(plan, arrivals, random.choice(self.ways), large_tables)


def drawn(cases: Cases, *, share: float) -> Callable[[Check], Callable[[], None]]:
    """Runs a check over drawn cases; `share` is its part of them, or of the time of a soak."""

    def decorate(check: Check) -> Callable[[], None]:
        @settings(
            max_examples=_ROUND if SOAK_SECONDS else round(CASES * share),
            deadline=None,
            derandomize=not SOAK_SECONDS,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(SEEDS)
        def draws(seed: bytes) -> None:
            explained(check, cases.draw(seed))

        @functools.wraps(check)
        def test() -> None:
            end = time.monotonic() + SOAK_SECONDS * share
            draws()
            while time.monotonic() < end:
                draws()

        del test.__wrapped__  # pytest would take the argument of the check for a fixture
        return test

    return decorate


def explained(check: Check, case: Case) -> None:
    """Runs a check; when it fails, with the smallest case found that still does."""
    error = _failure(check, case)
    if error is None:
        return
    smallest, again = case, True
    while again:
        again = False
        for smaller in smallest.smaller():
            still = _failure(check, smaller)
            if still is not None:
                smallest, error, again = smaller, still, True
                break
    raise AssertionError(f"{error}\n{smallest}") from error


def _failure(check: Check, case: Case) -> Exception | None:
    try:
        check(case)
    except Exception as error:
        return error
    return None
