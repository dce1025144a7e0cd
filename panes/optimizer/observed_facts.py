"""What the steps of plans did in an epoch, as observations of facts.

What there is to observe at a plan is found out once (`_recipe`), because names of facts take long to make. In an
epoch only a limited number of steps is looked at, plan by plan in turn: a thousand queries take the driver no
longer than a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from panes.operators.measures import STORE, Measures
from panes.operators.physical_step import Fragment, PhysicalStep
from panes.optimizer.fact_names import (
    early_name,
    exists_name,
    join_name,
    matched_name,
    output_name,
    selection_name,
    unnest_name,
)
from panes.optimizer.statistics import FactName
from panes.optimizer.step_flow import BRING_TOGETHER
from panes.plan import nodes
from panes.stages.measure_log import Measured, StepPlace
from panes.stages.physical_plan import PhysicalPlan, PhysicalStage
from panes.state.storage.manifest import ANSWER

_STEPS = 1000
"""How many steps are looked at in an epoch."""
_ROWS = 100_000
"""In its first epoch a query runs in processes that have to warm up; with this many rows per span that is
little."""
_SHORT = 0.5
"""How many rows come and go in an epoch that is short, as a share of those that a window holds."""
_NOTHING = Measures()

_Observe = Callable[[Measures, Measures], tuple[float, float]]
"""From what a step did in an epoch, and in the one before: a numerator and a denominator."""


@dataclass
class Observed:
    """What an epoch tells of facts: numerators and denominators, and by operator what tells of its cost."""

    ratios: dict[FactName, tuple[float, float]] = field(default_factory=dict)
    costs: dict[str, list[Measures]] = field(default_factory=dict)

    def add(self, name: FactName, numerator: float, denominator: float) -> None:
        """Adds to what an epoch tells of a fact: several plans may tell of it."""
        old = self.ratios.get(name, (0.0, 0.0))
        self.ratios[name] = old[0] + numerator, old[1] + denominator

    def add_cost(self, operator: str, done: Measures) -> None:
        """Adds to what an epoch tells of the cost of an operator."""
        if done.spans:
            self.costs.setdefault(operator, []).append(done)


@dataclass(frozen=True)
class _Observer:
    """What is observed at a step, at the place that it has in what is measured."""

    place: StepPlace
    operator: str
    facts: tuple[tuple[FactName, _Observe], ...]


class ObservedFacts:
    """Observes the plans that run, which hardly change from epoch to epoch."""

    def __init__(self) -> None:
        self._recipes: dict[int, tuple[PhysicalPlan, tuple[_Observer, ...]]] = {}
        self._next = 0
        """The number of the query with which the next epoch begins."""

    def of(
        self,
        plans: Mapping[int, PhysicalPlan],
        first: frozenset[int],
        done: Mapping[StepPlace, Measures],
        before: Measured,
    ) -> Observed:
        """What the plans that an epoch has run, by number, tell; `first` are those that began with it."""
        observed = Observed()
        for gone in self._recipes.keys() - plans.keys():
            del self._recipes[gone]
        left = _STEPS
        for number in self._in_turn(plans):
            recipe = self._recipe(number, plans[number])
            self._next = number
            if left < len(recipe) and left < _STEPS:
                break
            left -= len(recipe)
            for observer in recipe:
                measures = done.get(observer.place)
                if measures is not None:
                    known = before.get(observer.place)
                    last = _NOTHING if known is None else known.last
                    _observe(observer, measures, last, observed, is_first=number in first)
        else:
            self._next = 0
        return observed

    def _in_turn(self, plans: Mapping[int, PhysicalPlan]) -> list[int]:
        numbers = sorted(plans)
        return [n for n in numbers if n >= self._next] + [n for n in numbers if n < self._next]

    def _recipe(self, number: int, plan: PhysicalPlan) -> tuple[_Observer, ...]:
        known = self._recipes.get(number)
        if known is None or known[0] is not plan:
            known = self._recipes[number] = plan, tuple(_recipe(number, plan))
        return known[1]


def _observe(
    observer: _Observer, measures: Measures, last: Measures, observed: Observed, *, is_first: bool
) -> None:
    if not is_first or measures.rows_in >= _ROWS * measures.spans:
        observed.add_cost(observer.operator, measures)
    for name, observe in observer.facts:
        numerator, denominator = observe(measures, last)
        if denominator > 0:
            observed.add(name, numerator, denominator)


def _recipe(number: int, plan: PhysicalPlan) -> Iterator[_Observer]:
    for place, stage in enumerate(plan.stages):
        for source in stage.inputs:
            for step in source.fragment.steps:
                yield _observer(StepPlace(number, place, source.name, step.name), step, is_whole=False)
        if stage.fragment is not None:
            for step in stage.fragment.steps:
                is_whole = len(step.inputs) > 1 and _is_whole(stage, stage.fragment, step.inputs[1])
                yield _observer(StepPlace(number, place, "", step.name), step, is_whole=is_whole)
        yield _Observer(StepPlace(number, place, "", STORE), STORE, ())
    yield _Observer(StepPlace(number, plan.last, "", ANSWER), ANSWER, ())


def _is_whole(stage: PhysicalStage, fragment: Fragment, place: int) -> bool:
    """Whether every shard has all rows that leave a step."""
    step = fragment.steps[place]
    if step.inputs:
        return all(_is_whole(stage, fragment, below) for below in step.inputs)
    name = dict(step.arguments).get("name")
    return any(source.name == name and source.is_whole for source in stage.inputs)


def _observer(place: StepPlace, step: PhysicalStep, *, is_whole: bool) -> _Observer:
    return _Observer(place, step.operator, tuple(_facts(step, is_whole=is_whole)))


def _facts(step: PhysicalStep, *, is_whole: bool) -> Iterator[tuple[FactName, _Observe]]:
    """What can be observed at a step. It may run in one of several ways; the node says what it does."""
    node, arguments = step.node, dict(step.arguments)
    match step.operator, node:
        case "Select", nodes.Select():
            yield FactName("selectivity", selection_name(node.predicate, node.child)), _passed
        case "Unnest", nodes.Unnest():
            yield FactName("selectivity", unnest_name(node)), _passed
        case "Match", nodes.Matched():
            yield FactName("selectivity", matched_name(node)), _passed
        case "Join", nodes.Join():
            weighted = tuple(arguments[side].is_weighted for side in ("left", "right"))  # type: ignore[attr-defined]
            yield FactName("join", join_name(node)), partial(_joined, is_whole=is_whole, weighted=weighted)
        case "Lookup", nodes.Join():
            yield FactName("join", join_name(node)), _looked_up_in_whole if is_whole else _looked_up
        case (("SemiJoin" | "AntiJoin" | "Lookup"), (nodes.SemiJoin() | nodes.AntiJoin())):
            if not arguments["left"].is_weighted:  # type: ignore[attr-defined]
                # Else a row that leaves comes to it again, as a negative tuple.
                yield FactName("selectivity", exists_name(node)), _given
    if step.operator in BRING_TOGETHER:
        yield FactName("selectivity", output_name(step.operator, node)), _passed
    if isinstance(node, (nodes.AntiJoin, nodes.Except)) and step.operator != "Lookup":
        yield FactName("early", early_name(node)), _left_early


def _passed(done: Measures, _: Measures) -> tuple[float, float]:
    return done.rows_out, done.rows_in


def _given(done: Measures, _: Measures) -> tuple[float, float]:
    return done.positive, done.left_in


def _left_early(done: Measures, _: Measures) -> tuple[float, float]:
    return done.early, done.given


def _joined(
    done: Measures, last: Measures, *, is_whole: bool, weighted: tuple[bool, ...]
) -> tuple[float, float]:
    copies = max(done.spans, 1.0) if is_whole else 1.0  # every shard has counted the whole right side
    came = done.left_in, (done.rows_in - done.left_in) / copies
    held = done.left_rows, done.right_rows / copies
    before = last.left_rows, last.right_rows / copies
    for side in (0, 1):
        if weighted[side] and came[side] > _SHORT * held[side]:
            # Results that come and are taken back in one epoch are not given at all.
            return 0.0, 0.0
    left, right = map(_held, before, held, came)
    # One row may stand for several results where rows have weights.
    return done.given if any(weighted) else done.positive, right * came[0] + left * came[1]


def _looked_up(done: Measures, _: Measures) -> tuple[float, float]:
    return done.rows_out, done.right_rows * done.left_in


def _looked_up_in_whole(done: Measures, _: Measures) -> tuple[float, float]:
    return done.rows_out, done.right_rows / max(done.spans, 1.0) * done.left_in


def _held(before: float, after: float, came: float) -> float:
    """How many rows a window held on average over an epoch.

    While rows come that it did not lose before the end, it grows (or shrinks) from what it held to what it holds.
    Of an epoch that is longer than the window that is only the first part, as when a query begins over history.
    """
    growing = min(1.0, after / came) if came else 1.0
    return after * (1 - growing) + growing * (before + after) / 2
