"""IN gives the same for few constants and for many."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.delta.comparison import is_in

OPTIONS = {
    "integers": ([1, 2, None, 99], list(range(90, 110))),
    "text": (["a", "", None, "item 3"], [f"item {number}" for number in range(20)]),
}


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("has_null", [False, True])
def test_many_options_are_compared_as_few_are(kind: str, has_null: bool) -> None:
    rows, values = OPTIONS[kind]
    column = pa.chunked_array([pa.array(rows)])
    options = [pa.scalar(value, column.type) for value in [*values, *[None] * has_null]]
    missing = None if has_null else False
    assert is_in(column, *options).to_pylist() == [missing, missing, None, True]
    assert is_in(column, *options[-9:]).to_pylist()[2] is None
    assert is_in(column.slice(0, 0), *options).to_pylist() == []
    assert is_in(pa.scalar(None, column.type), *options).as_py() is None
