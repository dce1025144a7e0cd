"""What an epoch has to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from panes.history.retention import Retained
from panes.language.statements import CreateTable
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import Boxes, MissingRows


@dataclass(frozen=True)
class Workload:
    """The queries and settings of one epoch. It is made for every epoch, so queries come and go during a run."""

    queries: Sequence[RunningQuery]
    retain_epochs: int
    idle_after_us: int
    """After so long without rows a stream no longer holds back the clock."""
    exchange: str = "auto"
    """How tables reach other tasks: the setting of that name."""
    retained: Mapping[int, Retained] = field(default_factory=dict)
    """What is kept of each stream, by number."""
    tables: Sequence[CreateTable] = ()
    missing: Mapping[int, Mapping[int, MissingRows]] = field(default_factory=dict)
    """What queries have not seen, by query and stream, where their windows may reach back to it."""
    boxes: Boxes = field(default_factory=dict)
    """What the drop boxes of queries keep in the epoch."""
