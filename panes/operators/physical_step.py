"""A step of a physical plan, as data: which operator runs, made from what, and the state that it keeps.

Tasks make operators from steps, EXPLAIN prints steps, and the catalog stores them. There is no other description
of what runs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property

from panes.operators.anti_join import AntiJoin
from panes.operators.base import Operator
from panes.operators.constant import Constant
from panes.operators.distinct import Distinct
from panes.operators.distinct_star import DistinctStar
from panes.operators.drop_box import DropBox
from panes.operators.dstream import Dstream
from panes.operators.explicit_expiry import ExplicitExpiry
from panes.operators.generated_results import GeneratedResults
from panes.operators.group_by import GroupBy
from panes.operators.heaviest_of_panes import HeaviestOfPanes
from panes.operators.heaviest_of_stream import HeaviestOfStream
from panes.operators.input import Entry
from panes.operators.istream import Istream
from panes.operators.join import Join
from panes.operators.lookup import Lookup
from panes.operators.match import Match
from panes.operators.match_and_sum import MatchAndSum
from panes.operators.multi_join import MultiJoin
from panes.operators.over import Over
from panes.operators.pre_aggregate import PreAggregate
from panes.operators.project import Project
from panes.operators.release_on_time import ReleaseOnTime
from panes.operators.rows_window import RowsWindow
from panes.operators.rstream import Rstream
from panes.operators.select import Select
from panes.operators.semi_join import SemiJoin
from panes.operators.session_window import SessionWindow
from panes.operators.set_operation_by_count import SetOperationByCount
from panes.operators.set_operation_by_lifetime import SetOperationByLifetime
from panes.operators.sign import Sign
from panes.operators.temporal_filter import TemporalFilter
from panes.operators.to_slide import ToSlide
from panes.operators.tools.edge import Edge
from panes.operators.top_n import TopN
from panes.operators.union import Union
from panes.operators.unnest import Unnest
from panes.operators.window import TimeWindow
from panes.plan.nodes import Node
from panes.plan.patterns import Pattern, pattern_of
from panes.plan.schema import Schema

_CLASSES: tuple[type[Operator], ...] = (
    AntiJoin,
    Constant,
    Distinct,
    DistinctStar,
    DropBox,
    Dstream,
    Entry,
    ExplicitExpiry,
    GeneratedResults,
    GroupBy,
    HeaviestOfPanes,
    HeaviestOfStream,
    Istream,
    Join,
    Lookup,
    Match,
    MatchAndSum,
    MultiJoin,
    Over,
    PreAggregate,
    Project,
    ReleaseOnTime,
    RowsWindow,
    Rstream,
    Select,
    Sign,
    SemiJoin,
    SessionWindow,
    TemporalFilter,
    SetOperationByCount,
    SetOperationByLifetime,
    TimeWindow,
    ToSlide,
    TopN,
    Union,
    Unnest,
)
OPERATORS = {operator.__name__: operator for operator in _CLASSES}
"""The operators by the names that steps have for them."""


@dataclass(frozen=True)
class BufferPlan:
    """A buffer that a step keeps: how it is laid out, and why."""

    name: str
    kind: str
    keys: tuple[str, ...] | None
    """The columns that it is probed by; None for a buffer that is not."""
    reason: str


@dataclass(frozen=True)
class PhysicalStep:
    """One operator of a plan, the steps whose output it reads, and the edge that leaves it."""

    name: str
    """Unique in its fragment, and the beginning of the names of its buffers in segments."""
    operator: str
    """A name in `OPERATORS`."""
    arguments: tuple[tuple[str, object], ...]
    """What the operator is made from, by name: values, expressions, nodes and edges."""
    inputs: tuple[int, ...]
    """The places of the steps that it reads, in the same fragment."""
    node: Node
    """The node of the logical plan that it works for."""
    pattern: Pattern
    """How rows leave the relation of that node; what travels on its edge may be harder, by the strategy."""
    output: Edge
    buffers: tuple[BufferPlan, ...] = ()

    @classmethod
    def of(
        cls, name: str, operator: Operator, inputs: tuple[int, ...], node: Node, output: Edge
    ) -> PhysicalStep:
        """The step that an operator is made from; the operator itself is not kept."""
        arguments = tuple((f.name, getattr(operator, f.name)) for f in fields(operator) if f.init)
        buffers = tuple(
            BufferPlan(name, state.kind, None if state.keys is None else tuple(state.keys), state.reason)
            for name, state in operator.buffers.items()
        )
        pattern = pattern_of(node).pattern
        return cls(name, type(operator).__name__, arguments, inputs, node, pattern, output, buffers)

    def make(self) -> Operator:
        """The operator, with empty state."""
        return OPERATORS[self.operator](**dict(self.arguments))


@dataclass(frozen=True)
class Fragment:
    """Steps in the order in which deltas pass them; the last one gives the output.

    `output` has the columns of the answer, `pattern` how its rows leave, and `edge` what leaves the last step, for
    another fragment that goes on from there.
    """

    steps: tuple[PhysicalStep, ...]
    output: Schema
    pattern: Pattern
    edge: Edge

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """For each step a short name of what it computes: two steps of one name compute the same."""
        found: list[str] = []
        for step in self.steps:
            below = [found[number] for number in step.inputs]
            content = repr((step.operator, step.arguments, below))
            found.append(hashlib.sha256(content.encode()).hexdigest()[:16])
        return tuple(found)
