"""What a step of a plan did: measured where it runs, reported by tasks, added up over shards and epochs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import add, attrgetter

import numpy as np

from panes.delta.delta import Delta
from panes.plan.patterns import Pattern

STORE = "store"
"""The name under which the writing of segments is measured, as if it were a step."""
INGEST = "ingest"
"""The name under which the reading of rows before the first step is measured, as if it were a step."""
SHUFFLE = "shuffle"
"""The name under which the routing of rows to shards is measured, as if it were a step."""


@dataclass(frozen=True)
class Measures:
    """What one step did in one epoch (or, smoothed, does in recent ones).

    A row of negative weight is *expired* on an edge whose rows leave at known times: it is the message that its
    time has come. On a STRICT edge it is *invalid*: it takes back what could not be foreseen.
    """

    rows_in: float = 0
    positive: float = 0
    expired: float = 0
    invalid: float = 0
    dropped: float = 0
    """Rows that came too late to be seen at any instant."""
    touched: float = 0
    """State rows that were read, moved or removed."""
    cpu_us: float = 0
    state_rows: float = 0
    state_bytes: float = 0
    written_bytes: float = 0
    spans: float = 0
    """How many times it was run: over all shards, or over all pieces in which rows were read."""
    left_in: float = 0
    """Of the rows that came, those of the first of several inputs."""
    left_rows: float = 0
    right_rows: float = 0
    """Rows of the two states of a join that are alive. States keep dead rows for a while."""
    visits: float = 0
    """Pairs of a join that were looked at: those with equal keys."""
    probe_us: float = 0
    visit_us: float = 0
    insert_us: float = 0
    expire_us: float = 0
    weigh_us: float = 0
    """What the CPU time of a join was spent on; the last one on results with weights, to add them up."""
    given: float = 0
    early: float = 0
    """Results of a negation, and those of them that it took back before their time. Both are 0 where the two ways
    of leaving cannot be told apart. Of a join over rows with weights, all results that came or went."""
    messages: float = 0
    """Deltas that came, empty ones among them: each tells the clock, one on every edge and in every span. Where
    time goes by messages (`expiration = 'time_message'`), those that came, and nothing else."""

    def __add__(self, other: Measures) -> Measures:
        return Measures(*map(add, _values(self), _values(other)))

    def smoothed(self, new: Measures, weight: float) -> Measures:
        """An exponential average; state is what it is now."""
        mixed = {
            f.name: (1 - weight) * getattr(self, f.name) + weight * getattr(new, f.name)
            for f in fields(self)
            if f.name not in STATE
        }
        return Measures(**mixed, **{name: getattr(new, name) for name in STATE})

    @property
    def of_state(self) -> Measures:
        """What it says of the state alone: all that is true of a step that was not run."""
        return Measures(**{name: getattr(self, name) for name in STATE})

    def as_tuple(self) -> tuple[float, ...]:
        """The values in the order of the fields."""
        # Not `astuple`: it copies each value by value, which small epochs feel.
        return tuple(_values(self))

    @property
    def rows_out(self) -> float:
        return self.positive + self.expired + self.invalid


STATE = ("state_rows", "state_bytes", "left_rows", "right_rows")
"""The fields that say how things are, and not what was done."""
_values = attrgetter(*(f.name for f in fields(Measures)))


def counted(delta: Delta, pattern: Pattern, **others: float) -> Measures:
    """The rows of a delta on an edge that has this pattern in the logical plan, with other fields."""
    negative = int(np.count_nonzero(delta.weight < 0)) if delta.is_weighted else 0
    is_expiry = pattern is not Pattern.STRICT
    return Measures(
        positive=delta.rows - negative,
        expired=negative if is_expiry else 0,
        invalid=0 if is_expiry else negative,
        **others,
    )


def as_list(measures: Measures) -> list[int]:
    """The measures as they are reported, in whole numbers."""
    return [round(value) for value in measures.as_tuple()]
