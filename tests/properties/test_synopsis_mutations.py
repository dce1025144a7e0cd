"""Bugs that are planted in synopses show in the sets of queries that `test_synopses.py` draws."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import FOREVER
from panes.sharing import chosen_signatures, shared_synopsis, signed_rows
from panes.sharing.bits import Bytes, Words, unpacked
from panes.sharing.chosen_signatures import has_bit
from panes.synopses import definition, running
from panes.synopses.basic_interval import BasicInterval
from panes.synopses.definition import Definition
from panes.synopses.interval import Interval
from panes.synopses.synopsis_store import SynopsisStore
from panes.synopses.total import with_total
from tests.properties.test_synopses import check

SETS = 12
"""A bug must show within so many sets."""

late, seen = BasicInterval.late, BasicInterval.seen
complete, expire = Interval.complete, SynopsisStore.expire


def bit_before(signature: bytes, number: int) -> bool:
    return has_bit(signature, max(number - 1, 0))


def half_of_the_total(rows: pa.Table) -> pa.Table:
    found = with_total(rows)
    return found.slice(0, rows.num_rows + rows.num_rows // 2)


def first_bit(bits: Words) -> Bytes:
    found = unpacked(bits)
    return found & (np.cumsum(found, axis=1) == 1)


@dataclass(frozen=True)
class Mutation:
    bug: str
    owner: Any
    name: str
    value: Any
    first: int
    """The set that is tried first, because it shows the bug."""


MUTATIONS = [
    Mutation("panes show tuples early", BasicInterval, "seen", lambda s, a, u, _: seen(s, a, u, FOREVER), 19),
    Mutation("sums lack late tuples", BasicInterval, "late", lambda s, _, u, at: late(s, u, u, at), 6),
    Mutation(
        "late tuples show too early", BasicInterval, "late", lambda s, a, u, _: late(s, a, u, FOREVER), 19
    ),
    Mutation(
        "intervals are summed early", Interval, "complete", lambda s, a, b, n: complete(s, a, b + 4, n), 20
    ),
    Mutation("sums go on over a pause", running, "_BORN", running._ACTIVE, 29),
    Mutation(
        "panes leave too early", SynopsisStore, "expire", lambda s, at, reach: expire(s, at, reach // 2), 2
    ),
    Mutation("rows of another predicate are read", chosen_signatures, "has_bit", bit_before, 2),
    Mutation("the total lacks what came", shared_synopsis, "with_total", half_of_the_total, 0),
    Mutation(
        "predicates get new numbers",
        definition,
        "numbered",
        lambda needed, _: tuple(sorted(needed, key=repr)),
        15,
    ),
    Mutation("a tuple has one bit only", signed_rows, "unpacked", first_bit, 2),
    Mutation("a synopsis never grows", Definition, "covers", lambda *_: True, 1),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.bug)
def test_a_planted_bug_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation.owner, mutation.name, mutation.value)
    with pytest.raises((AssertionError, KeyError)):
        _check_all(mutation.first)


def _check_all(first: int) -> None:
    for number in range(first, first + SETS):
        check(Random(f"synopses {number}"))
