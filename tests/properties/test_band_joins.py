"""Drawn joins by inequalities give the answers of SQL, and look at fewer pairs than there are."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from panes.operators import join
from panes.plan.band import Band, band_of
from panes.plan.expressions import Call, Column, Expression, Literal, conjunction
from panes.plan.nodes import Join, Node, SemiJoin, StreamScan, Window
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec
from tests.properties.running import DIRECT, NT, UPA, Way, check_answers
from tests.properties.streams import COLUMNS, Arrivals


def window(random: Random, stream: str, alias: str, *, counted: bool) -> Node:
    columns = Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in COLUMNS))
    specs: list[WindowSpec] = [RangeWindow(random.randint(3, 14)), RangeWindow(9, 3)]
    specs += [RowsWindow(4)] * counted
    return Window(StreamScan(stream, alias, columns), random.choice(specs))


def condition(random: Random) -> Expression:
    """An inequality or a band, and at times something else to test."""
    k, v = ((Column(t, f"a.{n}"), Column(t, f"b.{n}")) for t, n in ((BIGINT, "k"), (DOUBLE, "v")))
    w = [Column(COLUMNS["w"].type, f"{alias}.w") for alias in "ab"]
    compared = random.choice(["lt", "le", "gt", "ge"])
    found = [
        Call(BOOLEAN, compared, random.choice([k, v, tuple(w), k[::-1]])),
        Call(BOOLEAN, "le", (Call(DOUBLE, "abs", (Call(DOUBLE, "subtract", v),)), Literal(DOUBLE, 1.75))),
        Call(BOOLEAN, compared, (Call(BIGINT, "subtract", k), Literal(BIGINT, 1))),
        Call(BOOLEAN, compared, (Call(BIGINT, "add", (k[0], Literal(BIGINT, 1))), k[1])),
    ]
    more = [Call(BOOLEAN, "ne", tuple(w))] * (random.randrange(3) == 0)
    together = conjunction((random.choice(found), *more))
    assert together is not None
    return together


def drawn(seed: int, *, counted: bool = True) -> tuple[Node, Arrivals]:
    random = Random(seed)
    left, right = window(random, "s", "a", counted=counted), window(random, "t", "b", counted=counted)
    kind = SemiJoin if seed % 4 == 0 else Join
    return kind(left, right, (), (), condition(random)), Arrivals.drawn(random, 40, 5)


def check(seed: int, way: Way = UPA) -> None:
    plan, arrivals = drawn(seed, counted=way is not DIRECT)
    check_answers(plan, arrivals, way.lower(plan))


@pytest.mark.parametrize("way", [UPA, NT, DIRECT], ids=lambda way: way.strategy)
def test_a_join_by_ranges_gives_the_answers_of_sql(way: Way) -> None:
    for seed in range(10):
        check(seed, way)


class _WronglyFlipped(Band):
    """A band of which the other side has the ends as they are."""

    def flipped(self) -> Band:
        return Band(self.right, self.left, self.low, self.high, self.size)


def test_a_band_with_its_ends_on_the_wrong_side_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: Any) -> Band | None:
        found = band_of(*arguments)
        return found and _WronglyFlipped(found.left, found.right, found.low, found.high, found.size)

    monkeypatch.setattr(join, "band_of", wrong)
    assert any(_fails(seed) for seed in range(12))


def _fails(seed: int) -> bool:
    try:
        check(seed)
    except (AssertionError, ValueError):
        return True
    return False
