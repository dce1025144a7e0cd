from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.lbl_traces import FITTING, Trace, trace_experiments
from benchmarks.paper_queries import UNIT_US
from panes.delta.delta import TS
from tests.benchmarks.test_update_patterns import answer_of

PACKETS = pa.table(
    {
        "ts_us": [5, 7, 20, 21, 30],
        "src": [1, 2, 3, 4, 5],
        "dst": [10, 11, 12, 13, 14],
        "sport": [20, 1024, 23, 1025, 53],
        "dport": [1024, 21, 1024, 80, 53],
    }
)


def written(folder: Path) -> Path:
    for file, _ in FITTING.values():
        pq.write_table(PACKETS, folder / file)
    return folder


def test_ports_say_the_protocol_and_destinations_the_link(tmp_path: Path):
    trace = Trace.read(written(tmp_path) / "lbl-udp.parquet")
    links = trace.links(["link2", "link1"], 0, 0, 2)
    assert links["link1"].select(["src", "proto"]).to_pylist() == [
        {"src": 1, "proto": "ftp"},
        {"src": 3, "proto": "telnet"},
    ]
    assert links["link2"].select(["src", "proto"]).to_pylist() == [
        {"src": 2, "proto": "ftp"},
        {"src": 4, "proto": "other"},
    ]


def test_a_link_has_a_packet_in_each_time_unit_and_begins_anew_when_it_ends(tmp_path: Path):
    trace = Trace.read(written(tmp_path) / "lbl-udp.parquet")
    later = trace.links(["link1", "link2"], 0, 2, 3)
    assert later["link1"]["src"].to_pylist() == [5, 1, 3]
    assert later["link2"]["src"].to_pylist() == [2, 4, 2]
    assert later["link1"][TS].to_pylist() == [3 * UNIT_US, 4 * UNIT_US, 5 * UNIT_US]


def test_queries_run_over_the_traces_that_are_there(tmp_path: Path):
    assert trace_experiments(None) == []
    assert trace_experiments(tmp_path) == []
    experiments = trace_experiments(written(tmp_path))
    assert [e.name for e in experiments][:2] == ["query 1, ftp, LBL TCP", "query 3, LBL TCP"]
    (distinct,) = (e for e in experiments if e.name == "query 2, sources, LBL UDP")
    first, *others = (answer_of(distinct, way) for way in distinct.ways)
    assert len(first) == 5
    assert all(other == first for other in others)
