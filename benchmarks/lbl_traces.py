"""Traces of the Lawrence Berkeley Laboratory as links, for the queries of the update-patterns paper.

As there, a trace is split by destination: that simulates outgoing links. The n-th packet of a link comes in its
n-th time unit, and the trace begins anew when it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.paper_queries import EXPERIMENTS, UNIT_US, Experiment
from panes.delta.delta import TS

PORTS = {"ftp": (20, 21), "telnet": (23,)}
FITTING = {
    "LBL TCP": ("lbl-tcp-flags.parquet", ("query 1, ftp", "query 3", "query 5")),
    "LBL UDP": ("lbl-udp.parquet", ("query 2, sources", "query 2, pairs", "query 3", "query 4")),
}
"""The file of each trace, and the queries that it has enough tuples for. UDP packets have no protocol to select,
and those of telnet are 3 percent of the TCP packets."""
WINDOWS = (2_000, 10_000)
"""In time units. A link of the TCP packets has 4,000 to 7,200 of them: the larger window holds it about twice."""


@dataclass(frozen=True)
class Trace:
    """The packets of a trace, in the order of time."""

    packets: pa.Table

    @classmethod
    def read(cls, path: Path) -> Trace:
        read = pq.read_table(path, columns=["src", "dst", "sport", "dport"])
        protocol = pa.array(["other"] * read.num_rows)
        for name, ports in PORTS.items():
            either = (pc.is_in(read.column(end), pa.array(ports, pa.int64())) for end in ("sport", "dport"))
            protocol = pc.if_else(pc.or_(*either), name, protocol)
        return cls(read.select(["src", "dst"]).append_column("proto", protocol).combine_chunks())

    def links(self, names: Sequence[str], window: int, first: int, units: int) -> dict[str, pa.Table]:  # noqa: ARG002
        """The packets of some time units, whose destinations say on which of the links they are."""
        link = self.packets.column("dst").to_numpy() % len(names)
        tables = {}
        for number, name in enumerate(sorted(names)):
            mine = np.flatnonzero(link == number)
            units_of = first + np.arange(units)
            rows = self.packets.take(pa.array(mine[units_of % len(mine)]))
            tables[name] = rows.append_column(TS, pa.array((units_of + 1) * UNIT_US))
        return tables


def trace_experiments(folder: Path | None) -> list[Experiment]:
    """The queries over the traces that lie in a folder."""
    found = []
    for trace, (file, queries) in FITTING.items():
        if folder is not None and (folder / file).exists():
            packets = Trace.read(folder / file)
            found += [
                replace(experiment, name=f"{experiment.name}, {trace}", traffic=packets, has_aim=False)
                for experiment in EXPERIMENTS
                if experiment.name in queries
            ]
    return found
