from __future__ import annotations

import numpy as np
import pytest

from benchmarks.frequent_items import Trial, averages, trial


def test_a_window_of_few_values_is_known_exactly():
    values = np.tile([1, 1, 1, 2, 2, 3], 100)
    # Each pane of 6 has 3 values: with k = 3 all are listed, and the third count is the bound of the others.
    assert trial(values, 6, 3) == Trial(3, pytest.approx(100 / 600), 2, 2, 300, 0.0)


def test_values_that_are_not_listed_raise_the_error_of_none():
    assert trial(np.arange(60), 10, 2) == Trial(2, pytest.approx(6 / 60), 0, 0, 12, None)


def test_averages_are_over_all_starts():
    values = np.tile([1, 1, 1, 2, 2, 3], 300)
    (average,) = averages("some", values, 6, [1], 5, 600)
    assert (average.threshold, average.over, average.reported, average.found) == (0.5, 0, 0, None)
    assert average.pairs == pytest.approx(100, abs=1)
    assert average.exact_bytes > 0
    assert average.bytes > 0
