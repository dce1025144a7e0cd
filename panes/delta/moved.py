"""Whole numbers moved by a distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def moved(values: npt.NDArray[Any], by: int) -> npt.NDArray[np.int64]:
    """The values moved by a distance; what would be beyond 64 bits is the last number before their end."""
    shift = int(max(_LEAST, min(_GREATEST, by)))
    result: npt.NDArray[np.int64] = np.clip(values, _LEAST - min(shift, 0), _GREATEST - max(shift, 0)) + shift
    return result
