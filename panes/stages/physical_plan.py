"""The physical plan of a query: what runs, in which stage, on which shards, and why. It is data.

It is made once, when a query is registered (`stages/make_plan.py`), and stored with it, because states are laid
out by it: a restart runs the same plan, whatever has become better by then. Tasks run it, EXPLAIN prints it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from panes.operators.physical_step import Fragment
from panes.plan.nodes import Matched, Node, Signed, StreamScan
from panes.plan.patterns import Pattern
from panes.plan.walk import walk
from panes.stages.partitioning import Keys

VERSION = 2
"""Of the layout of stored plans."""


@dataclass(frozen=True)
class PhysicalInput:
    """Rows that a stage reads: what computes them before the shuffle, and how they are routed to its shards."""

    name: str
    fragment: Fragment
    """The steps before the shuffle, over the rows of a stream, the changes of a table or what an earlier stage
    gives."""
    keys: Keys
    """The columns that decide the shard; without any, rows of a stream may go to any shard, and others go by all
    of their columns."""
    stream: str | None = None
    """The stream whose rows it is computed from; None when it is a table or an earlier stage."""
    stage: int | None = None
    table: str | None = None
    """The table whose changes it is computed from."""
    looked_up_by: str | None = None
    """Of a non-retroactive table: the stream whose tuples look it up. Changes take effect by the clock of that
    stream, and else by the clock of the query."""
    is_whole: bool = False
    """Whether every shard gets all rows: a table that each of them has wholly."""
    columns: tuple[str, ...] = ()
    """The columns of the stream or table that its steps read."""
    scan_number: int | None = None
    """Where its steps match rows with the queries of a group: the number of the scan."""

    @property
    def has_drop_box(self) -> bool:
        """Whether it may keep a share of the rows of its stream alone."""
        return any(step.operator == "DropBox" for step in self.fragment.steps)

    @property
    def is_signed(self) -> bool:
        """Whether its rows get the signatures of the selections that they pass."""
        return any(step.operator == "Sign" for step in self.fragment.steps)

    @property
    def is_matched(self) -> bool:
        """Whether its rows are matched with the index of their stream."""
        return self.scan_number is not None or self.is_signed

    @property
    def sees_since(self) -> bool:
        """Whether what its steps give depends on the clock before the epoch: a window is among them."""
        return any(step.operator in ("TimeWindow", "MatchAndSum") for step in self.fragment.steps)


@dataclass(frozen=True)
class PhysicalStage:
    """A part of a plan whose shards work alone, and the inputs that it reads."""

    plan: Node
    """The part of the logical plan that it computes."""
    inputs: tuple[PhysicalInput, ...]
    is_sharded: bool
    fragment: Fragment | None
    """None when it keeps something for queries that are applied when they are read: then `plan` says what
    (`store_kinds.py`)."""


@dataclass(frozen=True)
class Candidate:
    """A way to run a query, with what it was expected to cost when the plan was chosen."""

    name: str
    """What tells it from the others: `as written`, or what was done to it."""
    shape: str
    """Its joins, negations and DISTINCTs in one line."""
    rate: float
    """Rows per second that its steps give, all together."""
    state: float
    """Rows that its steps keep, all together."""
    cost: float
    """CPU seconds per second of event time."""
    verdict: str
    """Why it was chosen, or was not."""


@dataclass(frozen=True)
class Choice:
    """How a plan came about."""

    rules: tuple[str, ...] = ()
    """The rules that changed the plan, in the order in which they did."""
    candidates: tuple[Candidate, ...] = ()
    """The ways that were compared, the chosen one first."""
    capacity: float | None = None
    """CPU seconds per second that were there for it; None when nobody knew."""


@dataclass(frozen=True)
class PhysicalPlan:
    """The stages of a query, each after those it reads; the last gives the answer."""

    plan: Node
    """The logical plan."""
    stages: tuple[PhysicalStage, ...]
    strategy: str
    pattern: Pattern
    reason: str
    """Why the answer has that pattern."""
    choice: Choice = field(default=Choice(), compare=False)
    """Why it is as it is."""
    version: int = VERSION

    @property
    def last(self) -> int:
        return len(self.stages) - 1

    @property
    def has_store(self) -> bool:
        """Whether its queries are applied, each by itself, to what it keeps, when they are read."""
        return self.stages[-1].fragment is None

    @cached_property
    def streams(self) -> frozenset[str]:
        """The names of the streams that it reads."""
        found = (source.stream for stage in self.stages for source in stage.inputs)
        return frozenset(stream for stream in found if stream is not None)

    @cached_property
    def matched_streams(self) -> frozenset[str]:
        """The names of the streams whose index its queries are in: tuples are matched with them as they come."""
        children = (node.child for node in walk(self.plan) if isinstance(node, (Matched, Signed)))
        return frozenset(child.stream for child in children if isinstance(child, StreamScan))

    @cached_property
    def shed_streams(self) -> frozenset[str]:
        """The names of the streams that its drop boxes may keep a share of alone."""
        found = (source for stage in self.stages for source in stage.inputs if source.has_drop_box)
        return frozenset(source.stream for source in found if source.stream is not None)

    @cached_property
    def tables(self) -> frozenset[str]:
        """The names of the tables that it reads."""
        found = (source.table for stage in self.stages for source in stage.inputs)
        return frozenset(table for table in found if table is not None)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """After how many shuffles beyond the first each stage runs."""
        levels: list[int] = []
        for stage in self.stages:
            read = [levels[source.stage] for source in stage.inputs if source.stage is not None]
            levels.append(1 + max(read) if read else 0)
        return tuple(levels)
