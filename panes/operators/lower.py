"""From a logical plan to the steps of a physical one: the one place where it is decided what runs a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict, Unpack

from panes.aggregates.partials import cut_schema, cut_values_of, partial_schema
from panes.config import SETTINGS
from panes.operators.anti_join import AntiJoin
from panes.operators.base import Operator
from panes.operators.constant import Constant
from panes.operators.dataflow import Dataflow
from panes.operators.distinct import distinct
from panes.operators.drop_box import DropBox
from panes.operators.dstream import Dstream
from panes.operators.except_ import except_
from panes.operators.explicit_expiry import ExplicitExpiry
from panes.operators.generated_results import GeneratedResults
from panes.operators.group_by import GroupBy
from panes.operators.heaviest_of_panes import HeaviestOfPanes
from panes.operators.heaviest_of_stream import HeaviestOfStream
from panes.operators.input import Entry, Input
from panes.operators.intersect import intersect
from panes.operators.istream import Istream
from panes.operators.join import Join
from panes.operators.lookup import Kind, Lookup
from panes.operators.multi_join import MultiJoin
from panes.operators.over import Over
from panes.operators.physical_step import Fragment, PhysicalStep
from panes.operators.pre_aggregate import PreAggregate
from panes.operators.project import Project
from panes.operators.release_on_time import ReleaseOnTime
from panes.operators.rows_window import RowsWindow
from panes.operators.rstream import Rstream
from panes.operators.select import Select
from panes.operators.semi_join import SemiJoin
from panes.operators.session_window import SessionWindow
from panes.operators.temporal_filter import TemporalFilter
from panes.operators.to_slide import ToSlide
from panes.operators.tools.edge import Edge
from panes.operators.tools.strategy import check_strategy
from panes.operators.top_n import TopN
from panes.operators.union import Union
from panes.operators.unnest import Unnest
from panes.operators.window import TimeWindow
from panes.plan import nodes
from panes.plan.expand_outer_join import expand_outer_join
from panes.plan.lookups import Matching
from panes.plan.output_streams import counts_each_result, generated_stream, gives_generated, is_over_slides
from panes.plan.patterns import MONOTONIC, STRICT, WEAK, Pattern, answer_pattern, has_internal, pattern_of
from panes.plan.slides import slides_of
from panes.plan.window_of_panes import window_of_panes
from panes.plan.windows import BeginEndWindow
from panes.plan.windows import RowsWindow as RowsSpec
from panes.plan.windows import SessionWindow as SessionSpec

_LOOKUPS: Mapping[type[nodes.Node], Kind] = {
    nodes.Join: "inner",
    nodes.OuterJoin: "left",
    nodes.SemiJoin: "semi",
    nodes.AntiJoin: "anti",
}


class Options(TypedDict, total=False):
    """What `fragment_of` takes besides the plan."""

    strategy: str
    inputs: Mapping[nodes.Node, Input] | None
    every_instant: bool
    calendar_days: int
    lazy_expiration: str
    leaves_early: bool


def lower(plan: nodes.Node, **options: Unpack[Options]) -> Dataflow:
    """The operators of a plan, with empty state."""
    return Dataflow(fragment_of(plan, **options))


def fragment_of(
    plan: nodes.Node,
    *,
    strategy: str = "upa",
    inputs: Mapping[nodes.Node, Input] | None = None,
    every_instant: bool = False,
    calendar_days: int = 10,
    lazy_expiration: str = str(SETTINGS["lazy_expiration"].default),
    leaves_early: bool = True,
) -> Fragment:
    """The steps that compute a plan.

    `inputs` names the sub-plans that are computed elsewhere; every other StreamScan is an input named by its
    stream, whose columns come without the alias. A GroupBy whose input is partial rows stands in `inputs`
    itself, with kind `partials`. Group-by and top-n give their value at every instant below output streams, in
    plans with INTERNAL windows and in relations over a window with SLIDE, else at clocks; with `every_instant` at
    every instant in any case: for the setting `changes`, and for a part of a plan of which another part can tell.
    `calendar_days` is the greatest number of days of a calendar queue; `lazy_expiration` says when state from
    which rows leave unseen is cleaned of the dead ones.
    `leaves_early` says whether every departure from a negation is a negative tuple, because many rows leave before
    their time; else they keep their lifetimes, and only what leaves early is taken back.
    """
    check_strategy(plan, strategy)
    plan = generated_stream(plan)
    has_until = has_internal(plan)
    every_instant = every_instant or has_until or is_over_slides(plan)
    lowering = _Lowering(
        strategy, inputs or {}, every_instant, calendar_days, lazy_expiration, leaves_early, has_until
    )
    top = lowering.relation(plan)
    pattern = answer_pattern(plan).pattern
    if top.edge.is_weighted and not top.edge.has_until:
        pattern = STRICT
    return Fragment(tuple(lowering.steps), plan.schema, pattern, top.edge)


@dataclass(frozen=True)
class _Made:
    """A step, and the edge that leaves it."""

    step: int
    edge: Edge


@dataclass
class _Lowering:
    strategy: str
    inputs: Mapping[nodes.Node, Input]
    every_instant: bool
    calendar_days: int
    lazy_expiration: str
    leaves_early: bool
    has_until: bool
    steps: list[PhysicalStep] = field(default_factory=list)
    names_panes: bool = False
    """Whether rows of count windows say in which pane they are."""
    _done: dict[tuple[nodes.Node, str, str, bool, bool], _Made] = field(default_factory=dict)
    _at: list[nodes.Node] = field(default_factory=list)
    """The nodes that are being lowered, the innermost last."""

    def relation(self, node: nodes.Node) -> _Made:
        """The step whose output is the delta of the node."""
        return self._once(node, "relation", self._relation)

    def arrivals(self, node: nodes.Node) -> _Made:
        """The step that gives the tuples of a stream, whose time may lie before or after the span."""
        return self._once(node, "arrivals", self._arrivals)

    def _once(self, node: nodes.Node, what: str, make: Callable[[nodes.Node], _Made]) -> _Made:
        key = (node, what, self.strategy, self.every_instant, self.names_panes)
        if key not in self._done:
            self._at.append(node)
            self._done[key] = make(node)
            self._at.pop()
        return self._done[key]

    def _add(self, name: str, operator: Operator, edge: Edge, *inputs: _Made) -> _Made:
        """Adds a step for the node that is being lowered."""
        name, read = f"{len(self.steps):02}_{name}", tuple(made.step for made in inputs)
        self.steps.append(PhysicalStep.of(name, operator, read, self._at[-1], edge))
        return _Made(len(self.steps) - 1, edge)

    def _edge(self, node: nodes.Node, *, has_until: bool = False) -> Edge:
        pattern = pattern_of(node).pattern
        return Edge(
            node.schema,
            pattern,
            self.strategy,
            has_until=has_until,
            calendar_days=self.calendar_days,
            lazy_expiration=self.lazy_expiration,
        )

    def _relation(self, node: nodes.Node) -> _Made:
        given = self.inputs.get(node)
        if isinstance(node, nodes.GroupBy) and (given is None or given.kind == "partials"):
            return self._group_by(node, given)
        if given is not None or is_stream(node):
            return self._hold(self.arrivals(node))
        match node:
            case nodes.Values():
                edge = self._edge(node, has_until=self.has_until)
                return self._add("constant", Constant(node, self.has_until), edge)
            case nodes.Window() | nodes.Wstream():
                return self._window(node)
            case nodes.Select() | nodes.Project() | nodes.Unnest():
                return self._row_by_row(node, self.relation(node.child))
            case nodes.TemporalFilter():
                return self._temporal_filter(node)
            case nodes.Union():
                return self._union(node, self.relation(node.left), self.relation(node.right))
            case nodes.Join() | nodes.OuterJoin() | nodes.SemiJoin() | nodes.AntiJoin() if (
                node.time is not None
            ):
                return self._lookup(node, node.time)
            case nodes.OuterJoin():
                return self.relation(expand_outer_join(node))
            case nodes.Join():
                left, right = self.relation(node.left), self.relation(node.right)
                join = Join(left.edge, right.edge, node.left_keys, node.right_keys, node.residual)
                return self._add("join", join, join.output, left, right)
            case nodes.MultiJoin():
                return self._multi_join(node)
            case nodes.Distinct():
                child = self.relation(node.child)
                once = distinct(child.edge)
                return self._add("distinct", once, once.output, child)
            case nodes.Over():
                return self._over(node)
            case nodes.TopN():
                return self._top_n(node)
            case nodes.SemiJoin() | nodes.AntiJoin():
                return self._exists(node)
            case nodes.Istream():
                return self._istream(node)
            case nodes.Dstream():
                child = self._at_every_instant(node.child)
                return self._add("dstream", Dstream(node.schema), self._edge(node), child)
            case nodes.Rstream():
                return self._rstream(node)
            case nodes.Intersect():
                left, right = self.relation(node.left), self.relation(node.right)
                both = intersect(left.edge, right.edge)
                return self._add("intersect", both, both.output, left, right)
            case nodes.Except():
                left, right = self.relation(node.left), self.relation(node.right)
                rest = except_(left.edge, right.edge, leaves_early=self.leaves_early)
                return self._add("except", rest, rest.output, left, right)
        raise TypeError(f"there is no operator for {type(node).__name__}")

    def _temporal_filter(self, node: nodes.TemporalFilter) -> _Made:
        child = self.relation(node.child)
        pattern = max(child.edge.pattern, pattern_of(node).pattern)
        edge = replace(child.edge, pattern=pattern)
        cut = TemporalFilter(node.value, node.op, node.distance_us, node.slides)
        made = self._hold(self._add("temporal_filter", cut, edge, child), cancels=edge.is_weighted)
        return self._explicit(made) if self.strategy == "nt" else made

    def _multi_join(self, node: nodes.MultiJoin) -> _Made:
        below = [self.relation(child) for child in node.inputs]
        slides = tuple(map(slides_of, node.inputs))
        join = MultiJoin(tuple(made.edge for made in below), node.keys, node.residual, slides)
        return self._add("multi_join", join, join.output, *below)

    def _lookup(self, node: Matching, time: str) -> _Made:
        left, right = self.relation(node.left), self.arrivals(node.right)
        lookup = Lookup(
            left.edge,
            right.edge,
            node.left_keys,
            node.right_keys,
            node.residual,
            time,
            node.keep_us,
            _LOOKUPS[type(node)],
            null_aware=isinstance(node, nodes.AntiJoin) and node.null_aware,
        )
        return self._add("lookup", lookup, lookup.output, left, right)

    def _exists(self, node: nodes.SemiJoin | nodes.AntiJoin) -> _Made:
        left, right = self.relation(node.left), self.relation(node.right)
        keys = (node.left_keys, node.right_keys)
        if isinstance(node, nodes.SemiJoin):
            semi_join = SemiJoin(left.edge, right.edge, *keys, node.residual)
            return self._add("semi_join", semi_join, semi_join.output, left, right)
        anti_join = AntiJoin(left.edge, right.edge, *keys, node.residual, node.null_aware)
        edge = replace(anti_join.output, leaves_early=self.leaves_early)
        negation = self._add("anti_join", anti_join, edge, left, right)
        return self._explicit(negation) if self.leaves_early else negation

    def _istream(self, node: nodes.Istream) -> _Made:
        slides = slides_of(node.child)
        if node.restore and slides:
            return self._restored(node.child, max(slides))
        return self._generated(node.child) if gives_generated(node) else self._entering(node.child)

    def _entering(self, relation: nodes.Node) -> _Made:
        """The stream of what enters a relation."""
        entering = Istream(relation.schema)
        edge = self._edge(nodes.Istream(relation))
        return self._add("istream", entering, edge, self._at_every_instant(relation))

    def _generated(self, relation: nodes.Node) -> _Made:
        """The stream of the results that a relation generates."""
        if not counts_each_result(relation):
            return self._entering(relation)
        edge = self._edge(nodes.Istream(relation))
        return self._add("generated", GeneratedResults(), edge, self._with_lifetimes(relation))

    def _restored(self, child: nodes.Node, slide: int) -> _Made:
        """Every result that would have been given without SLIDE, at the next slide."""
        edge = self._edge(nodes.Istream(child))
        entering = self._add("istream", Istream(child.schema), edge, self._continual(child))
        return self._hold(self._add("to_slide", ToSlide(slide), edge, entering))

    def _continual(self, node: nodes.Node) -> _Made:
        """The relation as it is without SLIDE, with its value at every instant."""
        return self._at_every_instant(without_slides(node))

    def _at_every_instant(self, node: nodes.Node) -> _Made:
        """The relation with its value at every instant, for what can tell."""
        every_instant, self.every_instant = self.every_instant, True
        made = self.relation(node)
        self.every_instant = every_instant
        return made

    def _with_lifetimes(self, node: nodes.Node) -> _Made:
        """The relation at every instant, whose rows expire by their lifetimes and not by negative tuples."""
        strategy, self.strategy = self.strategy, "upa" if self.strategy == "nt" else self.strategy
        made = self._at_every_instant(node)
        self.strategy = strategy
        return made

    def _rstream(self, node: nodes.Rstream) -> _Made:
        slides = slides_of(node.child)
        rstream = Rstream(node.schema, tuple(slides))
        if not node.restore or not slides:
            return self._add("rstream", rstream, self._edge(node), self._at_every_instant(node.child))
        relation = self._continual(node.child)
        entered = self._restored(node.child, max(slides))
        return self._add("rstream", rstream, self._edge(node), relation, entered)

    def _arrivals(self, node: nodes.Node) -> _Made:
        edge = self._edge(node)
        if node in self.inputs:
            edge = self.inputs[node].edge or edge
            entry = Entry(self.inputs[node].name, node.schema, weighted=edge.is_weighted)
            return self._add("input", entry, edge)
        match node:
            case nodes.StreamScan():
                return self._add("input", Entry(node.stream, node.schema, prefix=f"{node.alias}."), edge)
            case nodes.TableScan():
                entry = Entry(node.table, node.schema, prefix=f"{node.alias}.", weighted=True)
                return self._add("input", entry, edge)
            case nodes.Drop() | nodes.Select() | nodes.Project() | nodes.Unnest():
                return self._row_by_row(node, self.arrivals(node.child))
            case nodes.Union():
                return self._union(node, self.arrivals(node.left), self.arrivals(node.right))
        return self.relation(node)

    def _row_by_row(
        self, node: nodes.Drop | nodes.Select | nodes.Project | nodes.Unnest, child: _Made
    ) -> _Made:
        if isinstance(node, nodes.Select):
            return self._add("select", Select(node.predicate), child.edge, child)
        edge = replace(child.edge, schema=node.schema)
        if isinstance(node, nodes.Drop):
            return self._add("drop", DropBox(node), edge, child)
        if isinstance(node, nodes.Unnest):
            return self._add("unnest", Unnest(node.expression, node.column), edge, child)
        return self._add("project", Project(node.columns), edge, child)

    def _union(self, node: nodes.Union, left: _Made, right: _Made) -> _Made:
        edge = self._edge(node, has_until=left.edge.has_until or right.edge.has_until)
        pattern = max(edge.pattern, left.edge.pattern, right.edge.pattern)
        return self._add("union", Union(node.schema), replace(edge, pattern=pattern), left, right)

    def _hold(self, arrivals: _Made, *, cancels: bool = False) -> _Made:
        return self._add("hold", ReleaseOnTime(arrivals.edge, cancels), arrivals.edge, arrivals)

    def _explicit(self, made: _Made) -> _Made:
        """Lets every departure be a negative tuple."""
        expiry = ExplicitExpiry(made.edge)
        return self._add("expiry", expiry, expiry.output, made)

    def _window(self, node: nodes.Window | nodes.Wstream) -> _Made:
        edge = self._edge(node, has_until=self.has_until)
        match node.spec:
            case RowsSpec():
                is_base = isinstance(node, nodes.Window) and is_stream(node.child)
                rows = RowsWindow(
                    node.spec, self.has_until, ties_by_value=not is_base, names_panes=self.names_panes
                )
                counted = self._add("window", rows, edge, self._below(node, self.relation))
                return counted if node.spec.slide_us is None else self._hold(counted, cancels=True)
            case SessionSpec():
                session = SessionWindow(node.spec, has_until=self.has_until)
                return self._add("window", session, edge, self._below(node, self.relation))
            case BeginEndWindow():
                raise TypeError(
                    "a BEGIN … END window is applied when the query is invoked, not by an operator"
                )
        window = TimeWindow(node.spec, has_until=self.has_until)
        made = self._hold(self._add("window", window, edge, self._below(node, self.arrivals)))
        return self._explicit(made) if self.strategy == "nt" else made

    def _below(self, node: nodes.Window | nodes.Wstream, stream: Callable[[nodes.Node], _Made]) -> _Made:
        return self._generated(node.child) if isinstance(node, nodes.Wstream) else stream(node.child)

    def _over(self, node: nodes.Over) -> _Made:
        child = self.relation(node.child)
        every_instant = is_over_slides(node.child) or self.every_instant
        over = Over(child.edge, node, every_instant, has_until=self.has_until)
        return self._add("over", over, self._edge(node, has_until=self.has_until), child)

    def _top_n(self, node: nodes.TopN) -> _Made:
        every_instant = self.every_instant or is_over_slides(node.child)
        child = self.relation(node.child)
        only_grows = child.edge.pattern is MONOTONIC
        top_n = TopN(node, every_instant, has_until=self.has_until, only_grows=only_grows)
        edge = self._edge(node, has_until=self.has_until)
        return self._add("top_n", top_n, edge, child)

    def _group_by(self, node: nodes.GroupBy, given: Input | None) -> _Made:
        slides = is_over_slides(node.child)
        is_cut = bool(cut_values_of(node))
        if given is None:
            child = self._in_panes(node.child) if is_cut else self.relation(node.child)
            partials = self._add("pre_aggregate", PreAggregate(node, combine=slides), child.edge, child)
        else:
            edge = Edge(partial_schema(node), lifetimes_of(node), self.strategy)
            partials = self._hold(self._add("input", Entry(given.name, edge.schema), edge))
        if is_cut:
            partials = self._heaviest(node, partials)
        edge = self._edge(node, has_until=self.has_until)
        leaves_early = self.strategy == "nt" or pattern_of(node.child).pattern is STRICT
        every_instant = slides or self.every_instant
        group_by = GroupBy(node, every_instant, has_until=self.has_until, leaves_early=leaves_early)
        return self._add("group_by", group_by, edge, partials)

    def _in_panes(self, node: nodes.Node) -> _Made:
        """The relation whose rows tell their pane: by their lifetimes, or by its number."""
        before, self.strategy, self.names_panes = (self.strategy, self.names_panes), "upa", True
        made = self.relation(node)
        self.strategy, self.names_panes = before
        return made

    def _heaviest(self, node: nodes.GroupBy, partials: _Made) -> _Made:
        """The partial rows of the most frequent values."""
        window = window_of_panes(node.child)
        edge = replace(partials.edge, schema=cut_schema(node))
        if window is None:
            return self._add("heaviest", HeaviestOfStream(node), edge, partials)
        return self._add("heaviest", HeaviestOfPanes(node, window), edge, partials)


def lifetimes_of(group_by: nodes.GroupBy) -> Pattern:
    """The pattern of the partial rows of a group-by: counts and sums carry what weights would say."""
    return min(pattern_of(group_by.child).pattern, WEAK)


def is_stream(node: nodes.Node) -> bool:
    """Whether a node only passes on tuples of base streams, or rows of tables, as they arrive."""
    if isinstance(node, (nodes.StreamScan, nodes.TableScan)):
        return True
    if isinstance(node, (nodes.Drop, nodes.Select, nodes.Project, nodes.Unnest, nodes.Union)):
        return all(map(is_stream, node.children))
    return False


def without_slides(node: nodes.Node) -> nodes.Node:
    """The same plan over windows that move on at every instant."""
    if isinstance(node, nodes.Window):
        return replace(node, spec=node.spec.without_slide())
    return nodes.with_children(node, *map(without_slides, node.children))
