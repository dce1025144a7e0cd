"""An answer as Python has it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.answers.answer import Answer
from panes.errors import EvaluationError

US = pa.timestamp("us", "UTC")


@pytest.mark.parametrize("instant", [400_000_000_000_000_000, -100_000_000_000_000_000])
@pytest.mark.parametrize("is_nested", [False, True])
def test_an_instant_that_python_cannot_hold_is_told_with_its_column(instant, is_nested):
    column = pa.array([[instant]], pa.list_(US)) if is_nested else pa.array([instant], US)
    answer = Answer(None, pa.table({"k": [1], "t": column}))
    with pytest.raises(EvaluationError, match=r"column 't' has an instant outside the years 1 to 9999"):
        answer.to_pylist()
    assert answer.to_pandas().shape == answer.to_polars().shape == (1, 2)
