"""What an operator promises, and what it may rely on.

An operator is given the deltas of its inputs over `(since, clock]`, all complete to the same clock, and
returns the delta of its output over the same span, as if every tuple had been processed alone, in the order
of time. Spans follow each other without gaps.

Promises, each a property test over all operators:

* the output is never harder than the declared pattern: no `_weight` below 1 unless the pattern is STRICT;
* cutting a span in two changes nothing in the concatenated output, after consolidation;
* an operator rebuilt over the chunks of its buffers goes on as if nothing had happened;
* spans without input that end before `next_change` give nothing, and may as well be left out.

An operator keeps everything it must remember in its `buffers`; it reads no clock, no setting, no file. The
arguments that it is made from are data (`operators/physical_step.py`), so that a plan can be stored and shipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from panes.delta.delta import FOREVER, Delta
from panes.state.buffers.base import State


@dataclass
class Operator(ABC):
    """Base of all operators. Subclasses say their Output, State and Cost in their docstring."""

    keeps_time: ClassVar[bool] = False
    """Whether it acts at instants at which no row of its inputs expires: `next_change` says when."""
    dropped: int = field(default=0, init=False)
    """Rows that came too late to be seen at any instant."""
    noted: dict[str, float] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What it did besides what deltas and buffers tell, since it was made: by field of `Measures`."""

    @property
    def buffers(self) -> Mapping[str, State]:
        """The state by name; the names are stable, they become the names of segments."""
        return {}

    @property
    def touched(self) -> int:
        """State rows that were read, moved or removed."""
        return sum(state.touched for state in self.buffers.values())

    def note(self, **amounts: float) -> None:
        """Adds to what it did, by field of `Measures`."""
        for name, amount in amounts.items():
            self.noted[name] = self.noted.get(name, 0) + amount

    def next_change(self, clock: int) -> int:
        """The first instant after the clock at which it may have something to do though nothing comes; FOREVER
        when there is none. Whatever waits for time is in a buffer, by the instant (`_exp`) that it waits for."""
        return min((state.next_expiry(clock) for state in self.buffers.values()), default=FOREVER)

    @abstractmethod
    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        """The output of the span `(since, clock]`."""
