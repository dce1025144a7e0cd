"""The boxes of queries when dropping also shrinks windows, or when several queries share the capacity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
import numpy.typing as npt
import scipy

from panes.optimizer.shedding.posynomial import Box, Posynomial

Vector = npt.NDArray[np.float64]

SMALLEST = 1e-12
"""A share that counts as nothing: its logarithm is finite."""
ALMOST = 1e-9
"""A distance between logarithms that is due to rounding."""
STARTS = 40
"""The most points that descents begin at: all kinds of them for six boxes."""
STEPS = 200
"""The most iterations of one descent; ten to thirty are usual."""


def solve_boxes(
    goals: Sequence[tuple[Posynomial, float]], cost: Posynomial, capacity: float, least: float = 0.0
) -> dict[Box, float]:
    """The shares that maximize Σ weight·ln(output) and use up the capacity, which is too small for all.

    Over windows in RANGE, results are a product of shares and the cost is a posynomial: with y = ln x the goal
    is linear and the logarithm of the cost is convex, so a descent from any point ends in the best one (a
    geometric program). Over windows in ROWS, the goal is concave and the cost linear in x itself, and the same
    holds. A mix of both has no such form: then the best of descents from several points is taken. It fits the
    capacity in any case, but it may not be the best there is.
    """
    boxes = cost.boxes
    program = _Program(
        _LogSum.of(cost, boxes),
        [(_LogSum.of(goal, boxes), weight) for goal, weight in goals],
        float(np.log(capacity)),
        float(np.log(max(least, SMALLEST))),
    )
    is_convex = all(goal.is_monomial for goal, _ in goals)
    is_concave = cost.is_linear and all(goal.is_linear for goal, _ in goals)
    starts = program.starts(len(boxes))
    found = list(islice(starts, 1 if is_convex or is_concave else STARTS))
    found += [program.descend(start) for start in found]
    best = max(found, key=program.gain)  # of equal ones the first: the same in every process
    return {
        box: least if at <= program.lowest else float(np.exp(at)) for box, at in zip(boxes, best, strict=True)
    }


@dataclass(frozen=True)
class _LogSum:
    """The logarithm of a posynomial as a function of the logarithms of the shares; it is convex."""

    coefficients: Vector
    """Their logarithms."""
    exponents: Vector
    """A row per term, a column per box."""

    @classmethod
    def of(cls, posynomial: Posynomial, boxes: Sequence[Box]) -> _LogSum:
        place = {box: number for number, box in enumerate(boxes)}
        exponents = np.zeros((len(posynomial.terms), len(boxes)))
        for row, (powers, _) in enumerate(posynomial.terms):
            for box, exponent in powers:
                exponents[row, place[box]] = exponent
        return cls(np.log([coefficient for _, coefficient in posynomial.terms]), exponents)

    def at(self, logs: Vector) -> float:
        terms = self.coefficients + self.exponents @ logs
        largest = terms.max()
        return float(largest + np.log(np.exp(terms - largest).sum()))

    def gradient(self, logs: Vector) -> Vector:
        terms = self.coefficients + self.exponents @ logs
        parts = np.exp(terms - terms.max())
        gradient: Vector = parts @ self.exponents / parts.sum()
        return gradient


@dataclass(frozen=True)
class _Program:
    """Maximize the goals within the capacity, over the logarithms of shares between `lowest` and 0."""

    cost: _LogSum
    goals: Sequence[tuple[_LogSum, float]]
    capacity: float
    lowest: float

    def gain(self, logs: Vector) -> float:
        return sum(weight * goal.at(logs) for goal, weight in self.goals)

    def slope(self, logs: Vector) -> Vector:
        return sum((weight * goal.gradient(logs) for goal, weight in self.goals), np.zeros_like(logs))

    def descend(self, start: Vector) -> Vector:
        scale = 1 / (sum(weight for _, weight in self.goals) or 1.0)
        found = scipy.optimize.minimize(
            lambda logs: -scale * self.gain(logs),
            start,
            jac=lambda logs: -scale * self.slope(logs),
            bounds=[(self.lowest, 0.0)] * len(start),
            constraints={
                "type": "ineq",
                "fun": lambda logs: self.capacity - self.cost.at(logs),
                "jac": lambda logs: -self.cost.gradient(logs),
            },
            method="SLSQP",
            options={"maxiter": STEPS, "ftol": 1e-12},
        )
        return self.settled(found.x if np.isfinite(found.x).all() else start)

    def settled(self, logs: Vector) -> Vector:
        """The point with shares next to everything or nothing set to that, and the others made to fit again."""
        point = np.where(logs > -ALMOST, 0.0, np.where(logs < self.lowest + ALMOST, self.lowest, logs))
        between = np.flatnonzero((point < 0) & (point > self.lowest))
        point = self.filled(point, between)
        return point if abs(self.cost.at(point) - self.capacity) < ALMOST else self.filled(point)

    def filled(self, logs: Vector, free: Sequence[int] | npt.NDArray[np.intp] | None = None) -> Vector:
        """The point with its free boxes, or all, scaled by one factor so that the capacity is used up.

        When that is not possible, the free boxes keep everything or as little as they may.
        """
        chosen = np.zeros(len(logs), dtype=bool)
        chosen[slice(None) if free is None else list(free)] = True

        def scaled(by: float) -> Vector:
            moved: Vector = np.clip(np.where(chosen, logs + by, logs), self.lowest, 0.0)
            return moved

        def above(by: float) -> float:
            return self.cost.at(scaled(by)) - self.capacity

        low, high = self.lowest - logs.max(), -logs.min()
        if above(high) <= 0:
            return scaled(high)
        if above(low) >= 0:
            return scaled(low)
        by = float(scipy.optimize.brentq(above, low, high, xtol=1e-14))
        # The root lies within rounding of the capacity; one step down is below it for sure.
        return scaled(by if above(by) <= 0 else by - 1e-13)

    def starts(self, boxes: int) -> Iterator[Vector]:
        """Points that use up the capacity: all boxes alike, then some that give way first, or last."""
        full = np.zeros(boxes)
        yield self.filled(full)
        for size in range(1, min(3, boxes)):
            for some in combinations(range(boxes), size):
                others = [box for box in range(boxes) if box not in some]
                for first, last in ((some, others), (others, some)):
                    point = self.filled(full, first)
                    if self.cost.at(point) > self.capacity:
                        point = self.filled(point, last)
                    yield point
