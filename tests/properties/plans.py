"""Plans to draw: every operator over every other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from panes.plan import nodes
from panes.plan.expressions import Aggregate, Call, Column, Expression, Literal
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, STRING, Type, list_of
from panes.plan.windows import NowWindow, RangeWindow, RowsWindow, UnboundedWindow, WindowSpec
from tests.properties.streams import COLUMNS, STREAMS

COMPARABLE = {BIGINT: (0, 1, 2), DOUBLE: (0.5, 3.0), STRING: ("a", "b", "")}


@dataclass
class Drawing:
    """Draws nodes; every name that it gives is new, so that plans can be put together freely."""

    draw: st.DrawFn
    windows: st.SearchStrategy[WindowSpec]
    retracts: bool = True
    """Whether operators may be drawn that take back what they gave."""
    names: int = field(default=0)

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def relation(self, depth: int) -> nodes.Node:
        if depth <= 0:
            return self.window()
        choices: list[Callable[[], nodes.Node]] = [
            lambda: self.select(self.relation(depth - 1)),
            lambda: self.project(self.relation(depth - 1)),
            lambda: self.distinct(depth),
            lambda: self.join(depth),
            lambda: self.semi_join(depth),
            lambda: nodes.Union(*self.alike(depth)),
            lambda: nodes.Intersect(*self.alike(depth)),
        ]
        if self.retracts:
            choices += [
                lambda: self.group_by(depth),
                lambda: self.anti_join(depth),
                lambda: nodes.Except(*self.alike(depth)),
            ]
        return self.draw(st.sampled_from(choices))()

    def stream(self) -> nodes.Node:
        alias = self.name("a")
        columns = Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in COLUMNS))
        node: nodes.Node = nodes.StreamScan(self.draw(st.sampled_from(STREAMS)), alias, columns)
        return self.select(node) if self.draw(st.integers(0, 3)) == 0 else node

    def window(self) -> nodes.Node:
        node = self.stream()
        if self.draw(st.integers(0, 5)) == 0:
            left, right = self.narrow(node), self.narrow(self.stream())
            node = nodes.Union(left, right)
        spec = self.draw(self.windows)
        if isinstance(spec, RowsWindow) and self.draw(st.booleans()):
            keys = self.draw(st.sets(st.sampled_from(node.schema.names), min_size=1, max_size=2))
            spec = RowsWindow(spec.rows, spec.slide, tuple(sorted(keys)))
        return nodes.Window(node, spec)

    def column(self, node: nodes.Node, type_: Type) -> Column | None:
        names = [f.name for f in node.schema if f.type == type_]
        return Column(type_, self.draw(st.sampled_from(names))) if names else None

    def predicate(self, *inputs: nodes.Node) -> Expression:
        type_ = self.draw(st.sampled_from(list(COMPARABLE)))
        found = [c for c in (self.column(node, type_) for node in inputs) if c is not None]
        if not found:
            return Call(BOOLEAN, "is_not_null", (Literal(BIGINT, 1),))
        if len(found) == 2 and self.draw(st.booleans()):
            return Call(BOOLEAN, self.draw(st.sampled_from(["lt", "ge", "ne"])), tuple(found))
        test = self.draw(st.sampled_from(["eq", "ne", "lt", "ge", "is_null", "is_not_null"]))
        if test.startswith("is_"):
            return Call(BOOLEAN, test, (found[0],))
        return Call(BOOLEAN, test, (found[0], Literal(type_, self.draw(st.sampled_from(COMPARABLE[type_])))))

    def select(self, child: nodes.Node) -> nodes.Node:
        return nodes.Select(child, self.predicate(child))

    def project(self, child: nodes.Node) -> nodes.Node:
        kept = self.draw(st.lists(st.sampled_from(child.schema.names), min_size=1, max_size=3, unique=True))
        columns: list[tuple[str, Expression]] = [
            (self.name("p"), Column(child.schema[name].type, name)) for name in kept
        ]
        number = self.column(child, BIGINT)
        if number is not None and self.draw(st.booleans()):
            columns.append((self.name("p"), Call(BIGINT, "add", (number, Literal(BIGINT, 1)))))
        return nodes.Project(child, tuple(columns))

    def narrow(self, child: nodes.Node) -> nodes.Node:
        """Two columns, a BIGINT and a STRING, whatever the child has."""
        number, text = self.column(child, BIGINT), self.column(child, STRING)
        columns = (
            (self.name("n"), number or Literal(BIGINT, 1)),
            (self.name("n"), text or Literal(STRING, "a")),
        )
        return nodes.Project(child, columns)

    def alike(self, depth: int) -> tuple[nodes.Node, nodes.Node]:
        return self.narrow(self.relation(depth - 1)), self.narrow(self.relation(depth - 2))

    def distinct(self, depth: int) -> nodes.Node:
        child = self.relation(depth - 1)
        return nodes.Distinct(self.narrow(child) if self.draw(st.booleans()) else child)

    def keys(
        self, left: nodes.Node, right: nodes.Node, least: int
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        wanted = self.draw(
            st.lists(st.sampled_from([BIGINT, STRING]), min_size=least, max_size=2, unique=True)
        )
        pairs = [(self.column(left, type_), self.column(right, type_)) for type_ in wanted]
        both = [(a.name, b.name) for a, b in pairs if a is not None and b is not None]
        return tuple(a for a, _ in both), tuple(b for _, b in both)

    def sides(self, depth: int) -> tuple[nodes.Node, nodes.Node]:
        left, right = self.relation(depth - 1), self.relation(depth - 2)
        return (left, right) if self.draw(st.booleans()) else (right, left)

    def residual(self, left: nodes.Node, right: nodes.Node) -> Expression | None:
        return self.predicate(left, right) if self.draw(st.integers(0, 2)) == 0 else None

    def join(self, depth: int) -> nodes.Node:
        left, right = self.sides(depth)
        return nodes.Join(left, right, *self.keys(left, right, 1), self.residual(left, right))

    def semi_join(self, depth: int) -> nodes.Node:
        left, right = self.sides(depth)
        return nodes.SemiJoin(left, right, *self.keys(left, right, 1), self.residual(left, right))

    def anti_join(self, depth: int) -> nodes.Node:
        left, right = self.sides(depth)
        left_keys, right_keys = self.keys(left, right, 1)
        null_aware = len(left_keys) == 1 and self.draw(st.booleans())
        residual = None if null_aware else self.residual(left, right)
        return nodes.AntiJoin(left, right, left_keys, right_keys, residual, null_aware)

    def group_by(self, depth: int) -> nodes.Node:
        child = self.relation(depth - 1)
        keys = self.draw(st.lists(st.sampled_from(child.schema.names), max_size=2, unique=True))
        keys = [key for key in keys if child.schema[key].type.item is None]
        drawn = [self.aggregate(child) for _ in range(self.draw(st.integers(0, 2)))]
        aggregates = [Aggregate(self.name("g"), "count", None, BIGINT), *(a for a in drawn if a is not None)]
        return nodes.GroupBy(child, tuple(keys), tuple(aggregates))

    def aggregate(self, child: nodes.Node) -> Aggregate | None:
        type_ = self.draw(st.sampled_from([BIGINT, DOUBLE, STRING]))
        arg = self.column(child, type_)
        if arg is None:
            return None
        functions = ["count", "distinct", "min", "max", "top_k"]
        if type_ != STRING:
            functions += ["sum", "avg"]
        if type_ == DOUBLE:
            functions += ["median", "quantile"]
        function = self.draw(st.sampled_from(functions))
        name = self.name("g")
        match function:
            case "distinct":
                return Aggregate(name, "count", arg, BIGINT, distinct=True)
            case "quantile":
                fraction = self.draw(st.sampled_from([0, 0.3, 1]))
                return Aggregate(name, function, arg, DOUBLE, parameters=(fraction,))
            case "top_k":
                k = self.draw(st.integers(1, 3))
                return Aggregate(name, function, arg, list_of(type_), parameters=(k,))
        results = {"count": BIGINT, "avg": DOUBLE, "median": DOUBLE}
        return Aggregate(name, function, arg, results.get(function, type_))


def windows() -> st.SearchStrategy[WindowSpec]:
    return st.one_of(
        st.builds(RangeWindow, st.integers(1, 14)),
        st.builds(RangeWindow, st.integers(1, 14), st.integers(1, 7)),
        st.builds(RowsWindow, st.integers(1, 6), st.one_of(st.none(), st.integers(1, 4))),
        st.sampled_from([NowWindow(), UnboundedWindow()]),
    )


def time_windows() -> st.SearchStrategy[WindowSpec]:
    """Windows whose rows leave at known times."""
    return st.one_of(
        st.builds(RangeWindow, st.integers(1, 14)),
        st.builds(RangeWindow, st.integers(1, 14), st.integers(1, 7)),
        st.sampled_from([NowWindow(), UnboundedWindow()]),
    )


@st.composite
def plans(draw: st.DrawFn, deepest: int = 3) -> nodes.Node:
    return Drawing(draw, windows()).relation(draw(st.integers(0, deepest)))


@st.composite
def monotone_plans(draw: st.DrawFn, deepest: int = 3) -> nodes.Node:
    """Plans in which every row leaves at a time that is known when it comes."""
    return Drawing(draw, time_windows(), retracts=False).relation(draw(st.integers(0, deepest)))
