from __future__ import annotations

import doctest

from benchmarks import isolation_report
from benchmarks.isolation_report import CHARTS, FIGURES, isolation_tables

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def test_what_was_measured_stands_beside_the_findings_of_the_thesis():
    points = [{"figure": "7.8", "curve": "LWS, t = 1", "x": n, "y": y} for n, y in ((10, 0.1), (100, 0.6))]
    content = {
        "measured": "today",
        "machine": MACHINE,
        "versions": {},
        "results": points,
        "live": {"aborts": 0},
    }
    text = isolation_tables(content)
    assert f"| 7.8 | executions that are aborted | {FIGURES['7.8'].found} | LWS, t = 1: 0.1 to 0.6 |" in text
    assert "| 7.9 |" not in text
    assert "| aborts | 0 |" in text


def test_every_figure_is_on_one_chart():
    assert sorted(name for names in CHARTS.values() for name in names) == sorted(FIGURES)


def test_examples_in_docstrings_give_what_they_show():
    assert doctest.testmod(isolation_report).failed == 0
