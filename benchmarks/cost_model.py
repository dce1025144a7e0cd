"""How well plans are costed, without Spark: `python -m benchmarks.cost_model [rows] [cpu] [ranks] [defaults]`.

rows      the six workloads, with what was measured of them in one part of their traffic: rows that each step is
          expected to give in another part, beside those that were counted
cpu       the same for CPU time, which is the utilization of one core
ranks     the queries of the update-patterns paper under every strategy: whether they are in the same order by the
          expected cost, from defaults alone, as by the measured one
defaults  what operators cost in all of these runs, per span and per row, beside what is assumed of them
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from operator import add
from statistics import fmean

import numpy as np
import pyarrow as pa

from benchmarks.paper_queries import EXPERIMENTS, UNIT_US, Experiment, Links, Way
from benchmarks.plan_run import NUMBER, PlanRun
from benchmarks.result_files import save
from benchmarks.traffic import START_MS, packets
from benchmarks.workloads import WORKLOADS, Workload
from panes.delta.delta import TS
from panes.language import bind, parse
from panes.language.statements import CreateStream, SelectQuery
from panes.operators.measures import STORE, Measures
from panes.optimizer.assumed import assumed_cost
from panes.optimizer.cost import PlanCost, plan_cost
from panes.optimizer.cost_sums import CostSums, costs_of
from panes.optimizer.known_facts import KnownFacts, facts_after, statistics_of
from panes.optimizer.observed_facts import Observed, ObservedFacts
from panes.optimizer.optimizer import optimize
from panes.optimizer.statistics import EPOCH, Fact, FactName, Statistics
from panes.sharing.group import Group
from panes.sharing.query_index import SliceKey
from panes.sharing.shared_indexes import Slices
from panes.sharing.stream_indexes import StreamIndexes
from panes.sharing.template import templates_of
from panes.stages.explain_tree import StepKey
from panes.stages.make_plan import make_plan
from panes.stages.measure_log import StepMeasures, StepPlace
from panes.stages.physical_plan import PhysicalPlan
from tests.language.corpus import Shelf

PACKETS = (
    "CREATE STREAM packets (ts BIGINT, link INT, src INT, dst INT, proto STRING, bytes INT) "
    "TIMESTAMP BY ts MILLISECONDS"
)
SECONDS = 20
"""Spans of a second that are learned from, and as many that are predicted."""


@dataclass
class Learned:
    """What spans tell of facts. Costs are those of the cheaper half of the spans, as others work on the machine,
    too; what is counted comes from all of them together, so that none counts more than another."""

    plan: PhysicalPlan
    done: list[Mapping[StepPlace, Measures]] = field(default_factory=list)
    _observed: ObservedFacts = field(default_factory=ObservedFacts)

    def add(self, done: Mapping[StepPlace, Measures]) -> None:
        """Learns from a span."""
        self.done.append(done)

    @property
    def costs(self) -> KnownFacts:
        found: KnownFacts = {}
        for number, done in enumerate(cheaper_half(self.done)):
            observed = self._observed.of({NUMBER: self.plan}, frozenset(), done, {})
            found = facts_after(found, Observed(costs=observed.costs), {}, number)
        return found

    @property
    def average(self) -> Mapping[StepPlace, Measures]:
        """What steps did per span, and what they held."""
        found: dict[StepPlace, Measures] = {}
        for place, one in ((place, one) for done in self.done for place, one in done.items()):
            found[place] = found.get(place, Measures()) + one
        names = [f.name for f in fields(Measures)]
        return {
            place: Measures(**{name: getattr(one, name) / len(self.done) for name in names})
            for place, one in found.items()
        }

    def statistics(self, rates: Mapping[str, float], span: float) -> Statistics:
        """All facts, at rates of streams, where spans take some seconds."""
        average = self.average
        before = {place: StepMeasures(0, span, one, one) for place, one in average.items()}
        observed = self._observed.of({NUMBER: self.plan}, frozenset(), average, before)
        known = facts_after(self.costs, Observed(ratios=observed.ratios), {}, len(self.done))
        facts = {**statistics_of(known).facts, FactName("span", EPOCH): Fact(span, 1)}
        facts |= {FactName("rate", stream): Fact(rate, 1) for stream, rate in rates.items()}
        return Statistics(facts)


def cheaper_half(spans: Sequence[Mapping[StepPlace, Measures]]) -> Sequence[Mapping[StepPlace, Measures]]:
    """The spans that took the least CPU time."""
    return sorted(spans, key=cpu_of)[: (len(spans) + 1) // 2]


def cpu_of(done: Mapping[StepPlace, Measures]) -> float:
    """The CPU seconds of a span."""
    return sum(one.cpu_us for one in done.values()) / 1e6


@dataclass(frozen=True)
class Compared:
    """A step, with what it was expected to do per second and what it did."""

    key: StepKey
    rows: float
    counted: float
    cpu: float
    spent: float


def workload_plan(workload: Workload, shorter: int, queries: int) -> tuple[PhysicalPlan, Slices | None]:
    """The plan of a workload whose windows are so many times shorter; of W5 that of its first queries."""
    (stream,) = parse(PACKETS)
    assert isinstance(stream, CreateStream)
    shelf = Shelf({stream.name: stream})
    slide = None if workload.slide_ms is None else workload.slide_ms // shorter
    shorter_one = replace(workload, range_ms=workload.range_ms // shorter, slide_ms=slide)
    plans = []
    for sql in shorter_one.queries()[:queries]:
        (query,) = parse(sql)
        assert isinstance(query, SelectQuery)
        plans.append(optimize(bind(query, shelf)))
    if len(plans) == 1:
        return make_plan(plans[0]), None
    group = Group.of(plans[0], templates_of(plans[0])[0].key)
    group.update(dict(enumerate(plans)))
    slices = {SliceKey(0, number): mine for number, mine in enumerate(group.slices)}
    return make_plan(group.template.plan), tuple(StreamIndexes().update(slices).values())


def traffic(spans: int, length: float = 1.0) -> Iterator[tuple[pa.Table, int]]:
    """The packets of spans of some seconds, each with the clock at its end."""
    table = packets(int((spans * length + 5) * 1_000))
    times = table.column("ts").to_numpy()
    clocks = START_MS + (1000 * length * np.arange(spans + 1)).astype(np.int64)
    ends = np.searchsorted(times, clocks, side="right")
    for number in range(spans):
        rows = table.slice(ends[number], ends[number + 1] - ends[number])
        yield (
            rows.append_column(TS, pa.array(rows.column("ts").to_numpy() * 1000)),
            int(clocks[number + 1]) * 1000,
        )


def compared(
    workload: Workload, *, shorter: int = 1, queries: int = 1_000, seconds: int = SECONDS, ahead: bool = True
) -> list[Compared]:
    """The steps of a workload: facts are learned from some seconds once its windows are full, and as many that
    follow are predicted; without `ahead` those themselves."""
    plan, members = workload_plan(workload, shorter, queries)
    warm = workload.range_ms // shorter // 1000 + 2
    run, learned = PlanRun(plan, members), Learned(plan)
    came, spans = 0, []
    for number, (rows, clock) in enumerate(traffic(warm + seconds + ahead * seconds)):
        done = run.span({"packets": rows}, clock)
        if number >= warm:
            spans.append(done)
        if warm <= number < warm + seconds:
            learned.add(done)
            came += rows.num_rows
    statistics = learned.statistics({"packets": came / seconds}, 1.0)
    return list(_beside(plan_cost(plan, statistics), spans[-seconds:]))


def _beside(cost: PlanCost, done: Sequence[Mapping[StepPlace, Measures]]) -> Iterator[Compared]:
    for key, step in cost.steps.items():
        if key.step == STORE:
            continue  # nothing is written here
        found = [one.get(StepPlace(NUMBER, *key), Measures()) for one in done]
        rows = sum(m.rows_out if key.step != "answer" else m.rows_in for m in found) / len(done)
        cheap = [one.get(StepPlace(NUMBER, *key), Measures()) for one in cheaper_half(done)]
        cpu = sum(m.cpu_us for m in cheap) / 1e6 / len(cheap)
        yield Compared(key, step.rows_out, rows, step.cpu, cpu)


@dataclass(frozen=True)
class Ranked:
    """A query of the paper under a strategy, with what it costs per second of event time."""

    experiment: str
    way: str
    window: int
    cpu: float
    spent: float


def ranked(experiment: Experiment, way: Way, window: int, costs: list[KnownFacts]) -> Ranked:
    """The expected cost of a query, from defaults and the rows that were counted, beside the measured one. What
    its operators cost is added to `costs`."""
    sql = (way.sql or experiment.sql).replace("{w}", f"RANGE {window} MILLISECONDS")
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    plan = make_plan(
        optimize(bind(query, Links.made())),
        strategy=way.strategy,
        calendar_days=way.calendar_days,
        leaves_early=way.leaves_early,
    )
    run, learned = PlanRun(plan), Learned(plan)
    links, units = sorted(plan.streams), 1_000
    lengths = [max(units, window // 20)] * (window // max(units, window // 20) + 1) + [units] * 2 * SECONDS
    first = 0
    gc.disable()
    for number, length in enumerate(lengths):
        arrivals = experiment.traffic.links(links, window, first, length)
        first += length
        done = run.span(arrivals, first * UNIT_US)
        if number >= len(lengths) - SECONDS:
            learned.add(done)
    gc.enable()
    costs.append(learned.costs)
    statistics = learned.statistics(dict.fromkeys(links, 1e6 / UNIT_US), units * UNIT_US / 1e6)
    facts = {name: fact for name, fact in statistics.facts.items() if name.kind != "cost"}
    cost = plan_cost(plan, Statistics(facts))
    expected = sum(step.cpu for key, step in cost.steps.items() if key.step != STORE)
    spent = fmean(map(cpu_of, cheaper_half(learned.done)))
    return Ranked(experiment.name, way.name, window, expected, spent)


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's: 1 when both are in the same order."""
    places = [np.argsort(np.argsort(values)) for values in np.array(pairs).T]
    return float(np.corrcoef(places[0], places[1])[0, 1])


def print_workloads(names: Sequence[str], *, of_cpu: bool) -> list[dict[str, object]]:
    """Compares what is expected of the workloads with what is measured."""
    found: list[dict[str, object]] = []
    for name in names:
        steps = compared(WORKLOADS[name], seconds=60)
        pairs = [(s.cpu, s.spent) if of_cpu else (s.rows, s.counted) for s in steps]
        expected, measured = (sum(values) for values in zip(*pairs, strict=True))
        off = max(abs(e - m) for e, m in pairs) / measured
        unit = "of a core" if of_cpu else "rows/s"
        print(
            f"{name}  expected {expected:>10,.3f} {unit}, measured {measured:>10,.3f}: "
            f"{expected / measured - 1:+.1%}; the step that is off most, by {off:.1%} of all",
            flush=True,
        )
        found.append({"workload": name, "expected": expected, "measured": measured, "of": unit})
    return found


def print_ranks(costs: list[KnownFacts], windows: Sequence[int]) -> list[dict[str, object]]:
    """Compares the order of the queries of the paper by expected and by measured cost."""
    found = []
    for window in windows:
        for experiment in EXPERIMENTS:
            for way in experiment.ways:
                found.append(ranked(experiment, way, window, costs))
                one = found[-1]
                print(
                    f"{one.experiment:<18}{one.way:<36}{one.window:>9,}"
                    f"{1000 * one.cpu:>10.2f} ms/s expected{1000 * one.spent:>10.2f} measured",
                    flush=True,
                )
    both = rank_correlation([(one.cpu, one.spent) for one in found])
    print(f"rank correlation {both:.3f}")
    return [asdict(one) for one in found]


def print_defaults(costs: Sequence[KnownFacts]) -> None:
    """What operators cost in all runs together, beside what is assumed."""
    together: dict[str, CostSums] = {}
    for known in costs:
        for name, sums in known.items():
            before = together.get(name.name)
            together[name.name] = sums.sums if before is None else tuple(map(add, before, sums.sums))
    for operator, sums in sorted(together.items()):
        parts = costs_of(operator, sums)
        shown = (
            f"{part} {value:.3g} (assumed {assumed_cost(operator, part):.3g})"
            for part, value in parts.items()
        )
        print(f"{operator:<24}{'  '.join(shown)}")


def workload_costs() -> list[KnownFacts]:
    """What operators cost in the workloads, in short spans and in long ones."""
    found = []
    for name, workload in WORKLOADS.items():
        for length in (0.1, 1.0, 4.0):
            plan, members = workload_plan(workload, 10, 100)
            run, learned = PlanRun(plan, members), Learned(plan)
            warm = workload.range_ms / 10_000 / length
            for number, (rows, clock) in enumerate(traffic(int(warm) + 20, length)):
                done = run.span({"packets": rows}, clock)
                if number > warm:
                    learned.add(done)
            found.append(learned.costs)
        print(f"{name} has run", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["rows", "cpu", "ranks", "defaults"])
    parser.add_argument("--only", nargs="+", default=list(WORKLOADS), help="workloads")
    parser.add_argument(
        "--windows", type=int, nargs="+", default=[2_000, 20_000], help="of the paper's queries"
    )
    parser.add_argument("--dry", action="store_true", help="only print; write no results")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    costs: list[KnownFacts] = []
    results: dict[str, object] = {}
    if "rows" in arguments.parts:
        results["rows"] = print_workloads(arguments.only, of_cpu=False)
    if "cpu" in arguments.parts:
        results["cpu"] = print_workloads(arguments.only, of_cpu=True)
    if "ranks" in arguments.parts:
        results["ranks"] = print_ranks(costs, arguments.windows)
    if "defaults" in arguments.parts:
        print_defaults([*costs, *workload_costs()])
    if not arguments.dry:
        save("cost_model", [results])


if __name__ == "__main__":
    main()
