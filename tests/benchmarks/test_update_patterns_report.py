from __future__ import annotations

from benchmarks.paper_queries import EXPERIMENTS
from benchmarks.update_patterns_report import AIMED_AT, aims_table, figures_table, update_pattern_tables

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}
(FTP, SOURCES, NEGATION) = (
    next(e for e in EXPERIMENTS if e.name == name) for name in ("query 1, ftp", "query 2, sources", "query 3")
)


def result(
    experiment: str, way: str, ms: float, *, window: int = 200_000, span: int = 1_000, state: int = 1_000
):
    return {
        "experiment": experiment,
        "way": way,
        "window": window,
        "span": span,
        "ms_per_1000": ms,
        "state_bytes": state,
        "touched_per_1000": 7.0,
    }


def results_of(experiment, upa: float, others: float, **more):
    times = {way.name: upa if way.is_upa else others for way in experiment.ways}
    return [result(experiment.name, way, ms, **more) for way, ms in times.items()]


def test_upa_stands_beside_the_best_of_the_others():
    results = [
        result("query 1, ftp", "NT", 4.0),
        result("query 1, ftp", "DIRECT", 2.0, state=2_000),
        result("query 1, ftp", "UPA", 1.0, state=500),
    ]
    row = "| query 1, ftp | 200,000 | 1,000 | 1.00 | DIRECT 2.00 | 0.50 | met | DIRECT 2.00 | 0.50 | met | 0.5 |"
    assert row in aims_table(results)


def test_what_is_not_in_the_paper_counts_among_all_only():
    results = results_of(SOURCES, 3.0, 4.0)
    faster = [{**r, "ms_per_1000": 2.0} if r["way"] == "DIRECT, δ*" else r for r in results]
    assert "| NT 4.00 | 0.75 | met | DIRECT, δ* 2.00 | 1.50 | missed ✗ |" in aims_table(faster)


def test_query_3_has_no_aim():
    assert "no aim" in aims_table(results_of(NEGATION, 3.0, 1.0))
    assert "missed" not in aims_table(results_of(NEGATION, 3.0, 1.0))


def test_a_query_of_which_a_way_was_not_measured_is_not_compared():
    results = [r for r in results_of(FTP, 1.0, 2.0) if r["way"] != "NT"]
    assert "query 1" not in aims_table(results)


def test_every_window_and_span_of_the_aim_has_a_line():
    results = [r for window, span in AIMED_AT for r in results_of(FTP, 1.0, 2.0, window=window, span=span)]
    assert aims_table(results).count("| query 1, ftp |") == len(AIMED_AT) == 4


def test_every_figure_of_the_paper_has_a_line():
    text = figures_table([])
    numbers = [line.split("|")[1].split(",")[0].strip() for line in text.splitlines()[2:]]
    assert sorted(map(int, numbers)) == list(range(9, 18))


def test_queries_over_traces_have_a_table_of_their_own():
    results = [*results_of(FTP, 1.0, 2.0), result("query 3, LBL UDP", "NT", 5.0, window=2_000)]
    text = update_pattern_tables(
        {"measured": "today", "machine": MACHINE, "versions": {}, "results": results}
    )
    assert "| query 3, LBL UDP | NT | 5.0 | 7 | 0.00 |" in text
    without = update_pattern_tables(
        {"measured": "today", "machine": MACHINE, "versions": {}, "results": results[:-1]}
    )
    assert "traces" not in without
