from __future__ import annotations

import pytest

from benchmarks.joins import TABLE_5_3, TABLE_5_5, expected_state, joined_rows, spans, written
from benchmarks.joins import generated as generated_of
from benchmarks.joins_report import join_tables
from panes.delta.delta import TS


@pytest.mark.parametrize(
    ("names", "rows"), [("s1 s2", 200), ("s3 s4", 1500), ("s1 s2 s3", 800), ("s1 s2 s4", 1200)]
)
def test_the_sizes_of_intermediate_results_are_those_of_table_5_4(names: str, rows: int):
    assert joined_rows([TABLE_5_3[name] for name in names.split()]) == pytest.approx(rows)


def test_a_tree_keeps_its_windows_and_what_joins_below_others_give():
    assert expected_state(written(TABLE_5_3), TABLE_5_3) == pytest.approx(1600 + 200 + 800)


def test_tuples_of_a_stream_come_at_its_rate_with_its_values():
    came = generated_of(TABLE_5_5, 20)
    assert came["s1"].num_rows == pytest.approx(2000, rel=0.05)
    assert came["s2"].num_rows == pytest.approx(20, abs=15)
    assert set(came["s4"]["k"].to_pylist()) <= {1, 2, 3, 4, 5}


def test_spans_hold_all_tuples_once():
    came = generated_of(TABLE_5_5, 4)
    for every in (None, 1.0):
        parts = [part for part, _ in spans(came, 2_000_000, every)]
        for name, table in came.items():
            assert [ts for part in parts for ts in part[name][TS].to_pylist()] == table[TS].to_pylist()


def test_a_pipeline_stands_beside_the_first_and_the_best_tree():
    plans = [
        {
            "plan": "as written",
            "pipelined": False,
            "ms": 3.0,
            "state": 4000,
            "expected": 4100,
            "chosen": False,
        },
        {"plan": "pipeline", "pipelined": True, "ms": 1.0, "state": 1000, "expected": 1000, "chosen": True},
        {"plan": "better", "pipelined": False, "ms": 2.0, "state": 2000, "expected": 2100, "chosen": False},
    ]
    text = join_tables([{"part": "plans", "streams": "some", **plan} for plan in plans])
    assert "| some | pipeline | 1 | 1,000 | 1,000 | 0.25 | 0.50 | yes |" in text
