"""Engines give, on little traffic, what each question means when it is worked out by hand."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.engine import Engine, Outcome, files_of, measure
from benchmarks.engines import duckdb_rerun, polars_rerun
from benchmarks.engines.panes_cql import PanesCql, checksum_of
from benchmarks.traffic import dataset, packets, standing_queries
from benchmarks.workloads import WORKLOADS, Workload

ROWS, FILES = 21_000, 2
"""Some twenty seconds: two slides of ten."""
RERUNS = {"duckdb": duckdb_rerun.engine, "polars": polars_rerun.engine}
Answer = list[dict[str, int]]


def answer_at(asked: Workload, k: int) -> Answer:
    """The rows of the answer at slide k, by the definition of the question."""
    end = asked.end_ms(k)
    ts = packets(ROWS).column("ts").to_numpy()
    held = packets(ROWS).filter(pa.array((ts >= end - asked.range_ms) & (ts < end)))
    rows = held.to_pylist()
    counts = Counter(row["src"] for row in rows)
    match asked.name:
        case "W1":
            totals: Counter[int] = Counter()
            for row in rows:
                totals[row["src"]] += row["bytes"]
            return [{"src": src, "n": n, "total": totals[src]} for src, n in counts.items()]
        case "W3":
            return [{"n": len({(row["src"], row["dst"]) for row in rows if row["link"] == 0})}]
        case "W4":
            others = {row["src"] for row in rows if row["link"] == 1}
            wanted = [row for row in rows if row["link"] == 0 and row["src"] not in others]
            return [{name: row[name] for name in ("src", "dst", "bytes")} for row in wanted]
        case "W5":
            size, dst = held.column("bytes").to_numpy(), held.column("dst").to_numpy()
            proto = np.array(held.column("proto").to_pylist())
            return [
                {"query": number, "n": int(np.count_nonzero(
                    (q.low <= size) & (size < q.high) & (q.first <= dst) & (dst < q.last)
                    & (np.isin(proto, q.proto) if q.proto else True)
                ))}
                for number, q in enumerate(standing_queries())
            ]  # fmt: skip
    return [{"src": src, "n": n} for src, n in counts.items()]


def added(asked: Workload, answer: Answer, k: int) -> list[int]:
    """What an answer adds to the checksum, by its definition."""
    match asked.name:
        case "W1":
            hashes = [(r["src"] + 1 + 5003 * k) * (r["n"] + r["total"] % 9973) for r in answer]
            return [len(answer), sum(r["n"] for r in answer), sum(r["total"] for r in answer), sum(hashes)]
        case "W3":
            return [answer[0]["n"], k * answer[0]["n"]]
        case "W4":
            return [len(answer), k * len(answer)]
        case "W5":
            hashes = [(r["query"] + 1 + 1009 * k) * r["n"] for r in answer]
            return [sum(r["n"] for r in answer), sum(hashes)]
    top = sorted(answer, key=lambda r: (-r["n"], r["src"]))[:10]
    hashes = [(rank + 11 * (r["src"] + 1) + 60_000 * k) * r["n"] for rank, r in enumerate(top, 1)]
    return [len(top), sum(r["n"] for r in top), sum(hashes)]


@cache
def answers(workload: str) -> dict[int, Answer]:
    asked = WORKLOADS[workload]
    assert asked.slide_ms is not None
    return {k: answer_at(asked, k) for k in range(1, dataset(ROWS, FILES).slides(asked.slide_ms) + 1)}


@cache
def by_hand(workload: str) -> str:
    asked = WORKLOADS[workload]
    if asked.slide_ms is None:
        ftp = [row for row in packets(ROWS).to_pylist() if row["proto"] == "ftp"]
        left, right = ([row for row in ftp if row["link"] == link] for link in (0, 1))
        return str(
            sum(a["src"] == b["src"] and abs(a["ts"] - b["ts"]) <= 60_000 for a in left for b in right)
        )
    parts = [added(asked, answer, k) for k, answer in answers(workload).items()]
    return "|".join(str(sum(part)) for part in zip(*parts, strict=True))


def changes_between(asked: Workload, found: dict[int, Answer]) -> pa.Table:
    """The changes that lead from each answer to the next, as `changes()` gives them."""
    rows: list[dict[str, Any]] = []
    before: Counter[tuple[tuple[str, int], ...]] = Counter()
    for k, answer in found.items():
        now = Counter(tuple(row.items()) for row in answer)
        for row in now.keys() | before.keys():
            if now[row] != before[row]:
                at = pa.scalar(asked.end_ms(k) * 1_000, pa.timestamp("us", tz="UTC"))
                rows.append({**dict(row), "_at": at, "_weight": now[row] - before[row]})
        before = now
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("engine", RERUNS)
def test_engines_give_what_the_question_means(engine: str, workload: str):
    assert RERUNS[engine]().run(workload, ROWS, FILES).checksum == by_hand(workload)


@pytest.mark.parametrize("workload", ["W1", "W3", "W4"])
def test_changes_lead_to_the_same_checksum_as_answers(workload: str):
    asked = WORKLOADS[workload]
    changes = changes_between(asked, answers(workload))
    assert checksum_of(asked, dataset(ROWS, FILES), [changes]) == by_hand(workload)


def test_changes_of_many_queries_lead_to_the_same_checksum_as_answers():
    asked = WORKLOADS["W5"]
    by_query = [
        {k: [{"n": answer[number]["n"]}] for k, answer in answers("W5").items()}
        for number in range(len(standing_queries()))
    ]
    changes = [changes_between(asked, found) for found in by_query]
    assert checksum_of(asked, dataset(ROWS, FILES), changes) == by_hand("W5")


def test_a_join_counts_what_came():
    changes = pa.table({"_at": [1, 2, 2], "_weight": [3, -3, 1]})
    assert checksum_of(WORKLOADS["W2"], dataset(ROWS, FILES), [changes]) == "4"


def test_w5_asks_as_many_queries_as_there_are_bounds():
    queries = WORKLOADS["W5"].queries()
    assert len(queries) == len(set(queries)) == 1_000


def test_smaller_runs_have_files_of_the_same_size():
    assert [files_of(rows) for rows in (20_000, 400_000, 2_000_000)] == [2, 2, 10]


class Wrong(Engine):
    def run(self, workload: str, rows: int, files: int) -> Outcome:  # noqa: ARG002
        return Outcome(0.5, "1|2|3|4")

    def close(self) -> None:
        pass


def test_a_wrong_checksum_is_told():
    measured = measure(Wrong(), "duckdb", "W1", 100_000, FILES)
    assert measured.is_right is False
    assert measured.rows_per_s == 200_000


def test_a_checksum_nobody_knows_is_neither_right_nor_wrong():
    assert measure(Wrong(), "duckdb", "W1", 123, FILES).is_right is None


@pytest.mark.usefixtures("commands_on_spark")
@pytest.mark.parametrize("workload", ["W3", "W6"])
def test_panes_gives_what_the_question_means(workload: str):
    assert PanesCql().run(workload, ROWS, FILES).checksum == by_hand(workload)
