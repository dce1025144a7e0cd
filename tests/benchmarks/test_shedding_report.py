from __future__ import annotations

from benchmarks.shedding_report import SHEDDING_PAGE, shedding_written


def test_the_page_of_load_shedding_holds_the_figures_of_its_result_file():
    page = SHEDDING_PAGE.read_text(encoding="utf-8")
    assert shedding_written(page) == page, "run: python -m benchmarks.shedding_report"
