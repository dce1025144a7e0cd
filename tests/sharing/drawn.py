"""Tuples and predicates to draw: ties with constants, NULLs, NaN, both zeros, texts, and what is not indexed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings

from panes.delta.delta import TS
from panes.plan.expressions import Call, Cast, Column, Expression, Literal, conjunction
from panes.plan.nodes import Matched, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type
from tests.properties.streams import SEEDS

NAN = float("nan")
VALUES: dict[str, tuple[Type, Sequence[Any]]] = {
    "i": (INT, (-(2**31), -1, 0, 1, 2, 3, 5, 2**31 - 1)),
    "k": (BIGINT, (-(2**63), -7, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**63 - 1)),
    "v": (DOUBLE, (-1.5, -0.0, 0.0, 1.0, 2.5, 1e300, float("inf"), NAN)),
    "w": (STRING, ("", "a", "ab", "b", "B", "é", "z")),
    "t": (TIMESTAMP, tuple(datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3))),
    "d": (DATE, (date(1969, 12, 31), date(1970, 1, 1), date(2024, 1, 1))),
    "f": (BOOLEAN, (False, True)),
}
SCHEMA = Schema.of([(f"s.{name}", type_) for name, (type_, _) in VALUES.items()])
SCAN = StreamScan("s", "s", SCHEMA)
MATCHED = Matched(SCAN)


def drawn(cases: int) -> Callable[[Callable[[Random], None]], Callable[[], None]]:
    """Runs a check so many times, each time with another source of chance."""

    def decorate(check: Callable[[Random], None]) -> Callable[[], None]:
        @settings(
            max_examples=cases,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(SEEDS)
        def draws(seed: bytes) -> None:
            check(Random(seed))

        def test() -> None:
            draws()

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


def rows(random: Random, count: int, *, since: int = 0, clock: int = 100) -> pa.Table:
    """Tuples of the stream in the order of their time, as they come: without the alias."""
    columns = {
        name: pa.array([_or_null(random, random.choice(values)) for _ in range(count)], type_.arrow)
        for name, (type_, values) in VALUES.items()
    }
    ts = sorted(random.randint(since + 1, clock) for _ in range(count))
    return pa.table(columns | {TS: pa.array(ts, pa.int64())})


def expression(random: Random) -> Expression | None:
    """What a query asks of a tuple; None: nothing."""
    return conjunction(tuple(_part(random) for _ in range(random.choice((0, 1, 1, 2, 3, 4)))))


def _part(random: Random) -> Expression:
    name = random.choice(list(VALUES))
    type_, values = VALUES[name]
    column = Column(type_, f"s.{name}")
    kind = random.random()
    if kind < 0.55:
        op = random.choice(("eq", "ne", "lt", "le", "gt", "ge"))
        literal = Literal(type_, _or_null(random, random.choice(values)))
        return _call(op, *random.choice(((column, literal), (literal, column))))
    if kind < 0.7:
        options = [_or_null(random, random.choice(values)) for _ in range(random.randint(1, 3))]
        return _call("in", column, *(Literal(type_, option) for option in options))
    if kind < 0.8:
        return _call(random.choice(("is_null", "is_not_null")), column)
    if kind < 0.85:
        wide = Cast(DOUBLE, Column(INT, "s.i"))
        return _call(random.choice(("lt", "ge")), wide, Literal(DOUBLE, random.choice((0.5, 2.0))))
    return _residual(random)


def _residual(random: Random) -> Expression:
    i, k = Column(INT, "s.i"), Column(BIGINT, "s.k")
    few = Literal(BIGINT, random.choice((0, 1, 2)))
    return random.choice(
        (
            _call("lt", Cast(BIGINT, i), k),
            _call("gt", Call(BIGINT, "modulo", (k, Literal(BIGINT, 3))), few),
            _call("or", _call("eq", k, few), _call("is_null", Column(STRING, "s.w"))),
            _call("like", Column(STRING, "s.w"), Literal(STRING, random.choice(("a%", "%b")))),
            _call("not", _call("ge", Column(DOUBLE, "s.v"), Literal(DOUBLE, random.choice((0.0, 1.0))))),
            Column(BOOLEAN, "s.f"),
            Literal(BOOLEAN, random.choice((True, True, False, None))),
        )
    )


def _call(function: str, *args: Expression) -> Expression:
    return Call(BOOLEAN, function, args)


def _or_null(random: Random, value: Any) -> Any:
    return None if random.random() < 0.08 else value
