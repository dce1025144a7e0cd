"""What each way to have the answer of a query costs, by how often it is invoked and how fast tuples come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from panes.config import EAGER, LAZY, NONE
from panes.optimizer.assumed import FIXED
from panes.optimizer.cost import PlanCost
from panes.optimizer.statistics import Statistics

READ_TUPLES, READ_SUMS = "read tuples", "read sums"
"""The names of what an invocation costs that reads a store of tuples, or one of partial sums."""
_READ_SEGMENTS, _READ_HISTORY = "read segments", "read history"


@dataclass(frozen=True)
class AnswerCosts:
    """The rates, and the CPU seconds per second of event time of each way that is possible."""

    invocations: float
    """Per second of event time."""
    arrivals: float
    """Tuples per second of event time, of all streams of the query."""
    ways: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """
        >>> str(AnswerCosts(0.5, 2000, {"eager": 0.0123, "none": 0.4}))
        "0.5 invocations/s, 2,000 rows/s; 'eager' 0.0123, 'none' 0.4 CPU seconds per second"
        """
        ways = ", ".join(f"{mode!r} {cost:.3g}" for mode, cost in self.ways.items())
        return f"{self.rates}; {ways} CPU seconds per second"

    @property
    def rates(self) -> str:
        """The rates in words."""
        return f"{self.invocations:.3g} invocations/s, {self.arrivals:,.0f} rows/s"


@dataclass(frozen=True)
class ReadRows:
    """The rows that one invocation reads, by way."""

    answer: float
    store: float
    history: float
    of_store: str = READ_TUPLES
    """What is read of the store."""


def answer_costs(
    statistics: Statistics,
    invocations: float,
    arrivals: float,
    rows: ReadRows,
    *,
    eager: PlanCost | None = None,
    store: PlanCost | None = None,
    sharing: int = 1,
    can_ask: bool = True,
) -> AnswerCosts:
    """The costs of the ways that are possible.

    | way   | as tuples come                                         | at an invocation                     |
    | ---   | ---                                                    | ---                                  |
    | eager | the operators of the query                             | the rows of the answer               |
    | lazy  | the store, divided by the queries that share it        | the rows of the store in its windows |
    | none  | nothing                                                | the rows of the history in its windows |

    The reading of streams is left out: it is the same for all. An answer is computed once per epoch at most, and
    given to all who ask until the next one.
    """
    computed = min(invocations, 1 / statistics.span)
    ways = {}
    if eager is not None:
        ways[EAGER] = eager.own + computed * _read(statistics, _READ_SEGMENTS, rows.answer)
    if store is not None:
        ways[LAZY] = store.own / sharing + computed * _read(statistics, rows.of_store, rows.store)
    if can_ask:
        ways[NONE] = computed * _read(statistics, _READ_HISTORY, rows.history)
    return AnswerCosts(invocations, arrivals, ways)


def _read(statistics: Statistics, name: str, rows: float) -> float:
    """CPU seconds of an invocation that reads that many rows."""
    return (statistics.cost(name, FIXED) + rows * statistics.cost(name, "row")) / 1e6
