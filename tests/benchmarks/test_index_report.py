from __future__ import annotations

import doctest

from benchmarks import index_report
from benchmarks.index_report import FIGURES, index_tables

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def test_what_was_measured_stands_beside_the_findings_of_the_thesis():
    times = {"Rebuild": 20.0, "R-ins": 50.0, "NoRebuild": 10.0, "D-ins": 15.0}
    points = [
        {"figure": "small, update", "curve": name, "x": cells, "y": value}
        for name, value in times.items()
        for cells in (4, 25)
    ]
    points += [{"figure": "fluctuating, update", "curve": "R-ins", "x": 4, "y": 60.0}]
    points += [
        {"figure": "lookup, quiet", "curve": "Rebuild", "x": share, "y": 1.5} for share in (0.5, 0.95, 0.99)
    ]
    points += [
        {"figure": f"lookup, {what}", "curve": "Rebuild", "x": x, "y": 2.0}
        for what, x in [("segments", 0), ("first", 0), ("quiet, CPU", 0.5), ("busy, CPU", 0.5), ("whole", 0)]
    ]
    points += [{"figure": "lookup, busy", "curve": "Rebuild", "x": 0.5, "y": 3.0}]
    content = {"measured": "today", "machine": MACHINE, "versions": {}, "megabytes": 12, "rows": 1_000}
    text = index_tables(content | {"results": points})
    number, finding = FIGURES["small, update"]
    ratios = "R-ins 2.5 times Rebuild, D-ins 1.5 times NoRebuild, Rebuild 2 times NoRebuild"
    assert f"| {number} | an update | {finding} | {ratios} |" in text
    assert "| an update, ms, 12 MB | 4 | 25 |" in text
    assert "| R-ins, 4 cells | 50 | 60 | +20 % |" in text
    assert "| quiet | 1.5 / 1.5 / 1.5 |" in text
    assert "normalized" not in text


def test_examples_in_docstrings_give_what_they_show():
    assert doctest.testmod(index_report).failed == 0
