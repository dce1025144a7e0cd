"""How often a set operation gives a value, from how often the left and the right side hold it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from panes.delta.grouped import Numbers


def _once(left: Numbers, _: Numbers) -> Numbers:
    return np.minimum(left, 1)


def _surplus(left: Numbers, right: Numbers) -> Numbers:
    surplus: Numbers = np.maximum(left - right, 0)
    return surplus


RULES: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "distinct": _once,
    "intersect": np.minimum,
    "except": _surplus,
}
