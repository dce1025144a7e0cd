"""Joins to draw that share their streams: windows, constants of selections and of residuals, and projections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from panes.plan.expressions import Call, Column, Expression, Literal, conjunction
from panes.plan.join_keys import with_keys
from panes.plan.nodes import Distinct, Join, Node, Project, Select, StreamScan, Window
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, STRING, Type
from panes.plan.windows import BeginEndWindow, NowWindow, RangeWindow, UnboundedWindow, WindowSpec
from tests.properties.streams import COLUMNS

WINDOWS: tuple[WindowSpec, ...] = (
    RangeWindow(4),
    RangeWindow(9),
    RangeWindow(20),
    RangeWindow(6, None, 5),
    NowWindow(),
    NowWindow(4),
    UnboundedWindow(),
    UnboundedWindow(7),
    BeginEndWindow(-12, True, 0, True),
    BeginEndWindow(-15, True, -4, True),
    BeginEndWindow(7, False, 0, True),
    BeginEndWindow(7, False, -3, True),
    BeginEndWindow(-30, True, 21, False),
)
SLIDING: tuple[WindowSpec, ...] = (
    RangeWindow(3, 5),
    RangeWindow(12, 5),
    RangeWindow(17, 5),
    RangeWindow(9, 5, 4),
)
SHORT: tuple[WindowSpec, ...] = (
    RangeWindow(3),
    RangeWindow(6),
    NowWindow(),
    BeginEndWindow(-5, True, 0, True),
)
_TYPES: dict[str, Type] = {"k": BIGINT, "v": DOUBLE, "w": STRING}


@dataclass(frozen=True)
class Joined:
    """The part of a join that all queries of a case have in common."""

    streams: tuple[str, str]
    kind: str
    """By keys, by computed keys, or by a comparison."""

    @classmethod
    def drawn(cls, random: Random) -> Joined:
        streams = random.choice((("s", "t"), ("s", "t"), ("t", "s"), ("s", "s")))
        return cls(streams, random.choice(("keys", "keys", "two keys", "computed", "compared")))

    def query(self, random: Random, windows: Sequence[WindowSpec] | None = None) -> Node:
        """A query of this join."""
        if windows is None:
            windows = random.choice((WINDOWS, WINDOWS, SLIDING, SHORT))
        names = random.sample(("a", "b", "left", "right"), 2)
        spec = [random.choice(windows) for _ in names]
        if random.random() < 0.4:
            spec[1] = spec[0]
        left, right = (
            self._side(random, stream, name, window)
            for stream, name, window in zip(self.streams, names, spec, strict=True)
        )
        plan = self._join(random, left, right, *names)
        columns = [(f"{name}.{column}", type_) for name in names for column, type_ in _TYPES.items()]
        shown = random.sample(columns, random.randint(1, 4))
        plan = Project(plan, tuple((f"c{n}", Column(type_, name)) for n, (name, type_) in enumerate(shown)))
        return Distinct(plan) if random.random() < 0.3 else plan

    def _side(self, random: Random, stream: str, name: str, window: WindowSpec) -> Node:
        scan = StreamScan(stream, name, Schema(tuple(Field(f"{name}.{f.name}", f.type) for f in COLUMNS)))
        asked = random.choice(
            (
                None,
                call("gt", column(name, "v"), Literal(DOUBLE, random.choice((-2.0, 0.0, 0.5)))),
                call("le", column(name, "v"), Literal(DOUBLE, random.choice((0.5, 1.0)))),
                call("eq", column(name, "w"), Literal(STRING, random.choice(("a", "b", "")))),
                call("ne", column(name, "k"), Literal(BIGINT, random.choice((0, 1, 2)))),
                call("is_null", column(name, "w")),
            )
        )
        if asked is None:
            return Window(scan, window)
        return Window(Select(scan, asked), window) if random.random() < 0.7 else Select(
            Window(scan, window), asked
        )  # fmt: skip

    def _join(self, random: Random, left: Node, right: Node, a: str, b: str) -> Node:
        pairs: list[tuple[Expression, Expression]] = []
        asked: list[Expression] = []
        match self.kind:
            case "keys":
                pairs = [(column(a, "k"), column(b, "k"))]
            case "two keys":
                pairs = [(column(a, "w"), column(b, "w")), (column(a, "k"), column(b, "k"))]
            case "computed":
                more = Call(BIGINT, "add", (column(b, "k"), Literal(BIGINT, 1)))
                pairs = [(column(a, "k"), more)]
            case _:
                asked = [call("lt", column(a, "k"), column(b, "k"))]
        if random.random() < 0.5:
            both = Call(DOUBLE, "add", (column(a, "v"), column(b, "v")))
            constant = Literal(DOUBLE, random.choice((-1.0, 0.5, 1.0, 3.0)))
            asked.append(call(random.choice(("gt", "le")), both, constant))
        if random.random() < 0.2:
            asked.append(call("ne", column(a, "w"), column(b, "w")))
        left, right, left_keys, right_keys = with_keys(left, right, pairs)
        if random.random() < 0.5:
            return Join(left, right, left_keys, right_keys, conjunction(tuple(asked)))
        plan: Node = Join(left, right, left_keys, right_keys)
        return Select(plan, whole) if (whole := conjunction(tuple(asked))) is not None else plan


def column(name: str, attribute: str) -> Column:
    return Column(_TYPES[attribute], f"{name}.{attribute}")


def call(function: str, *args: Expression) -> Call:
    return Call(BOOLEAN, function, args)
