from __future__ import annotations

from dataclasses import asdict

from benchmarks.lazy_expiration import lazy_expiration_table, measure
from benchmarks.paper_queries import EXPERIMENTS

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 24, "system": "Linux 6", "python": "3.11.9"}


def test_the_more_may_be_dead_the_more_is_kept():
    (telnet,) = (e for e in EXPERIMENTS if e.name == "query 1, telnet")
    eager, lazy = (measure(telnet, setting, 600, 3, 6) for setting in ("1%", "100%"))
    assert eager.alive_rows == lazy.alive_rows
    assert eager.alive_rows <= eager.state_rows < lazy.state_rows
    text = lazy_expiration_table(
        {"measured": "today", "machine": MACHINE, "versions": {}, "results": [asdict(lazy)]}
    )
    assert f"| 100% | {lazy.ms_per_1000:.2f} | {lazy.state_rows:,.0f} |" in text
