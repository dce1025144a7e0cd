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

    B/(B-1) · (Σ_g T_g² - (Σ_g T_g)²/B)     T_g = Σ w·v·√(1-1/w_s) over the rows whose tuple of stream s is in g

where the root is the finite population correction of the tuple: one that was kept for sure adds no variance. The
variances of the streams add up; what the samples of two streams do together is counted twice, on the safe side.
The T_g are those of one more group-by for each stream, by the keys and the group; their squares meet the other
sums in a last group-by by the keys, over a union, which knows NULL keys, as a join would not.

All of these are sums that the aggregates keep exactly, so estimates do not depend on how rows fall into epochs and
shards. Where nothing was shed the plain aggregate stands, with the half width 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from panes.plan.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
)
from panes.plan.nodes import DROP_BUCKETS, GroupBy, Node, Project, Union
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, Type

ERROR = "_error_"
"""What the name of the column begins with that has the half width of the 95 % interval of another."""
HIDDEN_SUM = "_shed_"
"""What the names of the sums begin with that estimates are made of."""

_OF_GROUP = f"{HIDDEN_SUM}group_"

_Z = 1.959964
"""The quantile of the normal distribution that leaves out 2.5 % on each side."""
_ROUNDED = 1e-7
"""Relative to the mean: what differences of squares may lose of a deviation."""


@dataclass(frozen=True)
class TupleColumns:
    """The hidden columns of one tuple that a row is made of."""

    weight: str
    bucket: str | None = None


def is_hidden(name: str) -> bool:
    """Whether a column is there for estimates, and never shown."""
    return name.startswith((ERROR, HIDDEN_SUM))


def estimated_group_by(node: GroupBy, tuples: Sequence[TupleColumns]) -> Node:
    """The group-by with estimates in place of its aggregates, and for each of these one column more, `ERROR`.

    `tuples` are the hidden columns of its input. With buckets the jackknife is used, and without them there must
    be one tuple, which gives at most one row. The aggregates must be count, sum and avg.
    """
    sums: _OneStream | _Jackknife
    sums = _Jackknife(node, tuples) if tuples[0].bucket else _OneStream(node, tuples)
    functions = {"count": sums.count, "sum": sums.sum, "avg": sums.avg}
    values, errors = [], []
    is_shed = Call(BOOLEAN, "gt", (sums.total(_minus(sums.weight, _number(1.0))), _number(0.0)))
    for aggregate in node.aggregates:
        value, error = functions[aggregate.function](aggregate)
        plain = Column(aggregate.type, aggregate.name)
        values.append((aggregate.name, Case(aggregate.type, ((is_shed, _as(plain, value)),), plain)))
        errors.append((f"{ERROR}{aggregate.name}", Case(DOUBLE, ((is_shed, error),), _number(0.0))))
    return Project(sums.grouped(), (*_columns(node, node.keys), *values, *errors))


@dataclass
class _Sums:
    """The sums that estimates are made of, each once."""

    node: GroupBy
    tuples: Sequence[TupleColumns]
    _names: dict[Expression, str] = field(default_factory=dict)

    @property
    def weight(self) -> Expression:
        """How many rows a row stands for."""
        weights: list[Expression] = [Column(DOUBLE, one.weight) for one in self.tuples]
        return reduce(_times, weights)

    def total(self, arg: Expression) -> Expression:
        """Σ of an argument; 0 when there is none."""
        return _or_zero(self.sum_of(arg))

    def sum_of(self, arg: Expression) -> Expression:
        """Σ of an argument; NULL when there is none, as of SQL's sum."""
        return Column(DOUBLE, self._names.setdefault(arg, f"{HIDDEN_SUM}{len(self._names)}"))

    def grouped(self) -> Node:
        """The group-by with all the sums that were asked for."""
        added = tuple(_sum(name, arg) for arg, name in self._names.items())
        return replace(self.node, aggregates=(*self.node.aggregates, *added))


class _OneStream(_Sums):
    """Rows are kept independently of each other."""

    def count(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        total = self.total(_where(aggregate, self.weight))
        variance = self.total(_where(aggregate, self._spread))
        return total, _scored(variance, _over(variance, total), _number(_Z))

    def sum(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        value = _value(aggregate)
        variance = self.total(_times(self._spread, _times(value, value)))
        number = self.total(_where(aggregate, self.weight))
        spread = self.total(_where(aggregate, self._spread))
        # How much one row more or less would be: the typical value, as often as a row stands for others.
        step = _times(_over(spread, number), _root(_over(variance, spread)))
        freedom = self._freedom(aggregate)
        half_width = _known(freedom, _scored(variance, step, _students_t(freedom)))
        return self.sum_of(_times(self.weight, value)), half_width

    def avg(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        value, number = _value(aggregate), self.total(_where(aggregate, self.weight))
        mean = _over(self.total(_times(self.weight, value)), number)
        parts = [
            self.total(_times(self._spread, _times(value, value))),
            _times(_times(_number(-2.0), mean), self.total(_times(self._spread, value))),
            _times(_times(mean, mean), self.total(_where(aggregate, self._spread))),
        ]
        deviation = _over(_root(_not_below_zero(reduce(_plus, parts))), number)
        freedom = self._freedom(aggregate)
        # The mean is that of these rows, to which they are nearer than to the true one: n / (n - 1).
        nearer = _root(_over(_plus(freedom, _number(0.5)), freedom))
        half_width = _times(_students_t(freedom), _times(deviation, nearer))
        return mean, _plus(_known(freedom, half_width), _rounding(mean))

    def _freedom(self, aggregate: Aggregate) -> Expression:
        return _worth(self.total(_where(aggregate, _number(1.0))))

    @property
    def _spread(self) -> Expression:
        """w(w-1)."""
        return _times(self.weight, _minus(self.weight, _number(1.0)))


@dataclass
class _Jackknife(_Sums):
    """Rows that are made of one tuple are kept or dropped together."""

    _of_groups: dict[Expression, str] = field(default_factory=dict)
    """What is summed by group."""
    _products: dict[tuple[str, str], str] = field(default_factory=dict)
    """The sums over groups of products of two of these."""

    def count(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        counted = _where(aggregate, self.weight)
        return self.total(counted), self._half_width(self._moment(counted, counted))

    def sum(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        summed = _times(self.weight, _value(aggregate))
        return self.sum_of(summed), self._half_width(self._moment(summed, summed))

    def avg(self, aggregate: Aggregate) -> tuple[Expression, Expression]:
        counted, summed = _where(aggregate, self.weight), _times(self.weight, _value(aggregate))
        number = self.total(counted)
        mean = _over(self.total(summed), number)
        parts = [
            self._moment(summed, summed),
            _times(_times(_number(-2.0), mean), self._moment(summed, counted)),
            _times(_times(mean, mean), self._moment(counted, counted)),
        ]
        return mean, _plus(_over(self._half_width(reduce(_plus, parts)), number), _rounding(mean))

    def _half_width(self, variance: Expression) -> Expression:
        """By the degrees of freedom of the stream whose tuples fill the fewest groups."""
        filled = tuple(
            Call(DOUBLE, "nullif", (_or_zero(Column(DOUBLE, name)), _number(0.0)))
            for name in map(_filled, self.tuples)
        )
        freedom = _worth(Call(DOUBLE, "least", filled))
        return _known(freedom, _times(_students_t(freedom), _root(_not_below_zero(variance))))

    def _moment(self, one: Expression, other: Expression) -> Expression:
        """The covariance of two totals."""
        first, second = (
            self._of_groups.setdefault(e, f"{_OF_GROUP}{len(self._of_groups)}") for e in (one, other)
        )
        name = self._products.setdefault((first, second), f"{HIDDEN_SUM}product_{len(self._products)}")
        squares: Expression = _or_zero(Column(DOUBLE, name))
        for stream in self.tuples:
            totals = (self.total(_corrected(value, stream)) for value in (one, other))
            squares = _minus(squares, _over(_times(*totals), _number(DROP_BUCKETS)))
        return _times(squares, _number(DROP_BUCKETS / (DROP_BUCKETS - 1)))

    def grouped(self) -> Node:
        """All sums of each group: those over its rows, and the products of those of its groups of tuples."""
        rows = super().grouped()
        sums = [f for f in rows.schema if f.name not in self.node.keys]
        products = (*self._products.values(), *map(_filled, self.tuples))
        no_products = tuple((name, _null(DOUBLE)) for name in products)
        together: Node = Project(rows, (*_columns(rows, rows.schema.names), *no_products))
        for stream in self.tuples:
            of_groups = self._by_group(stream)
            found = tuple(
                (name, _times(_or_zero(Column(DOUBLE, first)), _or_zero(Column(DOUBLE, second))))
                for (first, second), name in self._products.items()
            )
            is_filled = Call(BOOLEAN, "gt", (_or_zero(Column(DOUBLE, f"{_OF_GROUP}weight")), _number(0.0)))
            for other in self.tuples:
                filled = _number(1.0) if other is stream else _null(DOUBLE)
                found += ((_filled(other), Case(DOUBLE, ((is_filled, filled),), _null(DOUBLE))),)
            no_sums = tuple((f.name, _null(f.type)) for f in sums)
            keys = _columns(self.node, self.node.keys)
            together = Union(together, Project(of_groups, (*keys, *no_sums, *found)))
        added = tuple(Aggregate(f.name, "sum", Column(f.type, f.name), f.type) for f in sums)
        added += tuple(_sum(name, Column(DOUBLE, name)) for name in products)
        return GroupBy(together, self.node.keys, added)

    def _by_group(self, stream: TupleColumns) -> Node:
        """The sums of each group of the tuples of a stream."""
        assert stream.bucket is not None
        sums = tuple(_sum(name, _corrected(value, stream)) for value, name in self._of_groups.items())
        weight = _sum(f"{_OF_GROUP}weight", _corrected(self.weight, stream))
        return GroupBy(self.node.child, (*self.node.keys, stream.bucket), (*sums, weight))


def _filled(stream: TupleColumns) -> str:
    """The column that has how many groups of the tuples of a stream there are that add to the variance."""
    return f"{HIDDEN_SUM}filled{stream.bucket}"


def _corrected(value: Expression, stream: TupleColumns) -> Expression:
    """A weighted value with the root of the finite population correction of one of its tuples."""
    share = _over(_number(1.0), Column(DOUBLE, stream.weight))
    return _times(value, _root(_minus(_number(1.0), share)))


def _scored(variance: Expression, step: Expression, quantile: Expression) -> Expression:
    """The half width of a total, from the score interval: the farther of its two ends. Few rows that were kept by
    chance say little of how many there were."""
    half = _times(_number(_Z * _Z / 2), _or_zero(step))
    return _plus(half, _root(_plus(_times(half, half), _times(_times(quantile, quantile), variance))))


def _students_t(freedom: Expression) -> Expression:
    """The quantile of Student's t that leaves out 2.5 % on each side, by its expansion."""
    terms = [
        _number(_Z),
        _over(_number((_Z**3 + _Z) / 4), freedom),
        _over(_number((5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96), _times(freedom, freedom)),
    ]
    return reduce(_plus, terms)


def _worth(values: Expression) -> Expression:
    """The degrees of freedom of a variance from a number of values. Those of skewed values, and of rows that stand
    for different numbers of others, tell about half as much as those of a normal distribution."""
    return _times(_number(0.5), _minus(values, _number(1.0)))


def _known(freedom: Expression, half_width: Expression) -> Expression:
    """A half width, if at least one degree of freedom is left; else nothing is known."""
    is_known = Call(BOOLEAN, "ge", (freedom, _number(1.0)))
    return Case(DOUBLE, ((is_known, half_width),), _number(float("inf")))


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


def _sum(name: str, arg: Expression) -> Aggregate:
    return Aggregate(name, "sum", arg, DOUBLE)


def _columns(node: Node, names: Sequence[str]) -> tuple[tuple[str, Expression], ...]:
    return tuple((name, Column(node.schema[name].type, name)) for name in names)


def _null(kind: Type) -> Expression:
    return Literal(kind, None)


def _or_zero(value: Expression) -> Expression:
    return Call(DOUBLE, "coalesce", (value, _number(0.0)))


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
