"""Frequent items from the heaviest values of each pane, as in figure 6.3 of Golab's thesis:
`python -m benchmarks.frequent_items --traces <folder>`.

A window of 100,000 tuples has panes of 20, 100 or 500 tuples, and of each the k most frequent values are kept, for
k from 1 to 10. At random places of a stream the operators of `frequent(x, k)` are given a whole window, and what
they answer is compared with the counts of all values. `--traces` is a folder with web-requests.parquet (requests
of workstations at Boston University) and lbl-udp.parquet (packets of the Lawrence Berkeley Laboratory), both from
the Internet Traffic Archive; without it only generated traffic is used. The packets are too few for a window of
100,000 tuples: theirs has 20,000.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import charts
from benchmarks.frequent_items_report import NAME
from benchmarks.result_files import load, save
from benchmarks.traffic import packets
from panes.delta.delta import EXP, TS, Delta
from panes.operators.group_by import GroupBy
from panes.operators.heaviest_of_panes import HeaviestOfPanes
from panes.operators.pre_aggregate import PreAggregate
from panes.plan import nodes
from panes.plan.aggregates import AGGREGATES
from panes.plan.expressions import Aggregate, Column
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.state.buffers.base import State

WINDOW, SHORT_WINDOW = 100_000, 20_000
PANES = (20, 100, 500)
SIZES = range(1, 11)
STARTS = 100
REQUESTS, UDP = "web-requests.parquet", "lbl-udp.parquet"

SCAN = nodes.StreamScan("s", "s", Schema.of([("s.v", BIGINT)]))
Values = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """What one window gave, for one k."""

    k: int
    threshold: float
    """As a share of the window."""
    over: int
    """Values that occur more often than the threshold."""
    reported: int
    pairs: int
    """Values with their counts on all lists."""
    error: float | None
    """By how much the counts of reported values are too low on average, as a share of them."""


@dataclass(frozen=True)
class Average:
    """The trials of one stream, size of panes and k; what figure 6.3 shows."""

    stream: str
    pane: int
    k: int
    threshold: float
    over: float
    reported: float
    found: float | None
    """The share of the values over the threshold that are reported; None where there never are any."""
    pairs: float
    error: float | None
    bytes: int
    """The state that is kept for the window."""
    exact_bytes: int
    """The same for the counts of all values."""


def streams(traces: Path | None) -> Iterator[tuple[str, Values, int]]:
    """The values of each stream, in the order of time, and how many of them a window has."""
    yield "sources of generated packets", packets(1_000_000).column("src").to_numpy().astype(np.int64), WINDOW
    if traces is not None and (traces / REQUESTS).exists():
        requests = pq.read_table(traces / REQUESTS, columns=["user", "url_id"])
        yield "users of web requests", requests.column("user").to_numpy(), WINDOW
        yield "pages of web requests", requests.column("url_id").to_numpy(), WINDOW
    if traces is not None and (traces / UDP).exists():
        read = pq.read_table(traces / UDP, columns=["src"])
        yield "addresses of UDP packets", read.column("src").to_numpy(), SHORT_WINDOW


def trial(values: Values, pane: int, k: int) -> Trial:
    """What the operators answer for one window."""
    running = _Running.of(values, pane, [_call("frequent", k), _call("frequent_threshold", k)])
    (row,) = running.answer.to_pylist()
    exact = dict(zip(*np.unique(values, return_counts=True), strict=True))
    threshold, found = row["frequent_threshold"], row["frequent"] or []
    errors = [1 - item["at_least"] / exact[item["value"]] for item in found]
    over = sum(int(count) > threshold for count in exact.values())
    (listed,) = running.heaviest.lists.values()
    error = float(np.mean(errors)) if errors else None
    return Trial(k, threshold / len(values), over, len(found), listed.rows, error)


@dataclass(frozen=True)
class _Running:
    """The operators of a query over one window, whose tuples are counted as time is: each takes one instant."""

    heaviest: HeaviestOfPanes
    groups: GroupBy
    answer: pa.Table

    @classmethod
    def of(cls, values: Values, pane: int, aggregates: Sequence[Aggregate]) -> _Running:
        window = RangeWindow(len(values), pane)
        node = nodes.GroupBy(nodes.Window(SCAN, window), (), tuple(aggregates))
        ts = np.arange(1, len(values) + 1)
        enters, leaves = window.lifetime(ts, ts)
        rows = pa.table({"s.v": values, TS: enters, EXP: leaves})
        heaviest, groups = HeaviestOfPanes(node, window), GroupBy(node, every_instant=False)
        delta = Delta(rows, len(values))
        for operator in (PreAggregate(node, combine=True), heaviest, groups):
            delta = operator.process([delta], 0, len(values))
        return cls(heaviest, groups, delta.table)

    @property
    def bytes(self) -> int:
        states: list[State] = [*self.heaviest.buffers.values(), *self.groups.buffers.values()]
        return sum(chunk.table.nbytes for state in states for chunk in state.chunks)


def _call(name: str, k: int) -> Aggregate:
    result = AGGREGATES[name].signature(BIGINT, (k,)).result
    return Aggregate(name, name, Column(BIGINT, "s.v"), result, parameters=(k,))


def averages(
    stream: str, values: Values, pane: int, sizes: Sequence[int], starts: int, window: int
) -> Iterator[Average]:
    """The averages over windows that begin at random places."""
    random = np.random.default_rng(6)
    begins = random.integers(0, len(values) - window + 1, starts)
    found: dict[int, list[Trial]] = {k: [] for k in sizes}
    for begin in begins:
        for k in sizes:
            found[k].append(trial(values[begin : begin + window], pane, k))
    first = values[begins[0] : begins[0] + window]
    exact = _Running.of(first, pane, [_call("top_k_counts", max(sizes))]).bytes
    for k, of_k in found.items():
        kept = _Running.of(first, pane, [_call("frequent", k)]).bytes
        yield _average(stream, pane, k, of_k, kept, exact)


def _average(stream: str, pane: int, k: int, found: Sequence[Trial], kept: int, exact: int) -> Average:
    def mean(numbers: Sequence[float | None]) -> float | None:
        there = [number for number in numbers if number is not None]
        return float(np.mean(there)) if there else None

    return Average(
        stream, pane, k,
        float(np.mean([one.threshold for one in found])),
        float(np.mean([one.over for one in found])),
        float(np.mean([one.reported for one in found])),
        mean([one.reported / one.over if one.over else None for one in found]),
        float(np.mean([one.pairs for one in found])),
        mean([one.error for one in found]),
        kept, exact,
    )  # fmt: skip


PARTS = {
    "threshold": ("a) threshold δ", "% of the window", 100),
    "over": ("b) values over it", "values", 1),
    "reported": ("c) values reported", "values", 1),
    "found": ("d) of those over it", "% reported", 100),
    "pairs": ("e) pairs kept", "pairs", 1),
    "error": ("f) counts too low by", "%", 100),
}
"""The parts of figure 6.3: the title, the unit and what it is multiplied by."""


def draw(stream: str, found: Sequence[Average]) -> None:
    """Figure 6.3 for one stream, as a chart."""
    panels = []
    for name, (title, unit, times) in PARTS.items():
        lines = {
            f"b = {pane}": [
                (float(average.k), times * getattr(average, name))
                for average in found
                if average.pane == pane and getattr(average, name) is not None
            ]
            for pane in sorted({average.pane for average in found})
        }
        panels.append(charts.Panel(title, lines, "k", unit, is_log_x=False, is_log_y=name == "pairs"))
    charts.lines(f"frequent-{stream.split()[0]}", panels)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=Path, help="folder with the traces")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument(
        "--save", action="store_true", help="write the result file and the charts; other streams stay"
    )
    parser.add_argument("--only", default="", help="streams whose name contains this")
    arguments = parser.parse_args()
    results: list[Average] = []
    for stream, values, window in streams(arguments.traces):
        if arguments.only not in stream:
            continue
        found = [
            average
            for pane in PANES
            for average in averages(stream, values, pane, SIZES, arguments.starts, window)
        ]
        print(stream)
        for average in found:
            print("  " + "  ".join(f"{n}={_text(v)}" for n, v in asdict(average).items() if n != "stream"))
        if arguments.save:
            draw(stream, found)
        results += found
    if arguments.save:
        measured = {average.stream for average in results}
        before = (load(NAME) or {"results": []})["results"]
        others = [r for r in before if r["stream"] not in measured]
        save(NAME, [*others, *(asdict(average) for average in results)], starts=arguments.starts)


def _text(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    main()
