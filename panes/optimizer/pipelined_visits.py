"""How many rows and combinations of rows a pipelined join of many inputs visits (thesis, 5.3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from panes.optimizer.estimates import Estimates
from panes.plan.nodes import MultiJoin

SizeOf = Callable[[int], float]
"""How many results the join of a set of inputs has at an instant, whatever their order: φ. Sets are bits."""


def pipelined_visits(join: MultiJoin, rates: Sequence[float], estimates: Estimates) -> float:
    """Combinations of two and more rows that are made per second, in the order of the inputs; `rates` are the rows
    per second that come to each of them."""
    return sum(visits_by_origin(join, rates, estimates))


def visits_by_origin(join: MultiJoin, rates: Sequence[float], estimates: Estimates) -> tuple[float, ...]:
    """The same for the new rows of each input."""
    order, size = range(len(join.inputs)), size_of(join, estimates)
    return tuple(sum(visits_of(origin, order, rates, size)) for origin in order)


def visits_in_order(order: Sequence[int], rates: Sequence[float], size: SizeOf) -> float:
    """Combinations that are made per second in a global order of inputs.

    Of an input with W rows to which λ come per second, a new row makes φ / W combinations with each set of inputs
    that it has met: with the first other one, with the first two, and so on.
    """
    return sum(sum(visits_of(origin, order, rates, size)) for origin in order)


def visits_of(origin: int, order: Sequence[int], rates: Sequence[float], size: SizeOf) -> list[float]:
    """The combinations per second of new rows of one input: after the first other input, after the second, …"""
    held = size(1 << origin)
    met, found = 1 << origin, []
    for other in order:
        if other != origin:
            met |= 1 << other
            found.append(rates[origin] * size(met) / held if held else 0.0)
    return found


def size_of(join: MultiJoin, estimates: Estimates) -> SizeOf:
    """The sizes of joins of some of the inputs, before other conditions than the keys are tested."""
    known: dict[int, float] = {}

    def size(inputs: int) -> float:
        if inputs not in known:
            chosen = [number for number in range(len(join.inputs)) if inputs >> number & 1]
            if len(chosen) == 1:
                node = join.inputs[chosen[0]]
            else:
                node = replace(
                    join,
                    inputs=tuple(join.inputs[number] for number in chosen),
                    keys=tuple(join.keys[number] for number in chosen),
                    residual=None,
                )
            known[inputs] = estimates.of(node).size
        return known[inputs]

    return size
