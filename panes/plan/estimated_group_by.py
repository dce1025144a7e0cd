"""A group-by over what drop boxes have left: its aggregates as estimates, with the half widths of their intervals.

Each row of the input stands for `weight` rows, 1 over the share that was kept at its time, and a row of a join for
the product of the weights of its tuples. So count is estimated by Σw, sum by Σwv, and avg by their ratio.

*Of one stream*, where a tuple gives at most one row, rows are kept independently of each other, and the variances
follow from the rows that are left:

    count   Σw(w-1)
    sum     Σw(w-1)v²
    avg     Σw(w-1)(v-r)² / (Σw)²      r is the estimate (the delta method)

*Of joins and lists* a tuple may give many rows, which are kept or dropped together. Tuples of each stream fall
into B (`DROP_BUCKETS`) groups by a hash, and the jackknife takes the variance from how much the sums of these
groups differ: deleting group g and scaling up the rest gives for each stream

    B/(B-1) · Σ_g (T_g - T/B)²         T_g = Σ w·v·√(1-1/w_s) over the rows whose tuple of stream s is in group g

where the root is the finite population correction of the tuple: one that was kept for sure adds no variance. The
variances of the streams add up; what the samples of two streams do together is counted twice, on the safe side.

All of these are sums that the aggregates keep exactly, so estimates do not depend on how rows fall into epochs and
shards. Where nothing was shed the plain aggregate stands, with the half width 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from panes.plan.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    columns_of,
)
from panes.plan.nodes import DROP_BUCKETS, GroupBy, Node, Project
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE

ERROR = "_error_"
"""What the name of the column begins with that has the half width of the 95 % interval of another."""
HIDDEN_SUM = "_shed_"
"""What the names of the sums begin with that estimates are made of."""

HIDDEN_OF_ROWS = "_row_shed_"
"""What the names of what is computed of each row for many sums begin with."""

_Z = 1.959964
"""The quantile of the normal distribution that leaves out 2.5 % on each side."""
_T = 2.039513
"""The same of Student's t with `DROP_BUCKETS` - 1 degrees of freedom."""
_ROUNDED = 1e-7
"""Relative to the mean: what differences of squares may lose of a deviation."""


@dataclass(frozen=True)
class TupleColumns:
    """The hidden columns of one tuple that a row is made of."""

    weight: str
    bucket: str | None = None


def is_hidden(name: str) -> bool:
    """Whether a column is there for estimates, and never shown."""
    return name.startswith((ERROR, HIDDEN_SUM, HIDDEN_OF_ROWS))


def estimated_group_by(node: GroupBy, tuples: Sequence[TupleColumns]) -> Node:
    """The group-by with estimates in place of its aggregates, and for each of these one column more, `ERROR`.

    `tuples` are the hidden columns of its input. With buckets the jackknife is used, and without them there must
    be one tuple, which gives at most one row. The aggregates must be count, sum and avg.
    """
    sums: _OneStream | _Jackknife
    sums = _Jackknife(node, tuples) if tuples[0].bucket else _OneStream(node, tuples)
    functions = {"count": sums.count, "sum": sums.sum, "avg": sums.avg}
    values, errors = [], []
    for aggregate in node.aggregates:
        value, error = functions[aggregate.function](aggregate)
        plain = Column(aggregate.type, aggregate.name)
        values.append((aggregate.name, Case(aggregate.type, ((sums.is_shed, _as(plain, value)),), plain)))
        errors.append((f"{ERROR}{aggregate.name}", Case(DOUBLE, ((sums.is_shed, error),), _number(0.0))))
    keys = [(key, Column(node.schema[key].type, key)) for key in node.keys]
    return Project(sums.grouped(), (*keys, *values, *errors))


@dataclass
class _Sums:
    """The sums that estimates are made of, each once."""

    node: GroupBy
    tuples: Sequence[TupleColumns]
    _added: dict[Expression, str] = field(default_factory=dict)
    _computed: dict[Expression, str] = field(default_factory=dict)
    """What is computed of each row once, for many sums."""

    @property
    def weight(self) -> Expression:
        """How many rows a row stands for."""
        weights: list[Expression] = [Column(DOUBLE, one.weight) for one in self.tuples]
        return reduce(_times, weights)

    @property
    def is_shed(self) -> Expression:
        """Whether a row of the group stands for others that are not there."""
        return Call(BOOLEAN, "gt", (self.total(_minus(self.weight, _number(1.0))), _number(0.0)))

    def total(self, arg: Expression) -> Expression:
        """Σ of an argument; 0 when there is none."""
        return Call(DOUBLE, "coalesce", (self.sum_of(arg), _number(0.0)))

    def sum_of(self, arg: Expression) -> Expression:
        """Σ of an argument; NULL when there is none, as of SQL's sum."""
        return Column(DOUBLE, self._added.setdefault(arg, f"{HIDDEN_SUM}{len(self._added)}"))

    def computed(self, value: Expression) -> Expression:
        """A value that is computed of each row before it is summed."""
        return Column(DOUBLE, self._computed.setdefault(value, f"{HIDDEN_OF_ROWS}{len(self._computed)}"))

    def rows(self, aggregate: Aggregate) -> Expression:
        """How many rows were counted by an aggregate."""
        return self.total(_where(aggregate, _number(1.0)))

    def grouped(self) -> Node:
        added = tuple(Aggregate(name, "sum", arg, DOUBLE) for arg, name in self._added.items())
        aggregates, child = (*self.node.aggregates, *added), self.node.child
        if self._computed:
            read = {name for a in aggregates for arg in a.args for name in columns_of(arg)} | {
                *self.node.keys
            }
            kept = [(f.name, Column(f.type, f.name)) for f in child.schema if f.name in read]
            child = Project(child, (*kept, *((name, value) for value, name in self._computed.items())))
        return GroupBy(child, self.node.keys, aggregates)


class _OneStream(_Sums):
    """Rows are kept independently of each other."""

    def count(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        total = self.total(_where(aggregate, self.weight))
        variance = self.total(_where(aggregate, self._spread))
        return total, _scored(variance, _over(variance, total))

    def sum(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        value = _value(aggregate)
        variance = self.total(_times(self._spread, _times(value, value)))
        number, spread = (
            self.total(_where(aggregate, self.weight)),
            self.total(_where(aggregate, self._spread)),
        )
        # How much one row more or less would be: the typical value, as often as a row stands for others.
        step = _times(_over(spread, number), _root(_over(variance, spread)))
        return self.sum_of(_times(self.weight, value)), _scored(variance, step)

    def avg(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        value, number = _value(aggregate), self.total(_where(aggregate, self.weight))
        mean = _over(self.total(_times(self.weight, value)), number)
        parts = [
            self.total(_times(self._spread, _times(value, value))),
            _times(_times(_number(-2.0), mean), self.total(_times(self._spread, value))),
            _times(_times(mean, mean), self.total(_where(aggregate, self._spread))),
        ]
        deviation = _over(_root(_not_below_zero(reduce(_plus, parts))), number)
        return mean, _plus(_of_few(deviation, self.rows(aggregate)), _rounding(mean))

    @property
    def _spread(self) -> Expression:
        """w(w-1)."""
        return _times(self.weight, _minus(self.weight, _number(1.0)))


class _Jackknife(_Sums):
    """Rows that are made of one tuple are kept or dropped together."""

    def count(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        total = self.total(_where(aggregate, self.weight))
        return total, self._half_width(lambda one, g: self._group(one, g, _where(aggregate, self.weight)))

    def sum(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        summed = _times(self.weight, _value(aggregate))
        return self.sum_of(summed), self._half_width(lambda one, g: self._group(one, g, summed))

    def avg(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        counted, summed = _where(aggregate, self.weight), _times(self.weight, _value(aggregate))
        number = self.total(counted)
        mean = _over(self.total(summed), number)

        def deviating(one: TupleColumns, group: int) -> Expression:
            return _minus(self._group(one, group, summed), _times(mean, self._group(one, group, counted)))

        return mean, _plus(_over(self._half_width(deviating), number), _rounding(mean))

    def _group(self, one: TupleColumns, group: int, value: Expression) -> Expression:
        """T_g: the sum over the rows whose tuple is in a group."""
        assert one.bucket is not None
        is_in = Call(BOOLEAN, "eq", (Column(BIGINT, one.bucket), Literal(BIGINT, group)))
        share = _over(_number(1.0), Column(DOUBLE, one.weight))
        corrected = self.computed(_times(value, _root(_minus(_number(1.0), share))))
        return self.total(Case(DOUBLE, ((is_in, corrected),), Literal(DOUBLE, None)))

    def _half_width(self, group_of: Callable[[TupleColumns, int], Expression]) -> Expression:
        variances = []
        for one in self.tuples:
            groups = [group_of(one, group) for group in range(DROP_BUCKETS)]
            total = reduce(_plus, groups)
            squares = reduce(_plus, (_times(t, t) for t in groups))
            variances.append(_minus(squares, _over(_times(total, total), _number(DROP_BUCKETS))))
        variance = _times(reduce(_plus, variances), _number(DROP_BUCKETS / (DROP_BUCKETS - 1)))
        return _times(_number(_T), _root(_not_below_zero(variance)))


def _scored(variance: Expression, step: Expression) -> Expression:
    """The half width of a total, from the score interval: the farther of its two ends. Few rows that were kept by
    chance say little of how many there were."""
    half = _times(_number(_Z * _Z / 2), Call(DOUBLE, "coalesce", (step, _number(0.0))))
    return _plus(half, _root(_plus(_times(half, half), _times(_number(_Z * _Z), variance))))


def _of_few(deviation: Expression, rows: Expression) -> Expression:
    """The half width of a mean of some rows: Student's t by its expansion; nothing is known of one row or two."""
    freedom = _minus(rows, _number(1.0))
    terms = [
        _number(_Z),
        _over(_number((_Z**3 + _Z) / 4), freedom),
        _over(_number((5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96), _times(freedom, freedom)),
    ]
    corrected = _times(deviation, _root(_over(rows, freedom)))
    is_known = Call(BOOLEAN, "ge", (rows, _number(3.0)))
    return Case(DOUBLE, ((is_known, _times(reduce(_plus, terms), corrected)),), _number(float("inf")))


def _rounding(mean: Expression) -> Expression:
    return _times(_number(_ROUNDED), Call(DOUBLE, "abs", (mean,)))


def _value(aggregate: Aggregate) -> Expression:
    assert aggregate.arg is not None
    return aggregate.arg if aggregate.arg.type == DOUBLE else Cast(DOUBLE, aggregate.arg)


def _where(aggregate: Aggregate, value: Expression) -> Expression:
    """The value of the rows that an aggregate counts: those whose argument is not NULL."""
    if aggregate.arg is None:
        return value
    is_there = Call(BOOLEAN, "is_not_null", (aggregate.arg,))
    return Case(DOUBLE, ((is_there, value),), Literal(DOUBLE, None))


def _as(plain: Column, estimate: Expression) -> Expression:
    """An estimate in the type of its aggregate, rounded where that has whole numbers alone."""
    if plain.type == DOUBLE:
        return estimate
    return Cast(plain.type, Call(DOUBLE, "round", (estimate,)) if plain.type == BIGINT else estimate)


def _number(value: float) -> Expression:
    return Literal(DOUBLE, float(value))


def _plus(one: Expression, other: Expression) -> Expression:
    return Call(DOUBLE, "add", (one, other))


def _minus(one: Expression, other: Expression) -> Expression:
    return Call(DOUBLE, "subtract", (one, other))


def _times(one: Expression, other: Expression) -> Expression:
    return Call(DOUBLE, "multiply", (one, other))


def _over(one: Expression, other: Expression) -> Expression:
    return Call(DOUBLE, "divide", (one, other))


def _root(value: Expression) -> Expression:
    return Call(DOUBLE, "sqrt", (value,))


def _not_below_zero(value: Expression) -> Expression:
    """What rounding has made negative is 0."""
    return Call(DOUBLE, "greatest", (value, _number(0.0)))
