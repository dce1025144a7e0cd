"""How many different values the keys have by which inputs are routed: sketches of tasks, put together.

A sketch only grows, so there are two generations of it. What is counted is both together; when the younger one has
seen enough, it becomes the older one, and values that come no more are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from panes.aggregates.distinct_sketch import Registers, distinct_in
from panes.optimizer.fact_names import distinct_name
from panes.optimizer.statistics import FactName
from panes.plan.nodes import GroupBy
from panes.stages.physical_plan import PhysicalInput

_INPUTS = 32
"""How many inputs are sketched in an epoch; with more, they take turns."""
_EPOCHS = 10, 1000
"""For how many epochs a generation is added to at least and at most."""
_SEEN = 8
"""Rows per value from which on all values that come were seen."""


@dataclass
class _Generations:
    held: float
    """What was known when the process began: it counts until the first generation is complete."""
    young: Registers | None = None
    old: Registers | None = None
    rows: int = 0
    epochs: int = 0

    def add(self, registers: Registers, rows: int) -> None:
        self.young = registers if self.young is None else np.maximum(self.young, registers)
        self.rows += rows

    def end_epoch(self) -> float:
        """How many values there are."""
        assert self.young is not None
        both = self.young if self.old is None else np.maximum(self.young, self.old)
        found = max(self.held, distinct_in(both))
        self.epochs += 1
        least, most = _EPOCHS
        is_seen = self.epochs >= least and self.rows >= _SEEN * distinct_in(self.young)
        if is_seen or self.epochs >= most:
            self.old, self.young, self.rows, self.epochs, self.held = self.young, None, 0, 0, 0.0
        return found


@dataclass
class DistinctKeys:
    """The sketches of a process that runs epochs."""

    _generations: dict[FactName, _Generations] = field(default_factory=dict)
    _names: dict[int, tuple[PhysicalInput, FactName | None]] = field(default_factory=dict)
    """By the identity of the input, which is made once per plan."""
    _turn: int = 0

    def chosen(self, inputs: Sequence[PhysicalInput]) -> Mapping[int, FactName]:
        """The inputs of an epoch to be sketched, by their numbers, each with the name of its fact."""
        numbers: dict[FactName, int] = {}
        for number, source in enumerate(inputs):
            name = self._name(source)
            if name is not None:
                numbers.setdefault(name, number)
        found = list(numbers.items())
        if len(found) > _INPUTS:
            self._turn %= len(found)
            found = (found + found)[self._turn : self._turn + _INPUTS]
            self._turn += _INPUTS
        self._forget({id(source) for source in inputs}, numbers.keys())
        return {number: name for name, number in found}

    def after(
        self, sketches: Iterable[tuple[FactName, Registers, int]], known: Mapping[FactName, float]
    ) -> dict[FactName, float]:
        """How many values there are after an epoch, from the sketches and numbers of rows that its tasks made;
        `known` is what was before."""
        touched: dict[FactName, _Generations] = {}
        for name, registers, rows in sketches:
            if name not in self._generations:
                self._generations[name] = _Generations(known.get(name, 0.0))
            touched[name] = self._generations[name]
            touched[name].add(registers, rows)
        return {name: generations.end_epoch() for name, generations in touched.items()}

    def _name(self, source: PhysicalInput) -> FactName | None:
        if id(source) not in self._names:
            self._names[id(source)] = source, keys_fact(source)
        return self._names[id(source)][1]

    def _forget(self, inputs: set[int], names: Iterable[FactName]) -> None:
        """Lets go of what no plan has any more."""
        for gone in self._names.keys() - inputs:
            del self._names[gone]
        for name in self._generations.keys() - set(names):
            del self._generations[name]


def keys_fact(source: PhysicalInput) -> FactName | None:
    """The fact that the routing keys of an input tell of; None where they tell of none. The rows of a table come
    once, and those of queries that share a plan once for each of them."""
    if not source.keys or source.table is not None or source.scan_number is not None:
        return None
    node = source.fragment.steps[-1].node
    if isinstance(node, GroupBy) and source.fragment.steps[-1].operator == "PreAggregate":
        node = node.child
    if not all(key in node.schema for key in source.keys):
        return None
    return FactName("distinct", distinct_name(node, source.keys))
