from __future__ import annotations

import pytest

from benchmarks import report
from benchmarks.report import (
    PAGE,
    SCALE_PAGE,
    STANDING_PAGE,
    between,
    changing_tables,
    ratios,
    scale_written,
    standing_written,
    workloads,
    written,
)

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def result(engine: str, workload: str, rate: int, *, rows: int = 2_000_000, is_right: bool | None = True):
    return {
        "engine": engine,
        "workload": workload,
        "rows": rows,
        "seconds": 1.0,
        "rows_per_s": rate,
        "is_right": is_right,
        "memory_mb": 100,
        "more": {"batches": 1},
    }


def content(*results):
    return {"measured": "today", "machine": MACHINE, "versions": {"duckdb": "2.0"}, "results": list(results)}


def test_the_page_holds_the_figures_of_the_result_files():
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "run: python -m benchmarks.report"


def test_the_page_of_standing_queries_holds_the_figures_of_its_result_file():
    page = STANDING_PAGE.read_text(encoding="utf-8")
    assert standing_written(page) == page, "run: python -m benchmarks.report"


def test_the_page_of_scale_holds_the_figures_of_its_result_files():
    page = SCALE_PAGE.read_text(encoding="utf-8")
    assert scale_written(page) == page, "run: python -m benchmarks.report"


def test_a_figure_that_was_changed_by_hand_is_found():
    page = STANDING_PAGE.read_text(encoding="utf-8")
    assert standing_written(page.replace("| each in turn | 52 k |", "| each in turn | 83 k |")) == page


def test_a_wrong_checksum_stands_out():
    text = workloads(
        content(result("panes", "W1", 1_000_000), result("duckdb", "W1", 500_000, is_right=False))
    )
    assert "500 k **wrong**" in text
    assert "1 of 2 checksums are right" in text


def test_a_run_over_fewer_rows_is_marked():
    text = workloads(content(result("panes", "W1", 1_000_000), result("spark", "W1", 50_000, rows=400_000)))
    assert "| 1.00 M | 50 k* |" in text


def test_ratios_are_taken_with_the_better_of_two_and_those_below_the_aim_are_marked():
    text = ratios(
        content(
            result("panes", "W1", 1_000_000),
            result("duckdb", "W1", 500_000),
            result("polars", "W1", 2_000_000),
            result("spark", "W1", 50_000),
        )
    )
    spark, rerun = text.splitlines()[2:]
    assert "20×" in spark
    assert "✗" not in spark
    assert "0.5× ✗" in rerun


def test_a_text_replaces_what_stands_between_its_marks_and_nothing_else():
    page = "one\n<!-- a -->\nold\n<!-- /a -->\ntwo\n"
    assert between(page, "a", "new") == "one\n<!-- a -->\nnew\n<!-- /a -->\ntwo\n"


def test_a_page_without_the_mark_is_refused():
    with pytest.raises(ValueError, match="no place for a"):
        between("", "a", "new")


def test_both_ways_of_the_exchange_stand_side_by_side():
    runs = [
        {"workload": "W1", "exchange": way, "rows": 1000, "seconds": took, "cpu_s": 2.0, "is_right": True}
        for way, took in (("files", 1.0), ("shuffle", 1.5))
    ]
    codecs = [{"codec": "zstd", "size": 0.333, "write_ms_per_mb": 2.5, "read_ms_per_mb": 1.0}]
    text = report.exchanges(content(*runs) | {"codecs": codecs, "load": 1.5})
    assert "| seconds, files | 1.00 |\n| seconds, shuffle | 1.50 |\n| ratio | 1.50× |" in text
    assert "| zstd | 0.33 | 2.50 | 1.00 |" in text


def test_the_figures_of_tables_stand_beside_their_aims():
    results = [
        {"what": "lookup", "table_rows": 9, "rows_per_s": 3_000_000, "with_all_steps_per_s": 2_000_000},
        *(
            {
                "what": "updates",
                "updates_per_s": 5,
                "window_rows": 7,
                "cpu_s_early": 0.5,
                "cpu_s_late": seconds,
            }
            for seconds in (0.25, 0.125)
        ),
        *(
            {
                "what": "live",
                "seconds": 30,
                "behind_s_early": 1,
                "behind_s_late": 2,
                "epoch_s": 3,
                "load_average": load,
            }
            for load in (1.0, 9.0)
        ),
        {"what": "writing", "way": "by hand", "per_s": 1},
        {"what": "loading", "rows": 8, "seconds": 1.5, "replace_seconds": 2.5},
    ]
    text = changing_tables(content(*results))
    assert "| lookups in a table of 9 rows, tuples per CPU second | 2.00 M | 3.00 M |" in text
    assert "| the same, last spans | no more | 0.250 |" in text
    assert "| by hand, changes per second | 1,000 | 1 |" in text
    assert "Its load was up to 9" in text
