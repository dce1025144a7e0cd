"""Pathway: its tables and temporal operators, CSV in, two workers, all input as one batch.

Its tables compute the checksums themselves, so that only one row leaves.
"""

from __future__ import annotations

import os
import time

os.environ.setdefault("PATHWAY_THREADS", "2")

import numpy as np
import pathway as pw

from benchmarks.engine import Outcome
from benchmarks.traffic import Dataset, dataset, standing_queries
from benchmarks.workloads import WORKLOADS, Workload

this, reducers, temporal = pw.this, pw.reducers, pw.temporal


class Packet(pw.Schema):
    ts: int
    link: int
    src: int
    dst: int
    proto: str
    bytes: int


class PathwayTables:
    def run(self, workload: str, rows: int, files: int) -> Outcome:
        data = dataset(rows, files, kind="csv")
        pw.internals.parse_graph.G.clear()
        packets = pw.io.csv.read(str(data.folder), schema=Packet, mode="static")
        answer = _Asked(WORKLOADS[workload], data, packets).answer()
        found: dict[str, int] = {}

        def note(key: object, row: dict[str, int], time: int, is_addition: bool) -> None:  # noqa: ARG001
            if is_addition:
                found.update(row)

        pw.io.subscribe(answer, on_change=note)
        began = time.perf_counter()
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
        seconds = time.perf_counter() - began
        return Outcome(seconds, "|".join(str(found[name]) for name in sorted(found)))

    def close(self) -> None:
        pass


def engine() -> PathwayTables:
    return PathwayTables()


class _Asked:
    def __init__(self, asked: Workload, data: Dataset, packets: pw.Table) -> None:
        self._asked, self._data, self._packets = asked, data, packets
        self._start = asked.end_ms(0) if asked.slide_ms else 0

    def answer(self) -> pw.Table:
        return getattr(self, f"_{self._asked.name.lower()}")()

    def _w1(self) -> pw.Table:
        groups = self._over_windows(
            self._packets, by=self._packets.src, n=reducers.count(), total=reducers.sum(this.bytes)
        )
        mixed = groups.n + groups.total % 9973
        groups = groups.select(
            groups.n, groups.total, hash=(groups.key + 1 + 5003 * self._slide(groups)) * mixed
        )
        return groups.reduce(
            c0=reducers.count(),
            c1=reducers.sum(groups.n),
            c2=reducers.sum(groups.total),
            c3=reducers.sum(groups.hash),
        )

    def _w2(self) -> pw.Table:
        packets = self._packets
        left, right = (packets.filter((packets.link == link) & (packets.proto == "ftp")) for link in (0, 1))
        near = temporal.interval(-60_000, 60_000)
        pairs = temporal.interval_join(left, right, left.ts, right.ts, near, left.src == right.src)
        return pairs.select(src=left.src).reduce(c0=reducers.count())

    def _w3(self) -> pw.Table:
        pairs = self._packets.filter(self._packets.link == 0).select(
            this.ts, pair=this.src * 20_000 + this.dst
        )
        return self._number(self._over_windows(pairs, n=reducers.count_distinct(this.pair)))

    def _w4(self) -> pw.Table:
        packets = self._packets.filter(self._packets.link <= 1)
        packets = packets.select(this.ts, this.src, others=this.link, wanted=1 - this.link)
        counts = self._over_windows(
            packets, by=packets.src, n=reducers.sum(this.wanted), others=reducers.sum(this.others)
        )
        return self._number(counts.filter(counts.others == 0))

    def _w5(self) -> pw.Table:
        queries = standing_queries()
        low, high, first, last = (
            np.array([getattr(query, name) for query in queries]) for name in ("low", "high", "first", "last")
        )
        wanted = np.array([query.proto or "" for query in queries])

        def matching(size: int, dst: int, proto: str) -> tuple[int, ...]:
            of_proto = (wanted == "") | (wanted == proto)
            within = (low <= size) & (size < high) & (first <= dst) & (dst < last)
            return tuple(np.flatnonzero(within & of_proto).tolist())

        packets = self._packets
        found = pw.apply_with_type(matching, tuple[int, ...], packets.bytes, packets.dst, packets.proto)
        matches = packets.select(packets.ts, query=found).flatten(this.query)
        counts = self._over_windows(matches, by=matches.query, n=reducers.count())
        counts = counts.select(counts.n, hash=(counts.key + 1 + 1009 * self._slide(counts)) * counts.n)
        return counts.reduce(c0=reducers.sum(counts.n), c1=reducers.sum(counts.hash))

    def _w6(self) -> pw.Table:
        counts = self._over_windows(self._packets, by=self._packets.src, n=reducers.count())
        counts = counts.select(counts.end, pair=pw.make_tuple(-counts.n, counts.key))
        lists = counts.groupby(counts.end).reduce(counts.end, pairs=reducers.sorted_tuple(counts.pair))
        start, slide = self._start, self._asked.slide_ms or 1

        def top(end: int, pairs: tuple[tuple[int, int], ...]) -> tuple[int, int, int]:
            k = (end - start) // slide
            best = [(rank, -negative, src) for rank, (negative, src) in enumerate(pairs[:10], 1)]
            hash_ = sum((rank + 11 * (src + 1) + 60_000 * k) * n for rank, n, src in best)
            return len(best), sum(n for _, n, _ in best), hash_

        sums = lists.select(found=pw.apply_with_type(top, tuple[int, int, int], lists.end, lists.pairs))
        sums = sums.select(a=sums.found[0], b=sums.found[1], c=sums.found[2])
        return sums.reduce(c0=reducers.sum(sums.a), c1=reducers.sum(sums.b), c2=reducers.sum(sums.c))

    def _over_windows(
        self, rows: pw.Table, by: pw.ColumnExpression | None = None, **aggregates: pw.ColumnExpression
    ) -> pw.Table:
        """Aggregates over all windows that are complete, by a key if there is one."""
        windows = temporal.sliding(hop=self._asked.slide_ms, duration=self._asked.range_ms)
        if by is None:
            groups = rows.windowby(rows.ts, window=windows).reduce(end=this._pw_window_end, **aggregates)
        else:
            groups = rows.windowby(rows.ts, window=windows, instance=by).reduce(
                key=this._pw_instance, end=this._pw_window_end, **aggregates
            )
        return groups.filter(groups.end <= self._data.last_ms)

    def _slide(self, groups: pw.Table) -> pw.ColumnExpression:
        return (groups.end - self._start) // self._asked.slide_ms

    def _number(self, counts: pw.Table) -> pw.Table:
        counts = counts.select(counts.n, hash=self._slide(counts) * counts.n)
        return counts.reduce(c0=reducers.sum(counts.n), c1=reducers.sum(counts.hash))
