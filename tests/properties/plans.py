"""Plans to draw: every operator over every other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar

from hypothesis.strategies import SearchStrategy

from panes.clock import to_datetime
from panes.plan import nodes
from panes.plan.expressions import Aggregate, Call, Case, Column, Expression, Literal
from panes.plan.over_functions import PICKED, PLACES, UP_TO_PEERS, WHOLE, Frame, OverFunction
from panes.plan.schema import Field, Schema
from panes.plan.slides import slides_of
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, STRING, TIMESTAMP, Type, list_of, struct_of
from panes.plan.walk import walk
from panes.plan.windows import (
    FOREVER,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    UnboundedWindow,
    WindowSpec,
)
from tests.properties.streams import COLUMNS, SEEDS, STREAMS, TABLES

COMPARABLE = {BIGINT: (0, 1, 2), DOUBLE: (0.5, 3.0), STRING: ("a", "b", "")}
Choice = TypeVar("Choice")


@dataclass(frozen=True)
class _Timed:
    """A relation whose rows have the time of a tuple of the stream in a column, and how far back that may lie."""

    node: nodes.Node
    time: str
    stream: str
    keep_us: int


@dataclass
class Drawing:
    """Draws nodes; every name that it gives is new, so that plans can be put together freely."""

    random: Random
    retracts: bool = True
    """Whether windows and operators may be drawn that take back what they gave."""
    has_tables: bool = True
    """Whether tables may be drawn, which not everything that runs plans in tests can change."""
    names: int = field(default=0)

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def choose(self, choices: Sequence[Choice]) -> Choice:
        return self.random.choice(choices)

    def some(self, choices: Sequence[Choice], least: int, most: int) -> list[Choice]:
        """A few of the choices, each once."""
        count = self.random.randint(min(least, len(choices)), min(most, len(choices)))
        return self.random.sample(choices, count)

    def one_in(self, times: int) -> bool:
        return self.random.randrange(times) == 0

    def relation(self, depth: int) -> nodes.Node:
        if depth <= 0:
            is_table = self.has_tables and self.retracts and self.one_in(5)
            return self.table() if is_table else self.window()
        operators: list[Callable[[int], nodes.Node]] = [
            lambda depth: self.select(self.relation(depth - 1)),
            lambda depth: self.project(self.relation(depth - 1)),
            lambda depth: self.unnest(self.relation(depth - 1)),
            lambda depth: self.temporal_filter(self.relation(depth - 1)),
            self.distinct,
            self.join,
            self.semi_join,
            lambda depth: nodes.Union(*self.alike(depth)),
            lambda depth: nodes.Intersect(*self.alike(depth)),
        ]
        if self.has_tables:
            operators.append(self.lookup)
        if self.retracts:
            # Group-by is drawn more often, because it has most kinds.
            negations = [self.anti_join, self.outer_join, lambda depth: nodes.Except(*self.alike(depth))]
            operators += [*negations, *[self.group_by] * 4, *[self.top_n] * 2]
            operators += [lambda depth: self.over(self.relation(depth - 1))] * 2
        return self.choose(operators)(depth)

    def spec(self) -> WindowSpec:
        length, slide = self.random.randint(1, 14), self.random.randint(1, 7)
        offset = self.choose([0, 0, self.random.randint(1, 9)])
        specs: list[WindowSpec] = [
            RangeWindow(length, None, offset),
            RangeWindow(length, slide, offset),
            RangeWindow(length, slide, offset),
        ]
        if self.one_in(4):
            specs = [NowWindow(offset), UnboundedWindow(offset)]
        if self.retracts:
            rows = RowsWindow(self.random.randint(1, 6), self.choose([None, None, 1, 2, 3, 4]))
            if self.one_in(3):
                rows = replace(rows, slide=None, slide_us=slide)
            specs.append(SessionWindow(self.random.randint(1, 5)) if self.one_in(3) else rows)
        return self.choose(specs)

    def stream(self, *, is_timed: bool = False) -> nodes.Node:
        alias = self.name("a")
        fields = [Field(f"{alias}.{f.name}", f.type) for f in COLUMNS]
        if is_timed:
            fields.append(Field(f"{alias}.{nodes.TIME}", BIGINT))
        node: nodes.Node = nodes.StreamScan(self.choose(STREAMS), alias, Schema(tuple(fields)))
        return self.select(node) if self.one_in(4) else node

    def table(self, looked_up_by: str | None = None) -> nodes.Node:
        """A table, or some of its rows and columns; one that tuples of a stream look up if that is given."""
        alias = self.name("t")
        columns = Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in COLUMNS))
        relation, looked_up = TABLES
        node: nodes.Node = (
            nodes.TableScan(relation, alias, columns, retroactive=True)
            if looked_up_by is None
            else nodes.TableScan(looked_up, alias, columns, retroactive=False, stream=looked_up_by)
        )
        if self.one_in(4):
            node = self.select(node)
        if self.one_in(8):
            node = self.unnest(node)
        return self.project(node) if self.one_in(6) else node

    def timed(self, depth: int) -> _Timed:
        """A relation whose rows have the time of one tuple."""
        if depth <= 0:
            return self.timed_window()
        below = self.timed(depth - 1)
        node, time = below.node, below.time
        match self.random.randrange(6 if self.retracts else 5):
            case 0:
                node = self.unnest(node) if self.one_in(3) else self.select(node)
                return replace(below, node=node)
            case 1:
                kept = self.name("p")
                columns = [
                    (self.name("p"), Column(node.schema[n].type, n))
                    for n in self.some(node.schema.names, 1, 3)
                ]
                projected = nodes.Project(node, (*columns, (kept, Column(BIGINT, time))))
                return replace(below, node=projected, time=kept)
            case 2:
                return replace(below, node=self.looking_up(below))
            case 3:
                other = self.relation(depth - 2)
                residual = self.residual(node, other)
                return replace(below, node=nodes.Join(node, other, *self.keys(node, other), residual))
            case 4:
                other = self.relation(depth - 2)
                return replace(below, node=nodes.SemiJoin(node, other, *self.keys(node, other)))
        other = self.relation(depth - 2)
        return replace(below, node=nodes.AntiJoin(node, other, *self.keys(node, other)))

    def timed_window(self) -> _Timed:
        stream = self.stream(is_timed=True)
        scan = next(node for node in walk(stream) if isinstance(node, nodes.StreamScan))
        time = f"{scan.alias}.{nodes.TIME}"
        if self.one_in(5):
            return _Timed(stream, time, scan.stream, FOREVER)
        spec = self.spec()
        if not spec.is_timed and self.one_in(3):
            stream = self.looking_up(_Timed(stream, time, scan.stream, FOREVER))
        retained = spec.retained()
        return _Timed(
            nodes.Window(stream, spec), time, scan.stream, FOREVER if retained is None else retained
        )

    def looking_up(self, left: _Timed) -> nodes.Node:
        """Rows joined with a table, each as it was at its time, or those of them that have a match, or none."""
        right = self.table(left.stream)
        keys, residual = self.keys(left.node, right), self.residual(left.node, right)
        how = {"time": left.time, "keep_us": left.keep_us}
        match self.random.randrange(5):
            case 0 | 1:
                return nodes.Join(left.node, right, *keys, residual, **how)
            case 2:
                return nodes.SemiJoin(left.node, right, *keys, residual, **how)
            case 3:
                return nodes.OuterJoin(left.node, right, *keys, residual, **how)
        null_aware = len(keys[0]) == 1 and self.one_in(2)
        if null_aware and residual is not None:
            residual = self.predicate(right)
        return nodes.AntiJoin(left.node, right, *keys, residual, **how, null_aware=null_aware)

    def lookup(self, depth: int) -> nodes.Node:
        return self.looking_up(self.timed(depth - 1))

    def window(self) -> nodes.Node:
        node = self.stream()
        if self.one_in(6):
            node = nodes.Union(self.narrow(node), self.narrow(self.stream()))
        spec = self.spec()
        if spec.is_timed and self.one_in(6):
            node = self.unnest(node)
        return nodes.Window(node, self.partitioned(spec, node))

    def partitioned(self, spec: WindowSpec, stream: nodes.Node) -> WindowSpec:
        """The window, or where it can be the same of each partition."""
        if isinstance(spec, (RowsWindow, SessionWindow)) and self.one_in(2):
            return replace(spec, partition_by=tuple(self.some(stream.schema.names, 1, 2)))
        return spec

    def with_tables(self) -> nodes.Node:
        """A relation with tables on the right, on the left or on either side of an operator."""
        left, right = self.lookup(2), self.table()
        if self.one_in(3):
            left = self.relation(1)
        keys, residual = self.keys(left, right), self.residual(left, right)
        match self.random.randrange(9):
            case 0 | 1:
                return nodes.Join(left, right, *keys, residual)
            case 7:
                sides = (left, right, *keys) if self.one_in(2) else (right, left, *reversed(keys))
                return nodes.OuterJoin(*sides, residual, is_full=self.one_in(3))
            case 2:
                return nodes.SemiJoin(left, right, *keys, residual)
            case 3:
                null_aware = len(keys[0]) == 1 and self.one_in(2)
                return nodes.AntiJoin(left, right, *keys, residual, null_aware=null_aware)
            case 4:
                return nodes.SemiJoin(right, left, *reversed(keys), residual)
            case 5:
                return nodes.Union(self.narrow(left), self.narrow(right))
            case 6:
                return nodes.Except(self.narrow(right), self.narrow(left))
        return self.grouped(nodes.Join(left, right, *keys, residual))

    def column(self, node: nodes.Node, type_: Type) -> Column | None:
        names = [f.name for f in node.schema if f.type == type_ and not f.name.endswith(nodes.TIME)]
        return Column(type_, self.choose(names)) if names else None

    def predicate(self, *inputs: nodes.Node) -> Expression:
        type_ = self.choose(list(COMPARABLE))
        found = [c for c in (self.column(node, type_) for node in inputs) if c is not None]
        if not found:
            return Call(BOOLEAN, "is_not_null", (Literal(BIGINT, 1),))
        if len(found) == 2 and self.one_in(2):
            return Call(BOOLEAN, self.choose(["lt", "ge", "ne"]), tuple(found))
        test = self.choose(
            ["eq", "ne", "lt", "ge", "is_null", "is_not_null", "is_distinct", "is_not_distinct"]
        )
        if test.endswith("_null"):
            return Call(BOOLEAN, test, (found[0],))
        return Call(BOOLEAN, test, (found[0], Literal(type_, self.choose(COMPARABLE[type_]))))

    def select(self, child: nodes.Node) -> nodes.Node:
        return nodes.Select(child, self.predicate(child))

    def temporal_filter(self, child: nodes.Node) -> nodes.Node:
        """The rows as long as a time that they have is before, at or after the instant of the answer."""
        values = [Literal(TIMESTAMP, to_datetime(self.random.randint(-3, 40))) for _ in range(2)]
        if self.one_in(4):
            values[1] = Literal(TIMESTAMP, None)
        time = Case(TIMESTAMP, ((self.predicate(child), values[0]),), values[1])
        op = self.choose(["lt", "le", "gt", "ge", "gt", "ge", "eq"])
        return nodes.TemporalFilter(child, time, op, self.random.randint(-6, 6), slides_of(child))

    def project(self, child: nodes.Node) -> nodes.Node:
        columns: list[tuple[str, Expression]] = [
            (self.name("p"), Column(child.schema[name].type, name))
            for name in self.some(child.schema.names, 1, 3)
        ]
        number = self.column(child, BIGINT)
        if number is not None and self.one_in(2):
            columns.append((self.name("p"), Call(BIGINT, "add", (number, Literal(BIGINT, 1)))))
        return nodes.Project(child, tuple(columns))

    def unnest(self, child: nodes.Node) -> nodes.Node:
        """The rows once for each item of a list that they have, or of one that is made of a column."""
        lists = [f for f in child.schema if f.type.item is not None]
        if lists:
            field = self.choose(lists)
            return nodes.Unnest(child, Column(field.type, field.name), self.name("u"))
        number = self.column(child, BIGINT) or Literal(BIGINT, 1)
        items: tuple[Expression, ...] = (number, Literal(BIGINT, self.choose(COMPARABLE[BIGINT])))
        made = Call(list_of(BIGINT), "array", items[: self.random.randint(1, 2)])
        few = Case(made.type, ((self.predicate(child), made),), Literal(made.type, None))
        return nodes.Unnest(child, self.choose([made, few]), self.name("u"))

    def narrow(self, child: nodes.Node) -> nodes.Node:
        """Two columns, a BIGINT and a STRING, whatever the child has."""
        number, text = self.column(child, BIGINT), self.column(child, STRING)
        columns = (
            (self.name("n"), number or Literal(BIGINT, 1)),
            (self.name("n"), text or Literal(STRING, "a")),
        )
        return nodes.Project(child, columns)

    def output_stream(self, depth: int) -> nodes.Node:
        """What enters, leaves or is a relation, as a stream."""
        relation = self.relation(depth)
        if len(slides_of(relation)) == 1 and self.one_in(3):
            return self.choose([nodes.Istream, nodes.Rstream])(relation, restore=True)
        return self.choose([nodes.Istream, nodes.Dstream, nodes.Rstream])(relation)

    def output(self, depth: int) -> nodes.Node:
        """An output stream, the youngest results, or a relation over a stream that a query gives."""
        kind = self.random.randrange(6)
        if kind < 2:
            return self.output_stream(depth)
        if kind == 2:
            return nodes.Wstream(self.relation(depth), self.choose([RangeWindow(5), RowsWindow(3)]))
        if kind == 3:
            return self.internal(depth)
        stream = self.output_stream(depth) if kind == 4 else nodes.Istream(self.internal(depth))
        window = nodes.Window(stream, self.partitioned(self.spec(), stream))
        above: list[Callable[[nodes.Node], nodes.Node]] = [
            lambda node: node,
            self.select,
            self.grouped,
            nodes.Distinct,
            lambda node: nodes.Istream(self.grouped(node)),
        ]
        return self.choose(above)(window)

    def internal(self, depth: int) -> nodes.Node:
        """Joins and selections over INTERNAL windows of time, and groups of them."""
        if depth > 0 and self.one_in(4):
            return self.grouped(self.of_internal_windows(depth - 1))
        return self.of_internal_windows(depth)

    def of_internal_windows(self, depth: int) -> nodes.Node:
        if depth <= 0:
            length, slide = self.random.randint(1, 14), self.random.randint(1, 7)
            specs = [
                RangeWindow(length, internal=True),
                RangeWindow(length, slide, internal=True),
                NowWindow(internal=True),
            ]
            return nodes.Window(self.stream(), self.choose(specs))
        if self.one_in(4):
            return self.select(self.of_internal_windows(depth - 1))
        if self.has_tables and self.one_in(4):
            stream = self.stream(is_timed=True)
            scan = next(node for node in walk(stream) if isinstance(node, nodes.StreamScan))
            window = nodes.Window(stream, RangeWindow(self.random.randint(1, 14), internal=True))
            return self.looking_up(_Timed(window, f"{scan.alias}.{nodes.TIME}", scan.stream, 14))
        left, right = self.of_internal_windows(depth - 1), self.of_internal_windows(depth - 2)
        return nodes.Join(left, right, *self.keys(left, right), self.residual(left, right))

    def values(self) -> nodes.Node:
        """Some constants."""
        types = [self.choose(list(COMPARABLE)) for _ in range(self.random.randint(1, 3))]
        columns = Schema(tuple(Field(self.name("c"), type_) for type_ in types))
        count = self.random.randint(1, 3)
        rows = [tuple(self.choose([*COMPARABLE[type_], None]) for type_ in types) for _ in range(count)]
        node: nodes.Node = nodes.Values(columns, tuple(rows))
        return self.select(node) if self.one_in(4) else node

    def other_side(self, depth: int) -> nodes.Node:
        """What stands beside a relation: another one, or constants."""
        return self.values() if self.one_in(12) else self.relation(depth)

    def alike(self, depth: int) -> tuple[nodes.Node, nodes.Node]:
        sides = self.narrow(self.relation(depth - 1)), self.narrow(self.other_side(depth - 2))
        return sides if self.one_in(2) else sides[::-1]

    def distinct(self, depth: int) -> nodes.Node:
        child = self.relation(depth - 1)
        return nodes.Distinct(self.narrow(child) if self.one_in(2) else child)

    def keys(self, left: nodes.Node, right: nodes.Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
        pairs = [
            (self.column(left, type_), self.column(right, type_))
            for type_ in self.some([BIGINT, STRING], 1, 2)
        ]
        both = [(a.name, b.name) for a, b in pairs if a is not None and b is not None]
        return tuple(a for a, _ in both), tuple(b for _, b in both)

    def sides(self, depth: int) -> tuple[nodes.Node, nodes.Node]:
        left, right = self.relation(depth - 1), self.other_side(depth - 2)
        return (left, right) if self.one_in(2) else (right, left)

    def residual(self, left: nodes.Node, right: nodes.Node) -> Expression | None:
        return self.predicate(left, right) if self.one_in(3) else None

    def join(self, depth: int) -> nodes.Node:
        left, right = self.sides(depth)
        return nodes.Join(left, right, *self.keys(left, right), self.residual(left, right))

    def semi_join(self, depth: int) -> nodes.Node:
        left, right = self.sides(depth)
        return nodes.SemiJoin(left, right, *self.keys(left, right), self.residual(left, right))

    def anti_join(self, depth: int) -> nodes.Node:
        left, right = self.sides(depth)
        left_keys, right_keys = self.keys(left, right)
        null_aware = len(left_keys) == 1 and self.one_in(2)
        residual = self.residual(left, right)
        return nodes.AntiJoin(left, right, left_keys, right_keys, residual, null_aware=null_aware)

    def top_n(self, depth: int) -> nodes.Node:
        return self.first_rows(self.relation(depth - 1))

    def first_rows(self, child: nodes.Node) -> nodes.Node:
        """Some rows of an order, of all rows or of each partition."""
        if any(f.type.item is not None for f in child.schema):
            child = self.narrow(child)
        names = child.schema.names
        order = [SortKey(name, self.one_in(2), self.one_in(3)) for name in self.some(names, 0, 2)]
        limit, offset = self.random.randint(0, 4), self.choose([0, 0, 0, 1, 3])
        partition_by = self.some(names, 1, 2) if self.one_in(2) else ()
        return nodes.TopN(child, tuple(order), limit, offset, tuple(partition_by))

    def outer_join(self, depth: int) -> nodes.Node:
        left, right = self.sides(depth)
        keys, residual = self.keys(left, right), self.residual(left, right)
        return nodes.OuterJoin(left, right, *keys, residual, is_full=self.one_in(3))

    def group_by(self, depth: int) -> nodes.Node:
        return self.grouped(self.relation(depth - 1))

    def grouped(self, child: nodes.Node) -> nodes.Node:
        keys = [key for key in self.some(child.schema.names, 0, 2) if child.schema[key].type.item is None]
        drawn = [self.aggregate(child) for _ in range(self.random.randint(0, 2))]
        aggregates = [Aggregate(self.name("g"), "count", None, BIGINT), *(a for a in drawn if a is not None)]
        return nodes.GroupBy(child, tuple(keys), tuple(aggregates))

    def over(self, child: nodes.Node) -> nodes.Node:
        """The rows of a relation with functions over their partitions."""
        names = [f.name for f in child.schema if f.type.item is None]
        by = tuple(self.some(names, 0, 2)) if self.one_in(4) else tuple(self.some(names, 1, 1))
        order = tuple(SortKey(name, self.one_in(2), self.one_in(3)) for name in self.some(names, 0, 2))
        functions = [self.over_function(child) for _ in range(self.random.randint(1, 2))]
        if len(order) == 1 and child.schema[order[0].column].type == BIGINT and self.one_in(2):
            functions.append(OverFunction(self.name("o"), "count", None, BIGINT, frame=self.by_distance()))
        return nodes.Over(child, by, order, tuple(functions))

    def over_function(self, child: nodes.Node) -> OverFunction:
        name = self.name("o")
        if self.one_in(3):
            function = self.choose(PLACES)
            type_ = DOUBLE if function in ("percent_rank", "cume_dist") else BIGINT
            return OverFunction(
                name, function, None, type_, (self.choose([1, 2, 3]),) * (function == "ntile")
            )
        type_ = self.choose([BIGINT, DOUBLE, STRING])
        arg = self.column(child, type_)
        if arg is None:
            return OverFunction(name, "count", None, BIGINT, frame=self.frame())
        match self.random.randrange(3):
            case 0:
                default = self.choose([None, COMPARABLE[type_][0]])
                return OverFunction(
                    name, self.choose(["lag", "lead"]), arg, type_, (self.choose([0, 1, 2]), default)
                )
            case 1:
                picked = self.choose(PICKED)
                number = (self.choose([1, 2]),) * (picked == "nth_value")
                return OverFunction(name, picked, arg, type_, number, self.frame())
        if self.one_in(4):
            share = (self.choose([0, 0.3, 0.5, 1]),)
            return OverFunction(name, "quantile_disc", arg, type_, share, self.frame())
        function = self.choose(["count", "min", "max", *(["sum", "avg"] if type_ != STRING else [])])
        results = {"count": BIGINT, "avg": DOUBLE}
        return OverFunction(name, function, arg, results.get(function, type_), frame=self.frame())

    def frame(self) -> Frame:
        if self.one_in(2):
            return self.choose([WHOLE, UP_TO_PEERS, Frame(by_rows=False, start=0)])
        start = self.choose([None, self.random.randint(-2, 1)])
        end = self.random.randint(-1 if start is None else start, 2)
        return Frame(by_rows=True, start=start, end=self.choose([None, end]))

    def by_distance(self) -> Frame:
        start = self.choose([None, self.random.randint(-2, 1)])
        end = self.random.randint(-1 if start is None else start, 2)
        return Frame(by_rows=False, start=start, end=self.choose([None, end]))

    def aggregate(self, child: nodes.Node) -> Aggregate | None:
        type_ = self.choose([BIGINT, DOUBLE, STRING])
        arg: Expression | None = self.column(child, type_)
        if arg is None:
            return None
        if self.one_in(4):  # FILTER (WHERE …)
            arg = Case(type_, ((self.predicate(child), arg),), Literal(type_, None))
        functions = [
            "count",
            "distinct",
            "min",
            "max",
            "top_k",
            "mode",
            "array_agg",
            "pairs",
            "quantile_disc",
        ]
        if type_ != STRING:
            functions += ["sum", "avg"]
        if type_ == DOUBLE:
            functions += ["median", "quantile", "moment", "moment"]
        if type_ == STRING:
            functions.append("string_agg")
        function = self.choose(functions)
        name = self.name("g")
        match function:
            case "sum" | "avg":
                result = DOUBLE if function == "avg" else type_
                return Aggregate(name, function, arg, result, distinct=self.one_in(3))
            case "moment":
                return self.moment(name, arg, child)
            case "pairs":
                function = self.choose(["min_by", "max_by", "first", "last"])
                return Aggregate(name, function, arg, type_, by=self.ordering(child))
            case "array_agg":
                result = list_of(type_)
                return Aggregate(name, function, arg, result, descending=self.one_in(2), **self.listed(child))
            case "string_agg":
                how = self.listed(child)
                return Aggregate(name, function, arg, STRING, parameters=("-",), **how)
            case "distinct":
                if self.one_in(4):
                    return Aggregate(name, "approx_count_distinct", arg, BIGINT)
                return Aggregate(name, "count", arg, BIGINT, distinct=True)
            case "quantile":
                function = self.choose(["quantile", "approx_quantile"])
                return Aggregate(name, function, arg, DOUBLE, parameters=(self.choose([0, 0.3, 1]),))
            case "quantile_disc":
                return Aggregate(name, function, arg, type_, parameters=(self.choose([0, 0.3, 0.5, 1]),))
            case "top_k":
                function = self.choose(["top_k", "approx_top_k", "top_k_counts"])
                k = (self.choose([1, 2, 3]),)
                if function == "top_k_counts":
                    counted = list_of(struct_of([("value", type_), ("n", BIGINT)]))
                    return Aggregate(name, function, arg, counted, parameters=k)
                weight = self.column(child, BIGINT) if function == "top_k" and self.one_in(2) else None
                return Aggregate(name, function, arg, list_of(type_), parameters=k, by=weight)
        results = {"count": BIGINT, "avg": DOUBLE, "median": DOUBLE}
        return Aggregate(name, function, arg, results.get(function, type_))

    def listed(self, child: nodes.Node) -> dict[str, Any]:
        """Which values a list has, and in which order."""
        if self.one_in(3):
            return {"distinct": True}
        return {"by": self.ordering(child)} if self.one_in(2) else {}

    def ordering(self, child: nodes.Node) -> Expression:
        """What pairs are ordered by: the time of a tuple where rows have it, or any other column."""
        times = [f.name for f in child.schema if f.name.endswith(nodes.TIME)]
        if times and self.one_in(2):
            return Column(BIGINT, self.choose(times))
        return self.column(child, self.choose([BIGINT, DOUBLE, STRING])) or Literal(BIGINT, 1)

    def moment(self, name: str, arg: Expression, child: nodes.Node) -> Aggregate:
        if self.one_in(2):
            function = self.choose(["var_samp", "var_pop", "stddev_samp", "stddev_pop"])
            return Aggregate(name, function, arg, DOUBLE)
        other = self.column(child, DOUBLE)
        assert other is not None
        return Aggregate(name, self.choose(["covar_samp", "covar_pop", "corr"]), arg, DOUBLE, by=other)


def plans(deepest: int = 3) -> SearchStrategy[nodes.Node]:
    """Plans over streams up to a depth, as a strategy of Hypothesis."""

    def plan(seed: bytes) -> nodes.Node:
        random = Random(seed)
        return Drawing(random, has_tables=False).relation(random.randint(0, deepest))

    return SEEDS.map(plan)
