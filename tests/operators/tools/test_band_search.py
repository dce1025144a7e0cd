"""The rows of a table in a band around others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import EXP
from panes.delta.evaluate import mask_of
from panes.operators.tools import band_search
from panes.operators.tools.band_search import BandSearch
from panes.plan.band import band_of
from panes.plan.expressions import Call, Column, Expression, Literal, conjunction
from panes.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INTERVAL, STRING, TIMESTAMP, Type, decimal
from panes.state.buffers.chunk import Chunk

MOST = 2**63 - 1
NAN, INF = float("nan"), float("inf")
DECIMAL = decimal(38, 3)
VALUES: dict[Type, list[Any]] = {
    BIGINT: [None, -MOST - 1, -MOST, -3, -1, 0, 0, 1, 2, 5, MOST - 1, MOST],
    DOUBLE: [None, NAN, INF, -INF, 0.0, -0.0, 0.1, 0.2, 0.3, 1.0, 1e16, 1e16 + 2, -1e300, 5e-324],
    FLOAT: [None, NAN, INF, 0.0, 0.1, 0.2, 0.3, 16_777_216.0, 3.4e38],
    STRING: [None, "", "a", "ab", "b", "ä", "Z", "a"],
    BOOLEAN: [None, True, False],
    DATE: [None, date(2026, 1, 1), date(1969, 12, 31), date(2026, 1, 2)],
    TIMESTAMP: [None, *(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=s) for s in (0, 0, 1, 5, 7))],
    DECIMAL: [
        None,
        Decimal("0.100"),
        Decimal("0.2"),
        Decimal("-7"),
        Decimal(10) ** 30,
        Decimal(10) ** 30 + 1,
    ],
}
SHIFTS: dict[Type, list[Literal]] = {
    BIGINT: [Literal(BIGINT, value) for value in (0, 2, -3, MOST)],
    DOUBLE: [Literal(DOUBLE, value) for value in (0.0, 0.1, 0.2, 1e16)],
    FLOAT: [Literal(FLOAT, 0.1)],
    TIMESTAMP: [Literal(INTERVAL, timedelta(seconds=5))],
    DECIMAL: [Literal(DECIMAL, Decimal("0.1"))],
}


def comparison(random: Random, type_: Type) -> Expression:
    """A comparison of a column of the left with one of the right, at times with a constant."""
    sides: list[Expression] = [Column(type_, "l"), Column(type_, "r")]
    random.shuffle(sides)
    function = random.choice(["lt", "le", "gt", "ge"])
    shift = random.choice(SHIFTS.get(type_, [None]))
    one, other = sides
    if shift is None or random.randrange(3) == 0:
        return Call(BOOLEAN, function, (one, other))
    far = INTERVAL if type_ is TIMESTAMP else type_
    if random.randrange(2) and type_ is not DECIMAL:
        difference: Expression = Call(far, "subtract", (one, other))
        if type_ is not TIMESTAMP and random.randrange(2):
            difference = Call(far, "abs", (difference,))
        return Call(BOOLEAN, function, (difference, shift))
    return Call(BOOLEAN, function, (Call(type_, random.choice(["add", "subtract"]), (one, shift)), other))


def tables(random: Random, type_: Type) -> tuple[pa.Table, pa.Table]:
    left, right = (
        pa.table({name: pa.array(random.choices(VALUES[type_], k=random.randint(0, 14)), type_.arrow)})
        for name in "lr"
    )
    return left, right.append_column(EXP, pa.array(np.arange(right.num_rows)))


def check(seed: int, type_: Type) -> int:
    """All pairs that pass are among those that are found, each once; gives how many are not looked at."""
    random = Random(seed)
    condition = conjunction(tuple(comparison(random, type_) for _ in range(random.choice((1, 1, 2)))))
    band = band_of(condition, {"l"}, {"r"})
    if band is None:
        return 0
    assert condition is not None
    left, right = tables(random, type_)
    at, stored_at = BandSearch(band).in_table(left, right)
    found = list(zip(at.tolist(), stored_at.tolist(), strict=True))
    if right.num_rows:
        again = BandSearch(band).in_chunk(left, Chunk.of(right))
        assert [list(part) for part in again] == [list(at), list(stored_at)]
    assert len(set(found)) == len(found)
    pairs = [(a, b) for a in range(left.num_rows) for b in range(right.num_rows)]
    for pair in set(pairs) - set(found):
        assert not passes(condition, left, right, pair), (
            f"{condition}: {pair} of {left['l']} and {right['r']}"
        )
    flipped = BandSearch(band.flipped()).in_table(right, left)
    assert len(flipped[0]) >= sum(passes(condition, left, right, pair) for pair in found)
    return len(pairs) - len(found)


def passes(condition: Expression, left: pa.Table, right: pa.Table, pair: tuple[int, int]) -> bool:
    both = pa.table({"l": left["l"].take([pair[0]]), "r": right["r"].take([pair[1]])})
    try:
        return bool(mask_of(condition, both)[0].as_py())
    except Exception:  # a sum beyond 64 bits: the pair would have failed
        return False


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_no_pair_that_passes_is_left_out(type_: Type) -> None:
    assert sum(check(seed, type_) for seed in range(60)) > 100


BUGS: dict[str, tuple[str, Callable[..., Any]]] = {
    "no room for rounding": ("_slack", lambda _, values: np.zeros(len(values))),
    "sums beyond 64 bits": ("_moved", lambda values, by, slack: values + np.int64(int(by)) + slack),
}


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_a_planted_bug_is_found(bug: tuple[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(band_search, *bug)
    type_ = DOUBLE if bug[0] == "_slack" else BIGINT
    with np.errstate(over="ignore"):
        assert any(fails(seed, type_) for seed in range(400))


def fails(seed: int, type_: Type) -> bool:
    try:
        check(seed, type_)
    except AssertionError:
        return True
    return False
