"""A hash is computed once, and belongs to the process that computed it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

from panes.plan.remembered_hash import RememberedHash


@dataclass(frozen=True)
class Base(RememberedHash):
    pass


class Counted:
    asked = 0

    def __hash__(self) -> int:
        self.asked += 1
        return 7


@dataclass(frozen=True)
class Leaf(Base):
    value: object


@dataclass(frozen=True)
class Other(Base):
    value: object


def test_equal_values_have_equal_hashes_and_kinds_are_told_apart():
    assert hash(Leaf(3)) == hash(Leaf(3))
    assert Leaf(3) == Leaf(3)
    assert len({Leaf(3), Leaf(3), Leaf(4), Other(3)}) == 3


def test_what_is_inside_is_asked_once():
    counted = Counted()
    leaf = Leaf(counted)
    assert len({hash(leaf) for _ in range(5)}) == 1
    assert counted.asked == 1


def test_another_value_has_another_hash():
    leaf = Leaf(3)
    hash(leaf)
    assert hash(replace(leaf, value=4)) == hash(Leaf(4)) != hash(leaf)


def test_a_hash_is_not_sent_to_other_processes():
    leaf = Leaf("text")
    hash(leaf)
    sent = pickle.loads(pickle.dumps(leaf))
    assert sent == leaf
    assert vars(sent) == {"value": "text"}
