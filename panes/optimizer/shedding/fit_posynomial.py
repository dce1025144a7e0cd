"""A posynomial that comes close to a function of which only values are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product

import numpy as np
import numpy.typing as npt
import scipy

from panes.optimizer.shedding.posynomial import Box, Posynomial, Powers

Matrix = npt.NDArray[np.float64]

LOWEST = 0.02
"""The least share at which a function is looked at."""
_ALL_SUBSETS = 5
"""Up to how many boxes products of all subsets may be terms; of more only pairs, and all together."""
_DRAWN = 2
"""How many points are drawn for each term, beside the corners."""
_SMALL = 0.01
"""The share of its greatest value below which errors of a function need not be small by comparison."""


def fit_posynomial(
    function: Callable[[Mapping[Box, float]], float], terms: Sequence[Powers], least: float = 1e-9
) -> Posynomial:
    """The posynomial of these terms with the least squares of relative errors, over shares from `LOWEST` to 1.

    The function is never below zero and never falls when a share grows. Terms that are less than the part `least`
    of its greatest value are left out.

    >>> print(fit_posynomial(lambda x: 2 + 3 * x["a"] * x["b"], products_of({"a": 1, "b": 1})))
    2 + 3·a·b
    """
    boxes = sorted({box for powers in terms for box, _ in powers}, key=repr)
    points = _points(len(boxes), _DRAWN * len(terms))
    values = np.array([function(dict(zip(boxes, map(float, point), strict=True))) for point in points])
    greatest = float(values.max(initial=0.0))
    if greatest <= 0:
        return Posynomial()
    scale = 1 / np.maximum(values, _SMALL * greatest)
    exponents = np.array([[dict(powers).get(box, 0.0) for box in boxes] for powers in terms])
    matrix = np.exp(np.log(points) @ exponents.T)
    found, _ = scipy.optimize.nnls(matrix * scale[:, None], values * scale)
    return Posynomial.sum(
        Posynomial(((powers, float(f"{coefficient:.12g}")),))
        for powers, coefficient in zip(terms, found, strict=True)
        if coefficient > least * greatest
    )


def products_of(degrees: Mapping[Box, int]) -> list[Powers]:
    """A constant, and all products of shares: what joins of windows give, where what comes meets what is held.

    `degrees` has the boxes, each with the greatest exponent of its share: a stream that is read twice may be
    joined with itself.
    """
    return list(_products(sorted(degrees, key=repr), degrees))


def halves_of(degrees: Mapping[Box, int]) -> list[Powers]:
    """Powers of single shares between whole ones: what grows slower than rows do, as the different values among
    them, comes close to such."""
    return [((box, exponent + 0.5),) for box in sorted(degrees, key=repr) for exponent in range(degrees[box])]


def _products(boxes: Sequence[Box], degrees: Mapping[Box, int]) -> Iterator[Powers]:
    sizes = range(len(boxes) + 1) if len(boxes) <= _ALL_SUBSETS else (0, 1, 2, len(boxes))
    for some in chain.from_iterable(combinations(boxes, size) for size in sizes):
        for exponents in product(*(range(1, degrees[box] + 1) for box in some)):
            yield tuple((box, float(exponent)) for box, exponent in zip(some, exponents, strict=True))


def _points(boxes: int, drawn: int) -> Matrix:
    """Corners, and points between them, evenly by order of magnitude; the same in every process."""
    corners = list(product((LOWEST, 1.0), repeat=boxes)) if boxes <= _ALL_SUBSETS else [(1.0,) * boxes]
    between = LOWEST ** np.random.default_rng(1).random((drawn, boxes))
    return np.concatenate([np.array(corners), between])
