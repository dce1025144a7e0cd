"""How many rows come to each node of a logical plan, and how many it holds, as far as statistics tell.

The equations are those of rate-based optimization (static-optimization, 3): a selection passes a share f of what
comes, a time window of T seconds holds T times what comes in a second, and a join of windows with W_L and W_R rows
gives f · (W_R · λ_L + W_L · λ_R) results per second and holds f · W_L · W_R of them. So what an n-way join gives
does not depend on the order in which it is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log1p, prod

from panes.optimizer.assumed import assumed_selectivity
from panes.optimizer.fact_names import distinct_name, early_name, join_name, selection_name
from panes.optimizer.origins import origins_of
from panes.optimizer.statistics import Statistics
from panes.plan import nodes
from panes.plan.expressions import substitute
from panes.plan.lookups import Matching
from panes.plan.windows import NowWindow, RangeWindow, RowsWindow, SessionWindow, WindowSpec

HORIZON = 3600.0
"""The seconds for which rows are counted that never leave: how large what only grows will be after an hour."""
_VALUES = 1000.0
"""Different values of columns that were not measured."""
_ITEMS = 3.0
"""Items of a list."""
_SESSION = 10.0
"""How many times longer a session is than the gap that ends it."""
_EARLY = 0.25
"""The share of the results of a negation that leave before their time."""


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


def values_in(domain: float, rows: float) -> float:
    """How many different values some rows have, each of which has any of a domain (Cardenas' formula).

    >>> round(values_in(1000, 100)), round(values_in(10, 1000))
    (95, 10)
    """
    if domain <= 1 or rows <= 1:
        return min(max(rows, 0.0), 1.0)
    return domain * (1 - exp(rows * log1p(-1 / domain)))


@dataclass
class Estimates:
    """Estimates of nodes, each computed once."""

    statistics: Statistics
    _known: dict[nodes.Node, Estimate] = field(default_factory=dict)

    def of(self, node: nodes.Node) -> Estimate:
        """What is expected of a node."""
        if node not in self._known:
            self._known[node] = self._of(node)
        return self._known[node]

    def distinct(self, node: nodes.Node, columns: Sequence[str]) -> float:
        """How many different values columns of a node have at an instant."""
        if not columns:
            return 1.0
        return max(1.0, values_in(self.domain(node, columns), self.of(node).size))

    def domain(self, node: nodes.Node, columns: Sequence[str]) -> float:
        """How many different values columns of a node have over time."""
        known = self.statistics.distinct(distinct_name(node, columns))
        if known is not None:
            return known
        if len(columns) > 1:
            # Columns that are known one by one have at most so many values together.
            return prod(self.domain(node, [column]) for column in columns)
        return _VALUES

    def match(self, join: Matching) -> float:
        """f: which share of all pairs of rows of its two sides a join gives."""
        known = self.statistics.join(join_name(join))
        if known is not None:
            return known
        share = 1.0
        for one, other in zip(join.left_keys, join.right_keys, strict=True):
            share /= max(self.distinct(join.left, [one]), self.distinct(join.right, [other]))
        if join.residual is not None:
            share *= assumed_selectivity(join.residual)
        return share

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
                origins = origins_of(node.child)
                condition = substitute(node.predicate, origins)
                share = self.statistics.selectivity(selection_name(node.predicate, node.child), condition)
                return self.of(node.child).share(share)
            case nodes.Project() | nodes.OrderBy() | nodes.Matched():
                return self.of(node.child)
            case nodes.Unnest():
                return self.of(node.child).share(_ITEMS)
            case nodes.Distinct():
                return self._values(node.child, node.schema.names)
            case nodes.GroupBy():
                return self._groups(node)
            case nodes.TopN():
                return self._top_n(node)
            case nodes.Over():
                child = self.of(node.child)
                others = child.size / self.distinct(node.child, node.partition_by)
                return Estimate(child.rate * max(1.0, others), child.size, child.rate * max(0.0, others - 1))
            case nodes.Join():
                return self._join(node)
            case nodes.SemiJoin():
                return self.of(node.left).share(self._met(node))
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
                left, right = self.of(node.left), self.of(node.right)
                values = max(1.0, self.distinct(node.left, node.left.schema.names))
                rest = left.share(max(0.1, 1 - min(1.0, right.size / values)))
                return self._leaving_early(node, rest)
            case nodes.Istream() | nodes.Dstream() | nodes.Rstream():
                rate = self.of(node.children[0]).rate
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
        return Estimate(rate, rate * HORIZON)

    def _values(self, child: nodes.Node, columns: Sequence[str]) -> Estimate:
        """One row for each value: when the row that is shown leaves, a younger one of its value follows."""
        below = self.of(child)
        size = min(self.distinct(child, columns), below.size)
        share = size / below.size if below.size else 0.0
        return Estimate(below.rate * share, size, below.early * share)

    def _groups(self, node: nodes.GroupBy) -> Estimate:
        below = self.of(node.child)
        size = min(self.distinct(node.child, node.keys), max(below.size, 1.0))
        # A row changes its group when it comes and when it goes; a new value takes back the old one.
        changes = 2 * below.rate
        return Estimate(changes, size, early=changes)

    def _top_n(self, node: nodes.TopN) -> Estimate:
        below = self.of(node.child)
        size = min(node.limit * self.distinct(node.child, node.partition_by), below.size)
        share = size / below.size if below.size else 0.0
        return Estimate(below.rate * share, size, early=below.rate * share)

    def _join(self, node: nodes.Join | nodes.OuterJoin) -> Estimate:
        left, right, f = self.of(node.left), self.of(node.right), self.match(node)
        results = f * right.size * left.rate
        early = f * right.size * left.early
        if node.time is None:
            results += f * left.size * right.rate
            early += f * left.size * right.early
        return Estimate(results, f * left.size * right.size, early)

    def _met(self, node: Matching) -> float:
        """The share of the rows of the left that have a match."""
        known = self.statistics.measured("selectivity", f"EXISTS {join_name(node)}")
        if known is not None:
            return min(1.0, known)
        right = self.of(node.right).size
        return 1.0 - exp(-self.match(node) * right)

    def _alone(self, node: nodes.AntiJoin) -> Estimate:
        known = self.statistics.measured("selectivity", f"NOT EXISTS {join_name(node)}")
        share = 1 - self._met(node) if known is None else known
        rest = self.of(node.left).share(share)
        return rest if node.time is not None else self._leaving_early(node, rest)

    def _leaving_early(self, node: nodes.AntiJoin | nodes.Except, rest: Estimate) -> Estimate:
        known = self.statistics.early(early_name(node))
        share = _EARLY if known is None else known
        return Estimate(rest.rate, rest.size, max(rest.early, share * rest.rate))

    def _outer(self, node: nodes.OuterJoin) -> Estimate:
        pairs, left, right = self._join(node), self.of(node.left), self.of(node.right)
        alone = left.share(1 - self._met(node))
        rate, size, early = (
            pairs.rate + alone.rate,
            pairs.size + alone.size,
            pairs.early + alone.rate * _EARLY,
        )
        if node.is_full:
            other = right.share(1 - (1 - exp(-self.match(node) * left.size)))
            rate, size, early = rate + other.rate, size + other.size, early + other.rate * _EARLY
        return Estimate(rate, size, early)
