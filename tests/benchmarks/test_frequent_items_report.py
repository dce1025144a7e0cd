from __future__ import annotations

from benchmarks.frequent_items_report import frequent_items_table

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def average(pane: int, k: int, found: float | None):
    return {
        "stream": "pages of requests",
        "pane": pane,
        "k": k,
        "threshold": 0.05 * pane / 20,
        "over": 3.0,
        "reported": 2.0,
        "found": found,
        "pairs": 1000.0 * k,
        "error": None,
        "bytes": 90_000,
        "exact_bytes": 1_922_000,
    }


def test_what_was_measured_stands_beside_the_words_of_the_thesis():
    results = [average(20, 5, 0.75), average(100, 5, 1.0), average(20, 2, 0.1), average(20, 7, None)]
    text = frequent_items_table(
        {"measured": "today", "machine": MACHINE, "versions": {}, "starts": 9, "results": results}
    )
    assert "| (a) k = 5: δ is about 5 % of the window | 5 to 25 % |" in text
    assert "at least 80 % of the values over δ are found | 75 to 100 % |" in text
    assert "b = 20, 100, 500 | 5,000, 5,000 |" in text
    assert "counts are too low by less than 2 % | none |" in text
    assert "![Frequent pages of requests](charts/frequent-pages.svg)" in text
