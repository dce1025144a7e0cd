"""The checks can fail: a bug planted in any operator is found by the same check that the operators pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from panes.aggregates import extremes, holistic, linear, partials
from panes.aggregates.adders import Doubles, DoubleSum, IntegerSum
from panes.aggregates.base import Accumulators, Ints
from panes.aggregates.extremes import Extremes
from panes.aggregates.frequencies import GROUP, VALUE, Frequencies
from panes.aggregates.linear import ROWS, Linear
from panes.aggregates.moments import Sum
from panes.aggregates.ordered_rows import OrderedRows
from panes.aggregates.over_rows import OverRows
from panes.aggregates.pairs import pairs_of
from panes.aggregates.steps import Steps, steps_of
from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT, Delta, Instants
from panes.delta.hashing import Hashes, hash_pair
from panes.delta.keys import Mask
from panes.delta.lists import items_of
from panes.delta.orders import in_order
from panes.delta.rows import with_column
from panes.operators import group_by, lookup, lower, over, rows_window, select, session_window, top_n, unnest
from panes.operators.anti_join import AntiJoin
from panes.operators.constant import Constant
from panes.operators.distinct_star import DistinctStar
from panes.operators.explicit_expiry import ExplicitExpiry
from panes.operators.group_by import GroupBy
from panes.operators.input import Entry
from panes.operators.join import Join
from panes.operators.lookup import Lookup
from panes.operators.over import Over
from panes.operators.pre_aggregate import PreAggregate
from panes.operators.project import Project
from panes.operators.release_on_time import ReleaseOnTime
from panes.operators.semi_join import SemiJoin
from panes.operators.session_window import SessionWindow
from panes.operators.set_operation_by_lifetime import SetOperationByLifetime
from panes.operators.tools.counting_rules import RULES
from panes.operators.top_n import TopN
from panes.operators.union import Union
from panes.operators.unnest import Unnest
from panes.operators.window import TimeWindow
from panes.plan import nodes
from panes.plan.expressions import Aggregate, Column, Expression
from panes.plan.over_functions import Frame
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT
from panes.plan.walk import walk
from panes.plan.windows import RowsWindow
from panes.plan.windows import SessionWindow as SessionSpec
from panes.state.buffers.keyed_versions import KeyedVersions
from tests.properties.drawn import Case, Cases
from tests.properties.plans import Drawing
from tests.properties.running import NT, UPA, UPA_FEW_EARLY, Way, check_answers

Plan = Callable[[Drawing], nodes.Node]
Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutation:
    """A bug, and plans that run the operator it is in."""

    bug: str
    plan: Plan
    plant: Patch
    way: Way = UPA
    out_of_order: bool = False
    """Whether it takes tuples that come early or late to show it."""
    cases: int = 300
    """Within how many drawn cases it must show."""


def output_of(operator: type, spoil: Callable[[Delta], Delta]) -> Patch:
    """Spoils what an operator gives."""
    process = operator.process

    def spoiled(self: object, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        delta: Delta = process(self, inputs, since, clock)
        return spoil(delta)

    return lambda patch: patch.setattr(operator, "process", spoiled)


def replaced(owner: object, name: str, value: object) -> Patch:
    return lambda patch: patch.setattr(owner, name, value)


def ruled(name: str, rule: object) -> Patch:
    return lambda patch: patch.setitem(RULES, name, rule)


def without_last(delta: Delta) -> Delta:
    return Delta(delta.table.slice(0, max(delta.rows - 1, 0)), delta.clock)


def twice(delta: Delta) -> Delta:
    return Delta(pa.concat_tables([delta.table, delta.table]), delta.clock)


def an_instant_longer(delta: Delta) -> Delta:
    longer = np.where(delta.exp < FOREVER, delta.exp + 1, FOREVER)
    return Delta(with_column(delta.table, EXP, longer), delta.clock)


def never_taking_back(delta: Delta) -> Delta:
    return delta.filter(delta.weight > 0)


def all_positive(delta: Delta) -> Delta:
    return Delta(with_column(delta.table, WEIGHT, abs(delta.weight)), delta.clock)


def absolute_counts(delta: Delta) -> Delta:
    return Delta(with_column(delta.table, ROWS, abs(delta.table.column(ROWS).to_numpy())), delta.clock)


def grouped(function: str) -> Plan:
    """A group-by with an aggregate of this kind, over a window."""

    def draw(drawing: Drawing) -> nodes.Node:
        while True:
            node = drawing.group_by(1)
            assert isinstance(node, nodes.GroupBy)
            wanted = [a for a in node.aggregates if function == a.function + " of distinct" * a.distinct]
            if wanted:
                return nodes.GroupBy(node.child, node.keys, tuple(wanted))

    return draw


def over_rows(make: Callable[[Drawing, nodes.Node], nodes.Node]) -> Plan:
    """Something over a count window, whose rows are taken back."""

    def draw(drawing: Drawing) -> nodes.Node:
        return make(drawing, nodes.Window(drawing.stream(), RowsWindow(drawing.random.randint(1, 3))))

    return draw


def count_of_all(drawing: Drawing, child: nodes.Node) -> nodes.Node:
    return nodes.GroupBy(child, (), (Aggregate(drawing.name("g"), "count", None, BIGINT),))


def greatest_of_all(drawing: Drawing, child: nodes.Node) -> nodes.Node:
    field = drawing.random.choice([field for field in child.schema if field.type.is_numeric])
    column = Column(field.type, field.name)
    return nodes.GroupBy(child, (), (Aggregate(drawing.name("g"), "max", column, field.type),))


def everything_passes(_: object, table: pa.Table) -> pa.Array:
    return pa.array([True] * table.num_rows)


def a_number_later(batch: rows_window._Batch, by: Ints, numbers: Ints) -> Instants:
    return _TIMES(batch, by, numbers + 1)


def sessions(drawing: Drawing) -> nodes.Node:
    """Sessions of the partitions of a stream."""
    stream = drawing.stream()
    by = tuple(drawing.some(stream.schema.names, 1, 2))
    return nodes.Window(stream, SessionSpec(drawing.random.randint(1, 5), by))


def of_all_partitions(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[Hashes, Hashes]:
    return hash_pair(columns[:0], rows)


def ends_are_not_put_off(
    window: SessionWindow, partitions: object, before: Accumulators, delta: Delta
) -> session_window._Events:
    """A session ends when its first tuple of a span says."""
    events = _EVENTS(window, partitions, before, delta)  # type: ignore[arg-type]
    starts = np.searchsorted(events.code, events.code)
    return replace(events, ends=np.minimum(events.ends, events.ts[starts] + window.spec.gap_us))


def over_window(drawing: Drawing) -> nodes.Node:
    return drawing.over(drawing.window())


def a_row_later(rows: OverRows, frame: Frame) -> tuple[Ints, Ints]:
    begin, end = _BOUNDS(rows, frame)
    return np.minimum(begin + 1, end), end


def unnested(drawing: Drawing) -> nodes.Node:
    return drawing.unnest(drawing.window())


def last_items(lists: pa.Array) -> tuple[Ints, pa.Array]:
    owners, items = items_of(lists)
    last = np.append(owners[1:] != owners[:-1], True)[: len(owners)]
    return owners[last], items.filter(pa.array(last))


def known_items(lists: pa.Array) -> tuple[Ints, pa.Array]:
    owners, items = items_of(lists)
    return owners[np.asarray(items.is_valid())], items.drop_null()


def no_peers(_: object, places: Ints, *__: object, **___: object) -> Mask:
    return np.zeros(len(places), np.bool_)


def rounded_down(values: pl.DataFrame, fraction: float) -> pl.DataFrame:
    found = _QUANTILE(values, fraction)
    return found.with_columns(pl.col(VALUE).floor())


def rare_values_first(values: pl.DataFrame, k: int, _: pl.Expr) -> pl.DataFrame:
    return values.group_by(GROUP, maintain_order=True).agg(pl.col(VALUE).tail(k))


def halved_integers(adder: IntegerSum, accumulators: Accumulators, rows: int) -> tuple[Ints, object]:
    sums, fits = _INTEGERS(adder, accumulators, rows)
    return sums // 2, fits


def doubled_doubles(adder: DoubleSum, accumulators: Accumulators, rows: int) -> Doubles:
    return _DOUBLES(adder, accumulators, rows) * 2


def copies_appear(
    first: Hashes, second: Hashes, instants: Instants, changes: Accumulators, **how: bool
) -> Steps:
    """Every row counts as another key, as if its value had not been there before."""
    if changes.keys() == {0} and not how:
        second = np.arange(len(first)).astype(np.uint64)
    return steps_of(first, second, instants, changes, **how)


def never_leaving(
    table: Frequencies, first: Hashes, second: Hashes, values: pa.ChunkedArray, counts: Ints
) -> None:
    _ADD(table, first, second, values, abs(counts))


def the_best(group: Ints, ranks: Ints, exp: Instants, among: Ints) -> Ints:
    stays = _UNDOMINATED(group, ranks, exp, among)
    ordered = stays[np.lexsort((-ranks[stays], group[stays]))]
    return np.sort(ordered[np.unique(group[ordered], return_index=True)[1]])


def never_ending(state: Extremes, groups: extremes._Groups, since: int) -> pl.DataFrame:
    return _STORED(state, groups, since).with_columns(pl.lit(FOREVER).alias(EXP))


def of_the_first(ranks: Ints, begin: Ints, end: Ints, moments: int) -> Ints:
    return _GREATEST_OVER(ranks, begin, np.minimum(end, begin + 1), moments)


def never_gone(self: Linear, arg: Expression, values: pa.ChunkedArray, appeared: Ints) -> Accumulators:
    return _APPEARED(self, arg, values, abs(appeared))


def of_all(counts: Ints, x: Sum, y: Sum, xy: Sum, divisor: Doubles) -> Doubles:
    return _MOMENT(counts, x, y, xy, np.where(divisor > 0, counts.astype(np.float64) ** 2, 0.0))


def without_sign(counts: Ints, x: Sum, y: Sum, xy: Sum, divisor: Doubles) -> Doubles:
    return abs(_MOMENT(counts, x, y, xy, divisor))


def ascending(first: object, second: object, *, descending: bool, nulls_first: bool) -> pa.Array:  # noqa: ARG001
    return pairs_of(first, second)


def without_copies(aggregate: Aggregate, values: pl.DataFrame) -> pl.DataFrame:
    return _LISTED(replace(aggregate, distinct=True), values)


def of_sets(left: Ints, right: Ints) -> Ints:
    return np.where(right > 0, 0, left)


def of_the_last_instant(operator: Lookup, rows: pa.Table, times: Instants) -> Iterator[lookup._Pairs]:
    """All rows meet the youngest version that is known."""
    return _PAIRS(operator, rows, np.full(len(times), FOREVER - 1))


def of_the_first_instant(operator: Lookup, rows: pa.Table, times: Instants) -> Iterator[lookup._Pairs]:
    return _PAIRS(operator, rows, np.full(len(times), ALWAYS))


def forgotten_too_soon(versions: KeyedVersions, now: int) -> None:
    """Versions of some time ago are gone, though late rows may still ask for them."""
    _FORGET(versions, max(now, 40))
    versions.compact()


def null_is_a_value(_: object, rows: pa.Table, __: Instants) -> Mask:
    return np.zeros(rows.num_rows, np.bool_)


def lookup_of_any_age(drawing: Drawing) -> nodes.Node:
    """A lookup by tuples that are in no window: however late they come, they meet the table of their time."""
    while True:
        timed = drawing.timed_window()
        if not any(isinstance(node, nodes.Window) for node in walk(timed.node)):
            return drawing.looking_up(timed)


def left_lookup(drawing: Drawing) -> nodes.Node:
    """A lookup that keeps the tuples without a match."""
    while True:
        node = drawing.lookup(1)
        if isinstance(node, nodes.OuterJoin):
            return node


def full_join(drawing: Drawing) -> nodes.Node:
    while True:
        node = drawing.outer_join(1)
        if isinstance(node, nodes.OuterJoin) and node.is_full:
            return node


def beside_values(drawing: Drawing) -> nodes.Node:
    left, right = drawing.window(), drawing.values()
    return nodes.Union(drawing.narrow(left), drawing.narrow(right))


def in_every_span(operator: Constant, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
    rows = _CONSTANTS(operator, inputs, BEGINNING, clock).table
    return Delta(with_column(rows, TS, np.full(rows.num_rows, since + 1)), clock)


def not_in_lookup(drawing: Drawing) -> nodes.Node:
    """A lookup that is NOT IN."""
    while True:
        node = drawing.lookup(1)
        if isinstance(node, nodes.AntiJoin) and node.null_aware:
            return node


_CONSTANTS = Constant.process
_EXPANDED = lower.expand_outer_join


def only_the_first(
    schema: pa.Schema, order: Sequence[SortKey], keys: Sequence[str], _: object
) -> OrderedRows:
    return OrderedRows(schema, order, keys, most=1)


def some_rows_alone(state: OrderedRows, first: Hashes, second: Hashes, rows: pa.Table, counts: Ints) -> None:
    _ADD_ROWS(state, first, second, rows, np.sign(counts) * (np.arange(len(counts)) % 3 > 0))


def nulls_first(frame: pl.DataFrame, order: Sequence[SortKey]) -> pl.DataFrame:
    return in_order(frame, [replace(key, nulls_first=True) for key in order])


_ADD_ROWS = OrderedRows.add
_PAIRS = Lookup._pairs
_FORGET = KeyedVersions.forget
_TIMES = rows_window._Batch.times
_EVENTS = SessionWindow._events
_BOUNDS = OverRows._bounds
_QUANTILE = holistic._quantile
_INTEGERS = IntegerSum.integers
_DOUBLES = DoubleSum.doubles
_ADD = Frequencies.add
_STORED = Extremes._of
_UNDOMINATED = extremes._undominated
_GREATEST_OVER = extremes._greatest_over
_APPEARED = Linear.appeared
_MOMENT = linear.moment
_LISTED = holistic._listed
FROM_THE_OTHER_END = {function: not greatest for function, greatest in holistic.ENDS.items()}


MUTATIONS = [
    Mutation("an arrival is lost", Drawing.window, output_of(Entry, without_last)),
    Mutation(
        "rows come before their slide",
        Drawing.window,
        replaced(ReleaseOnTime, "process", lambda _, i, *__: i[0]),
    ),
    Mutation("a window is an instant too long", Drawing.window, output_of(TimeWindow, an_instant_longer)),
    Mutation(
        "rows stay in a count window", Drawing.window, replaced(rows_window._Batch, "times", a_number_later)
    ),
    Mutation("a session never ends", sessions, output_of(SessionWindow, never_taking_back)),
    Mutation(
        "partitions share a session", sessions, replaced(session_window, "hash_pair", of_all_partitions)
    ),
    Mutation("a session is not extended", sessions, replaced(SessionWindow, "_events", ends_are_not_put_off)),
    Mutation("old values of OVER stay", over_window, output_of(Over, never_taking_back)),
    Mutation("peers are in any order", over_window, replaced(over, "total_order", lambda keys, _: keys)),
    Mutation("frames forget their first row", over_window, replaced(OverRows, "_bounds", a_row_later)),
    Mutation("peers are told apart", over_window, replaced(over, "equal_rows", no_peers)),
    Mutation(
        "a condition is not looked at",
        lambda d: d.select(d.window()),
        replaced(select, "mask_of", everything_passes),
    ),
    Mutation("a projection forgets signs", over_rows(Drawing.project), output_of(Project, all_positive)),
    Mutation("items forget signs", over_rows(Drawing.unnest), output_of(Unnest, all_positive)),
    Mutation("a list has its last item alone", unnested, replaced(unnest, "items_of", last_items)),
    Mutation("NULL is no item", unnested, replaced(unnest, "items_of", known_items)),
    Mutation("a union loses a row", lambda d: nodes.Union(*d.alike(1)), output_of(Union, without_last)),
    Mutation("partial rows forget signs", over_rows(count_of_all), output_of(PreAggregate, absolute_counts)),
    Mutation("old values of groups stay", grouped("count"), output_of(GroupBy, never_taking_back)),
    Mutation("sums are halved", grouped("sum"), replaced(IntegerSum, "integers", halved_integers)),
    Mutation("means are of all rows", grouped("avg"), replaced(DoubleSum, "doubles", doubled_doubles)),
    Mutation(
        "every copy counts as distinct",
        grouped("count of distinct"),
        replaced(group_by, "steps_of", copies_appear),
    ),
    Mutation(
        "only the least value is kept",
        grouped("min"),
        replaced(extremes, "_undominated", the_best),
        cases=600,
    ),
    Mutation("only the greatest value is kept", grouped("max"), replaced(extremes, "_undominated", the_best)),
    Mutation("the least value stays", grouped("min"), replaced(Extremes, "_of", never_ending)),
    Mutation("values cover one moment", grouped("max"), replaced(extremes, "_greatest_over", of_the_first)),
    Mutation(
        "the greatest value of the last rows stays",
        over_rows(greatest_of_all),
        replaced(Frequencies, "add", never_leaving),
    ),
    Mutation("quantiles are whole", grouped("quantile"), replaced(holistic, "_quantile", rounded_down)),
    Mutation("medians are whole", grouped("median"), replaced(holistic, "_quantile", rounded_down)),
    Mutation(
        "top_k ignores counts", grouped("top_k"), replaced(holistic, "_most_frequent", rare_values_first)
    ),
    Mutation(
        "distinct values stay in sums", grouped("sum of distinct"), replaced(Linear, "appeared", never_gone)
    ),
    Mutation("samples are all there is", grouped("var_samp"), replaced(linear, "moment", of_all)),
    Mutation("covariances are positive", grouped("covar_pop"), replaced(linear, "moment", without_sign)),
    Mutation("the first is the last", grouped("first"), replaced(holistic, "ENDS", FROM_THE_OTHER_END)),
    Mutation("max_by takes the least", grouped("max_by"), replaced(partials, "pairs_of", ascending)),
    Mutation("lists have no copies", grouped("array_agg"), replaced(holistic, "_listed", without_copies)),
    Mutation("pairs outlive their rows", lambda d: d.join(1), output_of(Join, an_instant_longer)),
    Mutation("each match gives a row", lambda d: d.semi_join(1), output_of(SemiJoin, twice)),
    Mutation(
        "a match takes nothing back",
        lambda d: d.anti_join(1),
        output_of(AntiJoin, never_taking_back),
        UPA_FEW_EARLY,
    ),
    Mutation(
        "a row with a partner stays alone",
        lambda d: d.outer_join(1),
        output_of(AntiJoin, never_taking_back),
        UPA_FEW_EARLY,
    ),
    Mutation(
        "rows of the right are never alone",
        full_join,
        replaced(lower, "expand_outer_join", lambda node: _EXPANDED(replace(node, is_full=False))),
    ),
    Mutation(
        "a lookup drops rows without a match",
        left_lookup,
        replaced(Lookup, "_alone", lambda self, _: self.output.columns.empty_table()),
    ),
    Mutation("a duplicate never takes over", lambda d: d.distinct(1), output_of(DistinctStar, without_last)),
    Mutation(
        "copies are not duplicates",
        over_rows(lambda d, w: nodes.Distinct(d.narrow(w))),
        ruled("distinct", lambda left, _: left),
    ),
    Mutation(
        "an intersection outlives its rows",
        lambda d: nodes.Intersect(*d.alike(1)),
        output_of(SetOperationByLifetime, an_instant_longer),
    ),
    Mutation(
        "a difference is one of sets",
        lambda d: nodes.Except(*d.alike(1)),
        ruled("except", of_sets),
    ),
    Mutation(
        "a lookup reads the table of now",
        lambda d: d.lookup(1),
        replaced(Lookup, "_pairs", of_the_last_instant),
    ),
    Mutation(
        "a lookup reads the first table",
        lambda d: d.lookup(1),
        replaced(Lookup, "_pairs", of_the_first_instant),
    ),
    Mutation(
        "what was deleted is still met",
        lambda d: d.lookup(1),
        replaced(lookup, "_netted", lambda found, _: [pairs.part(pairs.weight > 0) for pairs in found]),
    ),
    Mutation(
        "versions are forgotten too soon",
        lookup_of_any_age,
        replaced(KeyedVersions, "forget", forgotten_too_soon),
        out_of_order=True,
    ),
    Mutation("a lookup gives each result twice", lambda d: d.lookup(1), output_of(Lookup, twice)),
    Mutation("NOT IN forgets NULL", not_in_lookup, replaced(Lookup, "_is_unknown", null_is_a_value)),
    Mutation("rows stay at the top", lambda d: d.top_n(1), output_of(TopN, never_taking_back)),
    Mutation(
        "rows beyond the top are forgotten",
        over_rows(Drawing.first_rows),
        replaced(top_n, "choose_for_rows", only_the_first),
    ),
    Mutation("some rows do not count", lambda d: d.top_n(1), replaced(OrderedRows, "add", some_rows_alone)),
    Mutation("NULLs are sorted as they like", lambda d: d.top_n(1), replaced(top_n, "in_order", nulls_first)),
    Mutation("a constant is lost", beside_values, output_of(Constant, without_last)),
    Mutation("constants come again", beside_values, replaced(Constant, "process", in_every_span)),
    Mutation("nothing leaves", lambda d: d.window(), output_of(ExplicitExpiry, never_taking_back), NT),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.bug)
def test_planted_bug_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.plant(monkeypatch)
    cases = Cases(plan=mutation.plan, ways=(mutation.way,), out_of_order=mutation.out_of_order)
    assert any(is_found(cases.draw(number.to_bytes(16, "big"))) for number in range(mutation.cases))


def is_found(case: Case) -> bool:
    try:
        check_answers(case.plan, case.arrivals, case.way.lower(case.plan))
    except (AssertionError, ValueError):
        return True
    return False
