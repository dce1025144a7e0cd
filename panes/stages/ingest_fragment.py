"""The steps that run before a shuffle: what needs no state, over the rows of a stream, the changes of a table or
the rows of an earlier stage.

They are the operators that run after it: drop boxes, selections, projections, unnest, the query index, and where a
group-by over a sliding window follows, the window and the partial sums per pane.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace

from panes.aggregates.partials import partial_schema, partials_of, values_of
from panes.operators.base import Operator
from panes.operators.drop_box import DropBox
from panes.operators.input import Entry
from panes.operators.lower import lifetimes_of
from panes.operators.match import Match
from panes.operators.match_and_sum import MatchAndSum
from panes.operators.physical_step import Fragment, PhysicalStep
from panes.operators.pre_aggregate import PreAggregate
from panes.operators.project import Project
from panes.operators.select import Select
from panes.operators.sign import Sign
from panes.operators.tools.edge import Edge
from panes.operators.unnest import Unnest
from panes.operators.window import TimeWindow
from panes.plan import nodes
from panes.plan.expressions import columns_of
from panes.plan.patterns import pattern_of
from panes.stages.cut_stages import StageInput

ROWS = "rows"
"""The name under which a fragment before a shuffle takes in its rows."""


def ingest_fragment(source: StageInput) -> tuple[Fragment, tuple[str, ...]]:
    """The steps over the rows of a stream or table that give an input of a stage, and the columns that they
    read."""
    steps = _Steps()
    matched = matched_in(source.node)
    if source.group_by is None:
        steps.chain(source.node, frozenset(source.node.schema.names))
        return steps.fragment(), steps.read
    assert source.window is not None
    if matched is not None:
        steps.chain(matched.child, frozenset(matched.child.schema.names))
        fused = MatchAndSum(matched, source.group_by, source.window)
        steps.add("match_and_sum", fused, source.group_by, _partial_edge(source.group_by))
        return steps.fragment(), steps.read
    steps.chain(source.node, _read_by(source.group_by))
    window = nodes.Window(source.node, source.window)
    edge = replace(steps.edge, pattern=pattern_of(window).pattern)
    steps.add("window", TimeWindow(source.window), window, edge)
    steps.sums(source.group_by)
    return steps.fragment(), steps.read


def hand_on_fragment(source: StageInput, edge: Edge) -> Fragment:
    """The steps over the delta of an earlier stage: partial sums when a group-by follows, else none."""
    steps = _Steps()
    entry = Entry(ROWS, edge.schema, weighted=edge.is_weighted)
    steps.add("stage", entry, source.node, edge)
    if source.group_by is not None:
        steps.sums(source.group_by)
    return steps.fragment()


def matched_in(node: nodes.Node) -> nodes.Matched | None:
    """Where a chain matches its rows with the queries that share the plan, if it does."""
    while isinstance(node, (nodes.Select, nodes.Project)):
        node = node.child
    return node if isinstance(node, nodes.Matched) else None


@dataclass
class _Steps:
    """Steps one after the other, each over the one before."""

    steps: list[PhysicalStep] = field(default_factory=list)
    read: tuple[str, ...] = ()
    """The columns of the stream or table that the chain reads, as it names them."""

    @property
    def edge(self) -> Edge:
        return self.steps[-1].output

    def add(self, name: str, operator: Operator, node: nodes.Node, edge: Edge) -> None:
        inputs = (len(self.steps) - 1,) if self.steps else ()
        name = f"{len(self.steps):02}_{name}"
        self.steps.append(PhysicalStep.of(name, operator, inputs, node, edge))

    def sums(self, group_by: nodes.GroupBy) -> None:
        sums = PreAggregate(group_by, combine=True)
        self.add("pre_aggregate", sums, group_by, _partial_edge(group_by))

    def chain(self, node: nodes.Node, wanted: Set[str]) -> None:
        """The steps of selections, projections and unnest over a scan, as far as the wanted columns need them."""
        match node:
            case nodes.StreamScan() | nodes.TableScan():
                edge = Edge(node.schema, pattern_of(node).pattern)
                entry = Entry(
                    ROWS, node.schema, prefix=f"{node.alias}.", weighted=edge.is_weighted, may_lack=True
                )
                self.add("input", entry, node, edge)
                arriving = {node.attribute(name) for name in node.schema.names if name in wanted}
                self.read = tuple(name for name in entry.arriving.names if name in arriving)
            case nodes.Drop():
                # Which tuples pass depends on all of their columns.
                self.chain(node.child, frozenset(node.child.schema.names))
                self.add("drop", DropBox(node), node, replace(self.edge, schema=node.schema))
            case nodes.Select():
                self.chain(node.child, wanted | columns_of(node.predicate))
                self.add("select", Select(node.predicate), node, self.edge)
            case nodes.Project():
                columns = tuple(column for column in node.columns if column[0] in wanted)
                used = [columns_of(expression) for _, expression in columns]
                self.chain(node.child, frozenset[str]().union(*used))
                self.add("project", Project(columns), node, replace(self.edge, schema=node.schema))
            case nodes.Signed():
                used = [columns_of(predicate) for predicate in node.predicates]
                self.chain(node.child, frozenset(wanted - {nodes.SIGNATURE}).union(*used))
                self.add("sign", Sign(node), node, replace(self.edge, schema=node.schema))
            case nodes.Unnest():
                self.chain(node.child, (wanted - {node.column}) | columns_of(node.expression))
                edge = replace(self.edge, schema=node.schema)
                self.add("unnest", Unnest(node.expression, node.column), node, edge)
            case nodes.Matched():
                # Which columns the queries ask about changes as they come and go.
                self.chain(node.child, frozenset(node.child.schema.names))
                self.add("match", Match(node), node, replace(self.edge, schema=node.schema))
            case _:
                raise TypeError(f"{type(node).__name__} does not run before a shuffle")

    def fragment(self) -> Fragment:
        edge = self.edge
        return Fragment(tuple(self.steps), edge.schema, edge.pattern, edge)


def _partial_edge(group_by: nodes.GroupBy) -> Edge:
    return Edge(partial_schema(group_by), lifetimes_of(group_by))


def _read_by(group_by: nodes.GroupBy) -> Set[str]:
    args = [arg for partial in partials_of(group_by) for arg in partial.args]
    args += [arg for _, value in values_of(group_by) for arg in value.args]
    return frozenset(group_by.keys).union(*(columns_of(arg) for arg in args))
