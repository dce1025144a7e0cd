"""What an operator promises, and what it may rely on.

An operator is given the deltas of its inputs over `(since, clock]`, all complete to the same clock, and
returns the delta of its output over the same span, as if every tuple had been processed alone, in the order
of time. Spans follow each other without gaps.

Promises, each a property test over all operators:

* the output is never harder than the declared pattern: no `_weight` below 1 unless the pattern is STRICT;
* cutting a span in two changes nothing in the concatenated output, after consolidation;
* an operator rebuilt over the chunks of its buffers goes on as if nothing had happened.

An operator keeps everything it must remember in its `buffers`; it reads no clock, no setting, no file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from panes.delta.delta import Delta
from panes.state.buffers.base import State


@dataclass
class Counters:
    """What an operator did, for EXPLAIN ANALYZE, the tests and the benchmarks."""

    positive: int = 0
    negative: int = 0
    touched: int = 0
    """State rows that were read, moved or removed."""
    dropped: int = 0
    """Rows that came too late to be seen at any instant."""

    def count(self, delta: Delta) -> None:
        """Counts the rows of an input."""
        negative = int(np.count_nonzero(delta.weight < 0)) if delta.is_weighted else 0
        self.negative += negative
        self.positive += delta.rows - negative


@dataclass
class Operator(ABC):
    """Base of all operators. Subclasses say their Output, State and Cost in their docstring."""

    counters: Counters = field(default_factory=Counters, init=False)

    @property
    def buffers(self) -> Mapping[str, State]:
        """The state by name; the names are stable, they become the names of segments."""
        return {}

    @abstractmethod
    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        """The output of the span `(since, clock]`."""
