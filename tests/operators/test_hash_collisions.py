"""Operators are exact when different keys share a hash: only the comparison of values tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta import keys
from panes.operators.tools import numbered_values as values
from panes.state.buffers import chunked, keyed_versions
from tests.operators.pointwise import exact
from tests.operators.test_distinct_star import check_distinct_star
from tests.operators.test_join import check_join
from tests.operators.test_lookup import check_lookup
from tests.operators.test_semi_and_anti_join import check_anti_join, check_semi_join
from tests.operators.test_set_operations import CASES, check_distinct, check_set_operation

CHECKS: dict[str, Callable[[st.DataObject], None]] = {
    "join": check_join,
    "lookup": check_lookup,
    "δ*": check_distinct_star,
    "δ": check_distinct,
    "semi-join": check_semi_join,
    "anti-join": check_anti_join,
    **{name: partial(check_set_operation, name=name) for name in CASES},
}


@pytest.mark.parametrize("name", CHECKS)
@exact
@given(data=st.data())
def test_operators_tell_keys_of_one_hash_apart(data: st.DataObject, name: str):
    original = keys.hash_rows

    def one_bit(table: pa.Table, columns: Sequence[str]) -> keys.Hashes:
        top = original(table, columns) >> np.uint64(63)
        return top << np.uint64(63)

    with pytest.MonkeyPatch.context() as patch:
        for module in (keys, chunked, values, keyed_versions):
            patch.setattr(module, "hash_rows", one_bit)
        for module in (keys, chunked):
            patch.setattr(module, "is_hash_exact", lambda *_: False)
        CHECKS[name](data)
