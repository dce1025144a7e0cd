"""Values without their last bits, of which there are few different ones: the sketch behind approx_quantile.

Rounding keeps the order of values, so the quantile of rounded values is the rounded quantile. How often each
occurs can be counted up and down, and the counts of panes are added: nothing depends on how rows are cut or in
which order they come. That is why it is not the KLL sketch of Apache DataSketches, which tosses coins that cannot
be seeded from Python: what takes a result back must be the same as what gave it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.plan.sketch_sizes import VALUE_BITS

_GREATEST = np.finfo(np.float64).max


def rounded_values(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Doubles rounded to `VALUE_BITS` significant bits; NULL stays NULL.

    >>> rounded_values(pa.array([1.0, 200.0, 12_345.0, None])).to_pylist()
    [1.0, 200.0, 12352.0, None]
    """
    doubles = values.fill_null(0.0).to_numpy(zero_copy_only=False) if len(values) else np.zeros(0)
    fractions, exponents = np.frexp(doubles)
    with np.errstate(over="ignore"):
        rounded = np.ldexp(np.rint(np.ldexp(fractions, VALUE_BITS)), exponents - VALUE_BITS) + 0.0
    beyond = np.isinf(rounded) & np.isfinite(doubles)
    rounded[beyond] = np.copysign(_GREATEST, doubles[beyond])
    return pa.array(rounded, pa.float64(), mask=np.asarray(values.is_null()))
