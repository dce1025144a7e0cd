"""The figures of docs/answers.md, from the result file of `benchmarks.psoup`, beside what the paper found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks import psoup
from benchmarks.markdown import Content, measured_on, rate, short, table

Lines = Mapping[str, Mapping[int, float]]
"""Of one figure: by line and size."""
KEPT, APPLIED, NOTHING = psoup.WAYS["eager"], psoup.WAYS["lazy"], psoup.WAYS["none"]


def times(one: Mapping[int, float], other: Mapping[int, float], place: Callable[[Sequence[int]], int]) -> str:
    """How many times as much one line has as another, at one of the sizes that both have."""
    at = place(sorted(one.keys() & other.keys()))
    return f"{short(one[at] / other[at])}×"


def responses(lines: Lines) -> str:
    """NoMat beside the others, at the shortest window and at the longest."""
    parts = [
        f"{times(lines[NOTHING], lines[way], min)} of {way} at the shortest window and "
        f"{times(lines[NOTHING], lines[way], max)} at the longest"
        for way in (KEPT, APPLIED)
    ]
    return f"NoMat takes {'; '.join(parts)}"


def intervals(lines: Lines) -> str:
    """The ways by the number of intervals."""
    parts = [
        f"{way} {', '.join(short(lines[way][count]) for count in psoup.INTERVALS)} ms"
        for way in (NOTHING, APPLIED, KEPT)
    ]
    return "; ".join(parts)


def aggregates(lines: Lines) -> str:
    """The ways at the shortest window and at the longest."""
    parts = []
    for way in (APPLIED, NOTHING):
        sizes = sorted(lines[way])
        parts.append(f"{way} {short(lines[way][sizes[0]])} and {short(lines[way][sizes[-1]])} ms")
    return f"{'; '.join(parts)}, at {sizes[0]:,} and {sizes[-1]:,} tuples"


def arrivals(lines: Lines) -> str:
    """Tuples per second with the most queries."""
    most = max(lines["P shared"])
    rates = ", ".join(f"{name} {rate(of_line[most])}" for name, of_line in lines.items())
    return (
        f"with {most:,} queries the index makes PSoup-P {times(lines['P shared'], lines['P unshared'], max)} and "
        f"PSoup-C {times(lines['C shared'], lines['C unshared'], max)} as fast, and PSoup-P is "
        f"{times(lines['P shared'], lines['C shared'], max)} as fast as PSoup-C ({rates} tuples/s)"
    )


def composites(lines: Lines) -> str:
    """How much faster composite tuples are, with the most of them."""
    parts = [
        f"{name} {times(lines[f'{name}, separate'], lines[f'{name}, composite'], max)}"
        for name in psoup.RELATIONS
    ]
    return f"composite tuples are faster: {', '.join(parts)}"


SLOWER = (
    "NoMat is one to two orders of magnitude slower than the others, and the more so the longer the window"
)
FINDINGS: Mapping[str, tuple[str, Callable[[Lines], str]]] = {
    "7a": (SLOWER, responses),
    "7b": (SLOWER, responses),
    "8": (SLOWER, responses),
    "table 2": (
        "with 1, 2 and 4 intervals NoMat takes 0.39, 0.49 and 0.83 ms, PSoup-P 0.047, 0.024 and 0.013, "
        "PSoup-C 0.057, 0.021 and 0.0035: fewer tuples pass",
        intervals,
    ),
    "6": ("an aggregate over any window takes the logarithm of its tuples", aggregates),
    "9": (
        "PSoup-P with the query index takes ten times as many tuples per second as without, and a hundred times "
        "as many as PSoup-C",
        arrivals,
    ),
    "11": (
        "composite tuples are twice as fast where the shared condition is an equality, faster where the join is, "
        "and slower where both are inequalities",
        composites,
    ),
}
"""By figure, what the paper found, and the same here; 6 is the section about aggregates."""


def psoup_tables(content: Content) -> str:
    """What the paper found beside what is found here, and the charts."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for point in content["results"]:
        found.setdefault(point["figure"], {}).setdefault(point["line"], {})[point["x"]] = point["y"]
    rows = [
        [figure, paper, told(found[figure])] for figure, (paper, told) in FINDINGS.items() if figure in found
    ]
    return "\n\n".join(
        [
            measured_on(content),
            table(["figure", "the paper", "here"], rows, left=3),
            "![response times, arrival rates and composite tuples](charts/psoup.svg)",
        ]
    )
