from __future__ import annotations

import pytest

from benchmarks.shedding import Level, summary


def test_gains_are_averaged_over_all_and_over_those_that_gain():
    level = summary("ROWS", True, 50, [0.0, 0.0, 0.5, 1.5], [0.0, 0.0, 0.0, 0.4])
    assert level == Level("ROWS", True, 4, 50, 0.5, 0.5, 1.0, 1.5, pytest.approx(0.1), 0.4)


def test_a_level_without_gains_and_without_the_dynamic_program():
    assert summary("RANGE", True, 90, [0.0, 1e-9], None).need == 0
