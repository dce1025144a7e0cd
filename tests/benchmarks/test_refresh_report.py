"""The figures of docs/refresh.md are those of its result files."""

from __future__ import annotations

from benchmarks.refresh_report import REFRESH_PAGE, refresh_written


def test_the_page_holds_the_figures_of_the_result_files():
    page = REFRESH_PAGE.read_text(encoding="utf-8")
    assert refresh_written(page) == page, "run: python -m benchmarks.refresh_report"
