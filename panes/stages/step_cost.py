"""What a step of a plan is expected to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepCost:
    """What a step does in a second of event time."""

    rows_in: float
    rows_out: float
    state: float
    """Rows that it keeps."""
    cpu: float
    """CPU seconds."""
    rows_assumed: bool = False
    """Whether the rows follow from nothing that was measured."""
    cpu_assumed: bool = False
    visits: tuple[float, ...] = ()
    """Of a pipelined join, the combinations of rows that new rows of each input make."""
