"""Bugs that are planted in synopses show in the sets of queries that `test_synopses.py` draws."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from panes.delta.delta import FOREVER
from panes.synopses import running
from panes.synopses.basic_interval import BasicInterval
from panes.synopses.definition import Definition
from panes.synopses.interval import Interval
from panes.synopses.synopsis_store import SynopsisStore
from tests.properties.test_synopses import check

SETS = 12
"""A bug must show within so many sets."""

late, seen = BasicInterval.late, BasicInterval.seen
complete, expire = Interval.complete, SynopsisStore.expire


@dataclass(frozen=True)
class Mutation:
    bug: str
    owner: Any
    name: str
    value: Any
    first: int
    """The set that is tried first, because it shows the bug."""


MUTATIONS = [
    Mutation("panes show tuples early", BasicInterval, "seen", lambda s, a, u, _: seen(s, a, u, FOREVER), 2),
    Mutation("sums lack late tuples", BasicInterval, "late", lambda s, _, u, at: late(s, u, u, at), 11),
    Mutation(
        "late tuples show too early", BasicInterval, "late", lambda s, a, u, _: late(s, a, u, FOREVER), 6
    ),
    Mutation(
        "intervals are summed early", Interval, "complete", lambda s, a, b, n: complete(s, a, b + 4, n), 6
    ),
    Mutation("sums go on over a pause", running, "_BORN", running._ACTIVE, 3),
    Mutation(
        "panes leave too early", SynopsisStore, "expire", lambda s, at, reach: expire(s, at, reach // 2), 2
    ),
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
