"""How many rows come to each node of a logical plan, and how many it holds, as far as statistics tell.

The equations are those of rate-based optimization (static-optimization, 3): a selection passes a share f of what
comes, a time window of T seconds holds T times what comes in a second, and a join of windows with W_L and W_R rows
gives f · (W_R · λ_L + W_L · λ_R) results per second and holds f · W_L · W_R of them. So what an n-way join gives
does not depend on the order in which it is computed: it is estimated from the relations and conditions of the
whole tree (`optimizer/joined_relations.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, prod

from panes.aggregates.partials import values_of
from panes.optimizer.assumed import assumed_selectivity
from panes.optimizer.fact_names import (
    distinct_name,
    early_name,
    exists_name,
    join_name,
    matched_name,
    selection_name,
    unnest_name,
)
from panes.optimizer.join_selectivity import JoinSelectivity
from panes.optimizer.joined_relations import joined_relations
from panes.optimizer.origins import origins_of
from panes.optimizer.statistics import Statistics
from panes.optimizer.values_in import values_in
from panes.plan import nodes
from panes.plan.expand_outer_join import expand_outer_join
from panes.plan.expressions import Cells, Column, substitute
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.lookups import Matching
from panes.plan.patterns import MONOTONIC, pattern_of
from panes.plan.slides import slides_of
from panes.plan.windows import NowWindow, RangeWindow, RowsWindow, SessionWindow, WindowSpec

HORIZON = 3600.0
"""The seconds for which rows are counted that never leave: how large what only grows will be after an hour."""
_VALUES = 1000.0
"""Different values of columns that were not measured."""
_ITEMS = 3.0
"""Items of a list."""
_MATCHES = 10.0
"""Queries of a group that a row is for."""
_SESSION = 10.0
"""How many times longer a session is than the gap that ends it."""


@dataclass(frozen=True)
class Estimate:
    """What is expected of the relation of a node, over a second of event time."""

    rate: float
    """Rows that enter it per second."""
    size: float
    """Rows that it holds at an instant."""
    early: float = 0.0
    """Rows per second that are taken back before their time."""

    @property
    def seconds(self) -> float:
        """How long a row stays."""
        return self.size / self.rate if self.rate else 0.0

    def share(self, of: float) -> Estimate:
        """A part of the rows, whichever they are."""
        return Estimate(self.rate * of, self.size * of, self.early * of)


@dataclass
class Estimates:
    """Estimates of nodes, each computed once."""

    statistics: Statistics
    shares: Mapping[str, float] = field(default_factory=dict)
    """What drop boxes keep, by stream; everything where nothing is said."""
    _known: dict[nodes.Node, Estimate] = field(default_factory=dict)

    def of(self, node: nodes.Node) -> Estimate:
        """What is expected of a node."""
        if node not in self._known:
            self._known[node] = self._of(node)
        return self._known[node]

    @property
    def span(self) -> float:
        """The seconds of event time of a span."""
        return self.statistics.span

    def distinct(self, node: nodes.Node, columns: Sequence[str]) -> float:
        """How many different values columns of a node have at an instant."""
        if not columns:
            return 1.0
        joined = joined_relations(node)
        if len(columns) == 1 and len(joined.relations) > 1:
            # A join keeps the values that its relations have in common, whatever its size.
            same = joined.class_of(joined.columns[columns[0]])
            return min(self.distinct(joined.relations[a.relation], [a.column]) for a in same)
        return max(1.0, self.values_among(node, columns, self.of(node).size))

    def values_among(self, node: nodes.Node, columns: Sequence[str], rows: float) -> float:
        """How many different values columns have in some rows of a node."""
        return values_in(self.domain(node, columns), rows) if columns else min(1.0, rows)

    def unseen(self, node: nodes.Node, columns: Sequence[str]) -> float:
        """The share of new rows whose values no row of the node has."""
        domain = self.domain(node, columns)
        return max(0.0, 1 - self.values_among(node, columns, self.of(node).size) / domain) if columns else 0.0

    def shown(self, node: nodes.Node, columns: Sequence[str], rate: float) -> float:
        """How many rows per second δ* gives of those that come: one for each value, and when it leaves, the
        youngest of its duplicates."""
        size = self.of(node).size
        return rate * min(1.0, self.distinct(node, columns) / size) if size else 0.0

    def domain(self, node: nodes.Node, columns: Sequence[str]) -> float:
        """How many different values columns of a node have over time."""
        if not columns:
            return 1.0
        known = self.statistics.distinct(distinct_name(node, columns))
        if known is not None:
            return max(1.0, known)
        if len(columns) > 1:
            # The most that columns have together which are known one by one.
            return prod(self.domain(node, [column]) for column in columns)
        for child in node.children:
            # What limits the rows leaves most values where they are.
            read = dict(node.columns)[columns[0]] if isinstance(node, nodes.Project) else columns[0]
            name = read.name if isinstance(read, Column) else read
            if isinstance(name, str) and name in child.schema:
                return self.domain(child, [name])
        return _VALUES

    def kept(self, node: nodes.Drop) -> float:
        """The share of the rows that a drop box lets pass."""
        return self.shares.get(node.stream, 1.0)

    def passing(self, node: nodes.Select) -> float:
        """The share of the rows that pass a selection."""
        condition = substitute(node.predicate, origins_of(node.child))
        return self.statistics.selectivity(selection_name(node.predicate, node.child), condition)

    def items(self, node: nodes.Unnest) -> float:
        """How many items a row has."""
        found = self.statistics.measured("selectivity", unnest_name(node))
        if found is None and isinstance(node.expression, Cells):
            cells = node.expression
            return 1.0 + (cells.high - cells.low) / cells.width  # where values are spread evenly
        return _ITEMS if found is None else found

    def matches(self, node: nodes.Matched) -> float:
        """For how many queries of a group a row is."""
        found = self.statistics.measured("selectivity", matched_name(node))
        return _MATCHES if found is None else found

    def match(self, join: Matching) -> float:
        """f: which share of all pairs of rows of its two sides a join gives."""
        if isinstance(join, nodes.Join) and join.time is None:
            sides = [self._selectivity.of(joined_relations(side)) for side in (join.left, join.right)]
            pairs = prod(sides)
            return self._selectivity.of(joined_relations(join)) / pairs if pairs else 0.0
        known = self.statistics.join(join_name(join))
        if known is not None:
            return known
        share = 1.0
        for one, other in zip(join.left_keys, join.right_keys, strict=True):
            share /= max(self.distinct(join.left, [one]), self.distinct(join.right, [other]))
        if join.residual is not None:
            share *= assumed_selectivity(join.residual)
        return share

    def given_for_each(self, node: nodes.SemiJoin | nodes.AntiJoin) -> float | None:
        """How many rows are given for each that comes to the left, again and again as matches come and go; None
        when that was not measured."""
        return self.statistics.measured("selectivity", exists_name(node))

    def met(self, node: nodes.SemiJoin | nodes.AntiJoin) -> float:
        """The share of the rows of the left that have a match at an instant."""
        given = self.given_for_each(node)
        if given is None:
            return 1.0 - exp(-self.match(node) * self.of(node.right).size)
        if isinstance(node, nodes.SemiJoin):
            return min(1.0, given)
        # What is given again, or for the first time while a match has gone, was taken back before.
        early = self.statistics.early(early_name(node)) or 0.0
        return max(0.0, 1 - given * (1 - early))

    def leaving_early(self, node: nodes.AntiJoin, coming: float) -> float:
        """How many rows per second a match takes back, of which as many are given again when it leaves; `coming`
        is how many rows per second come to the right."""
        if node.time is not None:
            return 0.0
        known, given = self.statistics.early(early_name(node)), self.given_for_each(node)
        if known is not None and given is not None:
            return self.of(node.left).rate * given * known
        return (1 - self.met(node)) * coming * self.of(node.left).size * self.match(node)

    def changes(self, node: nodes.GroupBy, *, every_instant: bool = False) -> float:
        """How many groups per second have another value than before: at slides, at each instant, or by span."""
        below = self.of(node.child)
        leaving = 0.0 if pattern_of(node.child).pattern is MONOTONIC else below.rate
        slide = slide_of(node.child)
        if slide is None and every_instant:
            return below.rate + leaving
        seconds = slide or self.span
        return self.values_among(node.child, node.keys, (below.rate + leaving) * seconds) / seconds

    def summed_by(self, node: nodes.GroupBy) -> list[str]:
        """The columns whose values tell apart the partial rows of one lifetime."""
        kept = (value.args[0] for _, value in values_of(node))
        return list(dict.fromkeys([*node.keys, *(arg.name for arg in kept if isinstance(arg, Column))]))

    @cached_property
    def _selectivity(self) -> JoinSelectivity:
        return JoinSelectivity(self.statistics, self.distinct)

    def _of(self, node: nodes.Node) -> Estimate:
        match node:
            case nodes.StreamScan():
                rate = self.statistics.rate(node.stream)
                return Estimate(rate, rate * HORIZON)
            case nodes.TableScan():
                return Estimate(0.0, self.statistics.table_rows(node.table))
            case nodes.Values():
                return Estimate(0.0, float(len(node.rows)))
            case nodes.Window() | nodes.Wstream():
                return self._window(node, node.spec)
            case nodes.Select():
                return self.of(node.child).share(self.passing(node))
            case nodes.Project() | nodes.OrderBy() | nodes.TemporalFilter() | nodes.Timed() | nodes.Signed():
                return self.of(node.child)
            case nodes.Synopsis() | nodes.JoinSynopsis():
                return self.of(node.child)
            case nodes.Drop():
                return self.of(node.child).share(self.kept(node))
            case nodes.Matched():
                return self.of(node.child).share(self.matches(node))
            case nodes.Unnest():
                return self.of(node.child).share(self.items(node))
            case nodes.Distinct():
                return self._values(node.child, node.schema.names)
            case nodes.GroupBy():
                size = min(self.distinct(node.child, node.keys), max(self.of(node.child).size, 1.0))
                changes = self.changes(node)
                return Estimate(changes, size, early=changes)
            case nodes.TopN():
                return self._top_n(node)
            case nodes.Over():
                return self._over(node)
            case nodes.Join() if node.time is None:
                return self._join(node)
            case nodes.MultiJoin():
                return self._join(node)
            case nodes.Join():
                return self.of(node.left).share(self.match(node) * self.of(node.right).size)
            case nodes.SemiJoin():
                return self.of(node.left).share(self.met(node))
            case nodes.AntiJoin():
                return self._alone(node)
            case nodes.OuterJoin():
                return self._outer(node)
            case nodes.Union():
                left, right = self.of(node.left), self.of(node.right)
                return Estimate(left.rate + right.rate, left.size + right.size, left.early + right.early)
            case nodes.Intersect():
                left, right = self.of(node.left), self.of(node.right)
                return left.share(min(1.0, right.size / left.size if left.size else 0.0))
            case nodes.Except():
                return self._except(node)
            case nodes.Istream() | nodes.Dstream():
                rate = self.of(node.child).rate
                return Estimate(rate, rate * HORIZON)
            case nodes.Rstream():
                rate = self.of(node.child).size / (slide_of(node.child) or self.span)
                return Estimate(rate, rate * HORIZON)
        raise TypeError(f"there is no estimate for {type(node).__name__}")

    def _window(self, node: nodes.Window | nodes.Wstream, spec: WindowSpec) -> Estimate:
        rate = self.of(node.child).rate
        match spec:
            case RowsWindow():
                partitions = self.distinct(node.child, spec.partition_by)
                return Estimate(rate, min(spec.rows * partitions, rate * HORIZON), early=rate)
            case SessionWindow():
                size = rate * _SESSION * spec.gap_us / 1e6
                return Estimate(rate, size, early=rate)
            case RangeWindow():
                return Estimate(rate, rate * spec.range_us / 1e6)
            case NowWindow():
                return Estimate(rate, min(rate, 1.0))
            case LifetimeWindow():
                return self._window(node, spec.within)
        return Estimate(rate, rate * HORIZON)

    def _values(self, child: nodes.Node, columns: Sequence[str]) -> Estimate:
        """One row for each value: when the row that is shown leaves, a younger one of its value follows."""
        below = self.of(child)
        size = min(self.distinct(child, columns), below.size)
        share = size / below.size if below.size else 0.0
        return Estimate(below.rate * share, size, below.early * share)

    def _top_n(self, node: nodes.TopN) -> Estimate:
        below = self.of(node.child)
        size = min(node.limit * self.distinct(node.child, node.partition_by), below.size)
        share = size / below.size if below.size else 0.0
        # However many rows come and go, at the end of a span or slide the top has changed at most wholly.
        rate = min(below.rate * share, size / (slide_of(node.child) or self.span))
        return Estimate(rate, size, early=rate)

    def _over(self, node: nodes.Over) -> Estimate:
        """A partition that changes is given anew as a whole."""
        below = self.of(node.child)
        partitions = self.distinct(node.child, node.partition_by)
        seconds = slide_of(node.child) or self.span
        changing = self.values_among(node.child, node.partition_by, 2 * below.rate * seconds)
        rate = max(below.rate, changing * below.size / partitions / seconds)
        return Estimate(rate, below.size, early=max(0.0, rate - below.rate))

    def _join(self, node: nodes.Join | nodes.MultiJoin) -> Estimate:
        joined = joined_relations(node)
        f = self._selectivity.of(joined)
        sides = [self.of(relation) for relation in joined.relations]
        sizes = [side.size for side in sides]
        others = [prod(sizes[:place] + sizes[place + 1 :]) for place in range(len(sides))]
        return Estimate(
            f * sum(side.rate * other for side, other in zip(sides, others, strict=True)),
            f * prod(sizes),
            f * sum(side.early * other for side, other in zip(sides, others, strict=True)),
        )

    def _alone(self, node: nodes.AntiJoin) -> Estimate:
        rest = self.of(node.left).share(1 - self.met(node))
        early = self.leaving_early(node, self.of(node.right).rate)
        return Estimate(rest.rate + early, rest.size, rest.early + early)

    def _except(self, node: nodes.Except) -> Estimate:
        left, right = self.of(node.left), self.of(node.right)
        values = max(1.0, self.distinct(node.left, node.left.schema.names))
        rest = left.share(max(0.1, 1 - min(1.0, right.size / values)))
        known = self.statistics.early(early_name(node))
        if known is None:
            # As of a negation: rows of the right meet those that were given.
            known = min(0.5, right.rate * rest.size / values / max(rest.rate, 1e-9))
        return Estimate(rest.rate, rest.size, max(rest.early, known * rest.rate))

    def _outer(self, node: nodes.OuterJoin) -> Estimate:
        if node.time is None:
            return self.of(expand_outer_join(node))
        pairs = self.match(node) * self.of(node.right).size
        return self.of(node.left).share(pairs + exp(-pairs))


def slide_of(node: nodes.Node) -> float | None:
    """After how many seconds a relation changes that changes at slides only; None when it also does between."""
    slides = slides_of(node)
    return min(slides) / 1e6 if slides else None
