from __future__ import annotations

import doctest

from benchmarks import shedding_report
from benchmarks.shedding_report import SHEDDING_PAGE, shedding_written


def test_the_page_of_load_shedding_holds_the_figures_of_its_result_file():
    page = SHEDDING_PAGE.read_text(encoding="utf-8")
    assert shedding_written(page) == page, "run: python -m benchmarks.shedding_report"


def test_examples_in_docstrings_give_what_they_show():
    assert doctest.testmod(shedding_report).failed == 0
