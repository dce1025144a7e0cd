"""The figures of docs/answers.md are those of its result file."""

from __future__ import annotations

from benchmarks.psoup_report import psoup_tables
from benchmarks.report import ANSWERS_PAGE, answers_written

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def test_the_page_holds_the_figures_of_the_result_file():
    page = ANSWERS_PAGE.read_text(encoding="utf-8")
    assert answers_written(page) == page, "run: python -m benchmarks.report"


def test_a_figure_stands_beside_what_the_paper_found():
    times = {"NoMat": (10.0, 40.0), "PSoup-P": (1.0, 2.0), "PSoup-C": (2.0, 1.0)}
    results = [
        {"figure": "7b", "line": line, "x": x, "y": y}
        for line, of_line in times.items()
        for x, y in zip((128, 512), of_line, strict=True)
    ]
    text = psoup_tables({"measured": "today", "machine": MACHINE, "versions": {}, "results": results})
    assert "NoMat takes 5× of PSoup-C at the shortest window and 40× at the longest; 10× of PSoup-P" in text
    assert "| 7a |" not in text, "it was not measured"
