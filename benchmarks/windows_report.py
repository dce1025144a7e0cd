"""What aggregates over windows of their own cost, from the result file of `benchmarks.standing_queries`."""

from __future__ import annotations

from benchmarks.markdown import Content, measured_on, short, table
from benchmarks.standing_queries import DIFFERENT

AIM = 3.0
"""How many times as much a thousand of them are to cost as ten, at most."""


def windows_table(content: Content) -> str:
    """The costs by the number of queries."""
    found = {(r["curve"], r["x"]): float(r["y"]) for r in content["results"]}
    cpu = f"{DIFFERENT}, of all processors"
    counts = sorted(x for curve, x in found if curve == cpu)
    rows = [
        ["time of all processors, s", *(short(found[cpu, count]) for count in counts)],
        ["kept, MB", *(short(found[f"{DIFFERENT}, kept", count]) for count in counts)],
        ["`invoke`, ms", *(short(found[f"{DIFFERENT}, invoke", count]) for count in counts)],
    ]
    ratio = found[cpu, counts[-1]] / found[cpu, counts[0]]
    missed = "" if ratio <= AIM else " ✗"
    return (
        f"{measured_on(content)}\n\n"
        + table([f"registered {DIFFERENT}", *(f"{count:,}" for count in counts)], rows)
        + f"\n\n{counts[-1]:,} cost {short(ratio)} times as much as {counts[0]}{missed}; "
        + f"the aim is {AIM:g} at most."
    )
