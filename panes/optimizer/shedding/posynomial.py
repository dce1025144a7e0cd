"""Functions of the shares that drop boxes keep."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

Box = Hashable
"""The name of a drop box, such as (query, stream)."""
Powers = tuple[tuple[Box, float], ...]
"""The exponents of a product of shares: each box once, in the order of what `repr` gives."""


@dataclass(frozen=True)
class Posynomial:
    """A sum of terms c·Π x^e over the shares x of drop boxes, with c > 0 and e > 0.

    It never falls when a share grows, because coefficients and exponents are positive. Terms with the same
    powers are one term, and the order of terms and boxes does not depend on how the function was put together:
    equal functions are equal values and give the same result in every process.

    >>> rate = 70 * Posynomial.share("B")
    >>> size = 10 + 2 * Posynomial.share("B")
    >>> print(rate * size + 5)
    5 + 700·B + 140·B^2
    >>> (rate * size).at({"B": 0.5})
    385.0
    """

    terms: tuple[tuple[Powers, float], ...] = ()

    def __post_init__(self) -> None:
        for powers, coefficient in self.terms:
            if not 0 < coefficient < float("inf") or any(exponent <= 0 for _, exponent in powers):
                raise ValueError(f"coefficient {coefficient} or an exponent of {powers} is not positive")

    @classmethod
    def constant(cls, value: float) -> Posynomial:
        return cls((((), float(value)),)) if value else cls()

    @classmethod
    def share(cls, box: Box) -> Posynomial:
        """The share that one box keeps."""
        return cls(((((box, 1.0),), 1.0),))

    @classmethod
    def sum(cls, summands: Iterable[Posynomial]) -> Posynomial:
        return _gathered(term for summand in summands for term in summand.terms)

    def __add__(self, other: Posynomial | float) -> Posynomial:
        return Posynomial.sum((self, _posynomial(other)))

    __radd__ = __add__

    def __mul__(self, other: Posynomial | float) -> Posynomial:
        factor = _posynomial(other)
        return _gathered(
            (_product(powers, more), coefficient * scale)
            for powers, coefficient in self.terms
            for more, scale in factor.terms
        )

    __rmul__ = __mul__

    def at(self, shares: Mapping[Box, float]) -> float:
        """The value when the boxes keep these shares; a box that is not named keeps everything."""
        return sum(coefficient * _share(powers, shares) for powers, coefficient in self.terms)

    def given(self, shares: Mapping[Box, float]) -> Posynomial:
        """The function of the other boxes that is left when these boxes keep these shares."""
        return _gathered(
            (
                tuple((box, exponent) for box, exponent in powers if box not in shares),
                coefficient * _share(powers, shares),
            )
            for powers, coefficient in self.terms
        )

    def behind(self, shares: Mapping[Box, float]) -> Posynomial:
        """The function of a second box behind each of these: the shares of the two multiply."""
        return _gathered((powers, coefficient * _share(powers, shares)) for powers, coefficient in self.terms)

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """The boxes that the value depends on."""
        return tuple(sorted({box for powers, _ in self.terms for box, _ in powers}, key=repr))

    @cached_property
    def is_linear(self) -> bool:
        """Whether each term is a constant or a multiple of one share."""
        return all(not powers or (len(powers) == 1 and powers[0][1] == 1) for powers, _ in self.terms)

    @property
    def is_monomial(self) -> bool:
        return len(self.terms) == 1

    @property
    def fixed(self) -> float:
        """The part that remains when all boxes keep nothing."""
        return sum(coefficient for powers, coefficient in self.terms if not powers)

    @cached_property
    def slopes(self) -> Mapping[Box, float]:
        """The factor of each share, in a linear function."""
        return {powers[0][0]: coefficient for powers, coefficient in self.terms if powers}

    def __str__(self) -> str:
        return " + ".join(_shown(powers, coefficient) for powers, coefficient in self.terms) or "0"


def _posynomial(value: Posynomial | float) -> Posynomial:
    return value if isinstance(value, Posynomial) else Posynomial.constant(value)


def _share(powers: Powers, shares: Mapping[Box, float]) -> float:
    """The value of a product of shares."""
    return prod(float(shares.get(box, 1.0) ** exponent) for box, exponent in powers)


def _gathered(terms: Iterable[tuple[Powers, float]]) -> Posynomial:
    """The sum of terms, of which some may have the same powers or be zero."""
    sums: dict[Powers, float] = {}
    for powers, coefficient in terms:
        if coefficient:
            sums[powers] = sums.get(powers, 0.0) + coefficient
    return Posynomial(tuple(sorted(sums.items(), key=lambda term: (len(term[0]), repr(term[0])))))


def _product(left: Powers, right: Powers) -> Powers:
    if not left or not right:
        return left or right
    exponents = dict(left)
    for box, exponent in right:
        exponents[box] = exponents.get(box, 0.0) + exponent
    return tuple(sorted(exponents.items(), key=lambda power: repr(power[0])))


def _shown(powers: Powers, coefficient: float) -> str:
    factors = [f"{box}" if exponent == 1 else f"{box}^{exponent:g}" for box, exponent in powers]
    return "·".join([f"{coefficient:g}", *factors])
