"""How much the sketches of approximate aggregates keep, and what that leaves open."""

from __future__ import annotations

import math

REGISTER_BITS = 10
"""approx_count_distinct: of a hash, the bits that choose one of its registers."""
COUNT_ERROR = 1.04 / math.sqrt(1 << REGISTER_BITS)
"""The standard error of a count of distinct values, as a share of it."""

VALUE_BITS = 8
"""approx_quantile: the significant bits that are kept of a value."""
VALUE_ERROR = 2.0**-VALUE_BITS
"""The greatest error of a kept value, as a share of it."""

_LEAST_COUNTERS, _COUNTERS_PER_PLACE = 100, 10


def counters_for(k: int) -> int:
    """approx_top_k: how many values are counted at a time. Of n rows no count is further off than n by this.

    >>> counters_for(5), counters_for(50)
    (100, 500)
    """
    return max(_LEAST_COUNTERS, _COUNTERS_PER_PLACE * k)
