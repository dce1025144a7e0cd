from __future__ import annotations

import doctest

from benchmarks import operators_report


def test_examples_in_docstrings_give_what_they_show():
    assert doctest.testmod(operators_report).failed == 0
