from __future__ import annotations

import doctest

from benchmarks import markdown
from benchmarks.markdown import table


def test_numbers_stand_to_the_right():
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"


def test_examples_in_docstrings_give_what_they_show():
    assert doctest.testmod(markdown).failed == 0
