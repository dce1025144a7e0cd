from __future__ import annotations

import doctest

from benchmarks import expiration_report
from benchmarks.expiration_report import CHARTS, FIGURES, expiration_tables

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def point(figure: str, curve: str, x: float, y: float):
    return {"figure": figure, "curve": curve, "x": x, "y": y}


def test_what_was_measured_stands_beside_the_words_of_the_paper():
    points = [
        point("8b", "piggyback", 1, 300_000),
        point("8b", "piggyback", 2, 400_000),
        point("8b", "negative", 1, 200_000),
        point("8b", "negative", 2, 200_000),
    ]
    text = expiration_tables({"measured": "today", "machine": MACHINE, "versions": {}, "results": points})
    found = FIGURES["8b"].found
    assert f"| 8b | tuples joined | {found} | piggyback 1.5 to 2 times as many as negative |" in text
    assert "| piggyback | 300 k | 400 k |" in text
    assert "| 8a |" not in text


def test_every_figure_is_on_one_chart():
    assert sorted(name for names in CHARTS.values() for name in names) == sorted(FIGURES)


def test_examples_in_docstrings_give_what_they_show():
    assert doctest.testmod(expiration_report).failed == 0
