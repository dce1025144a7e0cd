"""What `benchmarks.update_patterns` measured, as charts and as tables beside the words of the paper (Golab and
Özsu, 2005)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks import charts
from benchmarks.lbl_traces import FITTING
from benchmarks.markdown import Content, measured_on, short, table
from benchmarks.paper_queries import EXPERIMENTS, Experiment

NAME = "update_patterns"
PAPERS_LARGEST, LARGEST = 200_000, 2_000_000
"""Windows, in time units."""
SPAN = 1_000
"""Tuples in a span."""
AIMED_AT = [(window, span) for window in (PAPERS_LARGEST, LARGEST) for span in (SPAN, 10_000)]
"""Windows and spans in which UPA is to be at least as fast as the others."""

CHARTS = "update-patterns"
"""How the names of the charts begin."""

Result = Mapping[str, Any]


def update_pattern_tables(content: Content) -> str:
    """The figures of the paper beside those from here, times, and where the aim is met."""
    results = content["results"]
    parts = [
        measured_on(content),
        figures_table(results),
        times_table(results, [e.name for e in EXPERIMENTS]),
    ]
    parts += [aims_table(results), *_traces(results)]
    return "\n\n".join(parts)


def figures_table(results: Sequence[Result]) -> str:
    """A line for each figure: what the paper found, and what was found here, at its largest window and at ten
    times that."""
    rows = []
    for experiment in EXPERIMENTS:
        here = _here(results, experiment, lambda r: f"{r['ms_per_1000']:.1f}")
        rows.append([experiment.figures, experiment.name, experiment.title, experiment.found, f"{here} ms"])
    for experiment in EXPERIMENTS:
        if experiment.space is not None:
            figures, found = experiment.space
            here = _here(results, experiment, lambda r: f"{r['state_bytes'] / 1e6:.2f}")
            rows.append([figures, experiment.name, "state", found, f"{here} MB"])
    rows.sort(key=lambda row: int(row[0].split(",")[0]))
    header = ["figure", "query", "what it asks", "the paper", f"here, at {PAPERS_LARGEST:,}; at {LARGEST:,}"]
    return table(header, rows, left=5)


def _here(results: Sequence[Result], experiment: Experiment, cell: Callable[[Result], str]) -> str:
    found = []
    for way in experiment.ways:
        mine = {r["window"]: r for r in _of(results, experiment.name, SPAN) if r["way"] == way.name}
        cells = [cell(mine[window]) for window in (PAPERS_LARGEST, LARGEST) if window in mine]
        if cells:
            found.append(f"{way.name}: {'; '.join(cells)}")
    return " — ".join(found)


def times_table(results: Sequence[Result], names: Sequence[str]) -> str:
    """Milliseconds by window, and what is touched and kept at the largest one."""
    windows = sorted({r["window"] for name in names for r in _of(results, name, SPAN)})
    rows = []
    for name in names:
        for way in dict.fromkeys(r["way"] for r in _of(results, name, SPAN)):
            mine = {r["window"]: r for r in _of(results, name, SPAN) if r["way"] == way}
            largest = mine.get(windows[-1])
            rows.append(
                [
                    name,
                    way,
                    *(f"{mine[w]['ms_per_1000']:.1f}" if w in mine else "" for w in windows),
                    f"{largest['touched_per_1000']:,.0f}" if largest else "",
                    f"{largest['state_bytes'] / 1e6:.2f}" if largest else "",
                ]
            )
    header = ["query", "strategy", *(f"{w:,}" for w in windows), "rows touched", "state, MB"]
    return table(header, rows, left=2)


def aims_table(results: Sequence[Result]) -> str:
    """Where UPA is at least as fast as the others, with less state: of those that the paper has, and of all."""
    rows = [
        [
            experiment.name,
            f"{window:,}",
            f"{span:,}",
            f"{upa['ms_per_1000']:.2f}",
            *(cell for others in (papers, every) for cell in _beside(upa, others, experiment.has_aim)),
            short(upa["state_bytes"] / min(r["state_bytes"] for r in papers)),
        ]
        for experiment, window, span, upa, papers, every in _compared(results)
    ]
    header = [
        "query",
        "window",
        "span",
        "UPA, ms",
        "best of the paper's",
        "UPA ÷ it",
        "",
        "best of all",
        "UPA ÷ it",
    ]
    return table([*header, "", "UPA's state ÷ the least"], rows)


def _compared(
    results: Sequence[Result],
) -> Iterator[tuple[Experiment, int, int, Result, list[Result], list[Result]]]:
    """Each query at each window and span of the aim: UPA, the paper's other ways, and all other ways."""
    for experiment in EXPERIMENTS:
        others = [way for way in experiment.ways if not way.is_upa]
        for window, span in AIMED_AT:
            mine = {r["way"]: r for r in _of(results, experiment.name, span) if r["window"] == window}
            if mine.keys() >= {"UPA", *(way.name for way in others)}:
                papers = [mine[way.name] for way in others if way.is_papers]
                yield experiment, window, span, mine["UPA"], papers, [mine[way.name] for way in others]


def _took(result: Result) -> float:
    took: float = result["ms_per_1000"]
    return took


def _beside(upa: Result, others: Sequence[Result], has_aim: bool) -> tuple[str, str, str]:
    best = min(others, key=_took)
    ratio = _took(upa) / _took(best)
    verdict = ("met" if ratio <= 1 else "missed ✗") if has_aim else "no aim"
    return f"{best['way']} {_took(best):.2f}", f"{ratio:.2f}", verdict


def _traces(results: Sequence[Result]) -> list[str]:
    """The queries over traces."""
    names = [
        name
        for name in dict.fromkeys(r["experiment"] for r in results)
        if any(name.endswith(f", {trace}") for trace in FITTING)
    ]
    return ["Over the traces:", times_table(results, names)] if names else []


def _of(results: Sequence[Result], name: str, span: int) -> list[Result]:
    return [r for r in results if r["experiment"] == name and r["span"] == span]


def draw(results: Sequence[Result]) -> None:
    """Time, state and rows touched by window, and time by span, with a panel for each experiment."""
    window, span = "window (tuples per link)", "tuples in a span"
    time, state, touched = "ms per 1,000 tuples", "state, MB", "state rows touched per 1,000"
    by_window = [r for r in results if r["span"] == SPAN]
    by_span = [r for r in results if r["window"] == PAPERS_LARGEST]
    charts.lines(f"{CHARTS}-time", _panels(by_window, window, time, "window", lambda r: r["ms_per_1000"]))
    charts.lines(
        f"{CHARTS}-state", _panels(by_window, window, state, "window", lambda r: r["state_bytes"] / 1e6)
    )
    charts.lines(
        f"{CHARTS}-touched", _panels(by_window, window, touched, "window", lambda r: r["touched_per_1000"])
    )
    charts.lines(f"{CHARTS}-spans", _panels(by_span, span, time, "span", lambda r: r["ms_per_1000"]))


def _panels(
    results: Sequence[Result], x: str, y: str, by: str, value: Callable[[Result], float]
) -> list[charts.Panel]:
    panels = []
    for experiment in EXPERIMENTS:
        lines: dict[str, list[tuple[float, float]]] = {}
        for result in results:
            if result["experiment"] == experiment.name:
                lines.setdefault(result["way"], []).append((result[by], value(result)))
        if lines:
            panels.append(
                charts.Panel(experiment.name, {way: sorted(line) for way, line in lines.items()}, x, y)
            )
    return panels
