"""Functions of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Datum = Any


def within(least: float, most: float, function: Callable[[Datum], Datum]) -> Callable[[Datum], Datum]:
    """A function that is NULL outside of a range; NaN stays."""

    def limited(value: Datum) -> Datum:
        outside = pc.or_(pc.less(value, least), pc.greater(value, most))
        return function(pc.if_else(pc.fill_null(outside, False), pa.scalar(None, value.type), value))

    return limited


def cube_root(value: Datum) -> Datum:
    if isinstance(value, pa.Scalar):
        return pa.scalar(None if value.as_py() is None else float(np.cbrt(value.as_py())), pa.float64())
    whole = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
    return pa.array(np.cbrt(whole.fill_null(0.0).to_numpy()), mask=np.asarray(whole.is_null()))


def degrees(value: Datum) -> Datum:
    return pc.multiply(value, 180 / np.pi)


def radians(value: Datum) -> Datum:
    return pc.multiply(value, np.pi / 180)


def round_to(value: Datum, places: pa.Scalar) -> Datum:
    """To a constant number of places after the point, halves away from zero."""
    count = places.as_py()
    scale = 10.0 ** abs(count)
    if count >= 0:
        rounded = pc.divide(_whole(pc.multiply(value, scale)), scale)
    else:
        rounded = pc.multiply(_whole(pc.divide(value, scale)), scale)
    return pc.if_else(pc.is_finite(rounded), rounded, value)


def _whole(value: Datum) -> Datum:
    return pc.round(value, round_mode="half_towards_infinity")
