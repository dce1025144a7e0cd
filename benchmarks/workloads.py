"""The six workloads: what is asked, over which windows, as every engine is asked it.

A window that ends at E holds `E - RANGE <= ts < E` here, as most engines have it; the window of Panes at E holds
`E - RANGE < ts <= E`. So Panes is given every packet one millisecond later, and gives the same answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.traffic import START_MS, standing_queries


@dataclass(frozen=True)
class Workload:
    name: str
    question: str
    cql: str
    """With {range} and {slide}; W5 has one query for each predicate in place of {predicate}."""
    range_ms: int
    slide_ms: int | None = None

    def window(self) -> str:
        slide = "" if self.slide_ms is None else f" SLIDE {self.slide_ms} MILLISECONDS"
        return f"RANGE {self.range_ms} MILLISECONDS{slide}"

    def queries(self) -> Sequence[str]:
        """The standing queries in CQL."""
        text = self.cql.replace("{window}", self.window())
        if "{predicate}" not in text:
            return [text]
        return [text.replace("{predicate}", bounds.predicate) for bounds in standing_queries()]

    def end_ms(self, k: int) -> int:
        """When window k ends."""
        assert self.slide_ms is not None, f"{self.name} does not slide"
        return START_MS + k * self.slide_ms


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "W1",
            "packets and bytes of each source",
            "SELECT src, count(*) AS n, sum(bytes) AS total FROM packets [{window}] GROUP BY src",
            600_000,
            10_000,
        ),
        Workload(
            "W2",
            "ftp packets of two links with the same source, joined",
            "SELECT a.src, a.ts AS ts0, b.ts AS ts1 FROM packets [{window}] AS a, packets [{window}] AS b "
            "WHERE a.src = b.src AND a.link = 0 AND b.link = 1 AND a.proto = 'ftp' AND b.proto = 'ftp'",
            60_001,  # the engines beside it join packets that are exactly 60 seconds apart
        ),
        Workload(
            "W3",
            "number of distinct pairs of source and destination on a link",
            "SELECT count(*) AS n FROM (SELECT DISTINCT src, dst FROM packets [{window}] WHERE link = 0) AS pairs",
            60_000,
            1_000,
        ),
        Workload(
            "W4",
            "packets of a link whose source is not on another",
            "SELECT a.src, a.dst, a.bytes FROM packets [{window}] AS a WHERE a.link = 0 AND NOT EXISTS "
            "(SELECT * FROM packets [{window}] AS b WHERE b.link = 1 AND b.src = a.src)",
            60_000,
            1_000,
        ),
        Workload(
            "W5",
            "1,000 standing queries: packets within bounds",
            "SELECT count(*) AS n FROM packets [{window}] WHERE {predicate}",
            60_000,
            10_000,
        ),
        Workload(
            "W6",
            "the ten sources with the most packets",
            "SELECT top_k(src, 10) AS top FROM packets [{window}]",
            600_000,
            10_000,
        ),
    )
}
