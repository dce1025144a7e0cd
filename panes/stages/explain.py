"""EXPLAIN: the physical plan of a query as text, or as data for programs, with what was measured if asked for.

Every line is a step that runs: what it does, the pattern of the edge that leaves it as it runs, and its buffers
with the reason for each. Nothing is described that the plan does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from textwrap import TextWrapper
from typing import Any

from panes.answers.answer_index import AnswerIndex
from panes.config import AUTO, INPUT_TRIGGERED, PIGGYBACK, TIME_MESSAGE
from panes.operators.measures import STORE, Measures
from panes.operators.physical_step import BufferPlan
from panes.plan.nodes import SIGNATURE, JoinSynopsis, Node, Select, Synopsis
from panes.plan.order_of_answer import order_of
from panes.plan.patterns import WEAK, WEAKEST, Labeled, answer_pattern
from panes.plan.walk import walk
from panes.query_settings import KEPT, ChosenAnswers
from panes.stages.explain_tree import (
    ExplainedStep,
    StepKey,
    explain_tree,
    logical_tree,
    once_for,
    shards_text,
)
from panes.stages.make_plan import make_plan
from panes.stages.measure_log import StepMeasures
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.step_cost import StepCost
from panes.stages.store_kinds import store_kind
from panes.synopses.definition import group_by_of, panes_text
from panes.synopses.join_definition import cells_text

WIDTH = 100
DEFAULT = "upa"
"""The strategy that needs no mention."""
LEAST = 20
"""Columns that the text of a step has at least."""
_OTHERS = {"answer": "answer", STORE: "segments written"}
"""What is measured besides the steps."""
_STILL_S = 0.001
"""Epochs that move event time by less on average leave it where it is: a run ends with one that moves it by a
microsecond."""
_EXPECTED = ("rows/s", "state", "CPU ms/s")
"""What is expected of a step."""
_FIGURES = (
    "rows in",
    "out",
    "expired",
    "invalid",
    "touched",
    "CPU ms",
    "state rows",
    "state KB",
    "written KB",
)


_EXPIRATION = {
    INPUT_TRIGGERED: "each operator goes by the newest tuple that it has received, and the answer is as of its "
    "newest change",
    TIME_MESSAGE: "an operator that keeps rows runs when rows come to it, or a message that some of those that it "
    "got expire; one shard",
}
"""What is said of ways for time to reach operators that are not the usual one."""


@dataclass(frozen=True)
class Explained:
    """A plan, and what is known of it besides."""

    plan: PhysicalPlan | Node
    """A logical plan when no epoch runs the query: it is answered when somebody asks."""
    shards: int | None = 1
    """None: as many as the cluster has cores, whatever their number."""
    members: int = 0
    """How many queries share the plan as a group; 0 when it runs one query."""
    shared: Mapping[str, int] = field(default_factory=dict)
    """How many other queries compute the same, by the digest of a step."""
    measured: Mapping[StepKey, StepMeasures] | None = None
    """What each step did, if that is to be shown."""
    equals: int = 0
    """How many other queries are equal to it, and share its state."""
    number: int = 0
    """Under which the plan runs, if it does."""
    query: Node | None = None
    """The logical plan of the one query that is asked about, where many share the plan."""
    expected: Mapping[StepKey, StepCost] | None = None
    """What each step is expected to do, if that is to be shown."""
    utilization: Sequence[str] = ()
    """How busy this query and all together keep the cluster, in words."""
    kept: Mapping[str, float] = field(default_factory=dict)
    """The shares that its drop boxes keep now, by stream, where that is not everything."""
    expiration: str = PIGGYBACK
    """How time reaches its operators."""
    answered_from: str = ""
    """Of a query that is not registered: where its answer is found when it is asked once."""
    index: AnswerIndex | None = None
    """Of its answer."""
    answers: ChosenAnswers = KEPT
    """How its answer is had."""
    ways: str = ""
    """The rates at which it is invoked and tuples come, and what each way would cost to have its answer, in words;
    empty while nobody knows how often it is invoked."""
    refresh: str = ""
    """By which deadline its answer is refreshed, in words; empty when it is at every slide."""
    signatures: int | None = None
    """In how many ways the tuples that its synopsis has seen pass the selections of its queries, where they have
    several."""
    synopsis_after: str = ""
    """What becomes of its synopsis with the next epoch, in words, where that is something else."""
    stream_indexes: tuple[str, ...] = ()
    """The indexes of streams that its queries share with those of other groups, in words."""
    store: str = ""
    """What is kept for all queries that share it, in words, where that says more than the plan."""

    @property
    def tree(self) -> ExplainedStep:
        if not isinstance(self.plan, PhysicalPlan):
            return logical_tree(self.plan)
        tree = explain_tree(self.plan, self.shards, self.kept)
        if self.plan.has_store and self.query is not None:
            # What a query does by itself happens when it is invoked, over what is kept for all.
            return logical_tree(self.query, over=tree)
        return tree

    @cached_property
    def inputs(self) -> Mapping[str, int]:
        """How many inputs of the plan are made from the same step before a shuffle, by its digest."""
        found: Counter[tuple[str | None, str | None, str]] = Counter()
        for stage in self.plan.stages if isinstance(self.plan, PhysicalPlan) else ():
            for source in stage.inputs:
                if source.stage is None:
                    # That a stream is read once goes without saying.
                    digests = source.fragment.digests[1:]
                    found.update({(source.stream, source.table, digest) for digest in digests})
        return {digest: count for (_, _, digest), count in found.items()}

    @property
    def pattern(self) -> Labeled:
        if not isinstance(self.plan, PhysicalPlan):
            return answer_pattern(self.plan)
        if self.plan.has_store and self.query is not None:
            return answer_pattern(self.query)
        return Labeled(self.plan.pattern, self.plan.reason)


def explain(explained: Explained) -> str:
    """The plan as text, at most 100 columns wide. Nothing is left out: what does not fit goes on below."""
    tree = explained.tree
    lines = _plan_lines(tree, explained)
    lines += _wrapped(_answer(explained), WIDTH, "", "  ")
    if explained.store:
        lines += _wrapped(explained.store, WIDTH, "", "  ")
    for line in explained.stream_indexes:
        lines += _wrapped(line, WIDTH, "", "  ")
    synopsis = _synopsis(explained)
    if synopsis is not None:
        lines += _wrapped(synopsis, WIDTH, "", "  ")
    if explained.answers.reason:
        lines += _wrapped(f"answers {explained.answers.mode!r}: {explained.answers.reason}", WIDTH, "", "  ")
    if explained.ways:
        lines += _wrapped(f"measured: {explained.ways}", WIDTH, "", "  ")
    if explained.equals:
        others = "1 equal query" if explained.equals == 1 else f"{explained.equals} equal queries"
        lines.append(f"shares its state with {others} (CS8)")
    if explained.refresh:
        lines += _wrapped(f"refresh: {explained.refresh}", WIDTH, "", "  ")
    if explained.expiration in _EXPIRATION:
        text = f"expiration {explained.expiration!r}: {_EXPIRATION[explained.expiration]}"
        lines += _wrapped(text, WIDTH, "", "  ")
    if isinstance(explained.plan, PhysicalPlan) and not depends_on_strategy(explained.plan):
        lines.append(f"strategy {explained.plan.strategy!r} makes no difference to this plan")
    if isinstance(explained.plan, PhysicalPlan) and explained.plan.choice.rules:
        lines += _wrapped(f"rules: {', '.join(explained.plan.choice.rules)}", WIDTH, "", "  ")
    for line in explained.utilization:
        lines += _wrapped(line, WIDTH, "", "  ")
    if explained.answered_from:
        lines += _wrapped(f"asked once it is answered from: {explained.answered_from}", WIDTH, "", "  ")
    if explained.members:
        lines += _wrapped(f"this query: {_own_part(explained)}", WIDTH, "", "  ")
    if explained.measured is not None:
        lines += ["", *_measured_lines(tree, explained.measured)]
        if explained.expected is not None and explained.measured:
            lines += ["", *_compared_lines(tree, explained.expected, explained.measured)]
    return "\n".join(lines)


def explain_json(explained: Explained) -> dict[str, Any]:
    """The plan as data: the same facts as `explain`, uncut, with the reason of every pattern."""
    plan, labeled = explained.plan, explained.pattern
    shards = AUTO if explained.shards is None else explained.shards
    data: dict[str, Any] = {
        "answer": {"pattern": str(labeled.pattern), "reason": labeled.reason, "kept": _kept(explained)},
        "answers": explained.answers._asdict() | ({"measured": explained.ways} if explained.ways else {}),
        "refresh": explained.refresh,
        "plan": _step_json(explained.tree, explained),
    }
    if explained.expiration in _EXPIRATION:
        data[explained.expiration] = True
    if explained.answered_from:
        data["answered_from"] = explained.answered_from
    if isinstance(plan, PhysicalPlan):
        data |= {
            "strategy": plan.strategy,
            "strategy_makes_a_difference": depends_on_strategy(plan),
            "shards": shards,
            "shared_by": explained.members,
            "equal_queries": explained.equals,
            "store": explained.store,
            "stream_indexes": list(explained.stream_indexes),
            "rules": list(plan.choice.rules),
            "utilization": list(explained.utilization),
            "stages": [
                {
                    "shards": shards if stage.is_sharded else 1,
                    "reads": [s.name for s in stage.inputs],
                }
                for stage in plan.stages
            ],
        }
    return data


def depends_on_strategy(plan: PhysicalPlan) -> bool:
    """Whether the default strategy would run other steps, patterns or buffers."""
    return plan.strategy == DEFAULT or _runs(plan) != _runs(make_plan(plan.plan, strategy=DEFAULT))


def _runs(plan: PhysicalPlan) -> list[tuple[object, ...]]:
    fragments = [stage.fragment for stage in plan.stages if stage.fragment is not None]
    return [(s.operator, s.output.pattern, s.buffers) for fragment in fragments for s in fragment.steps]


def _step_json(step: ExplainedStep, explained: Explained) -> dict[str, Any]:
    data: dict[str, Any] = {
        "operator": step.operator,
        "does": step.does,
        "pattern": str(step.pattern),
        "reason": step.reason,
        "buffers": [asdict(b) | {"keys": b.keys and list(b.keys)} for b in step.buffers],
        "columns": {f.name: str(f.type) for f in step.columns},
    }
    if step.orders:
        data["orders"] = list(step.orders)
    if step.lost:
        data["lost_without_restore"] = step.lost
    expected = (explained.expected or {}).get(step.cost_key) if step.cost_key is not None else None
    if expected is not None:
        data["expected"] = asdict(expected)
    if step.key is not None:
        data |= {"stage": step.key.stage, "step": step.key.step}
        if step.key.part:
            shared, inputs = explained.shared.get(step.digest, 0), explained.inputs.get(step.digest, 1)
            data |= {"before_shuffle": step.key.part, "shared_with": shared, "inputs_made_from_it": inputs}
        if explained.measured is not None and step.key in explained.measured:
            found = explained.measured[step.key]
            data["measured"] = {
                "epoch": found.epoch,
                "seconds": found.seconds,
                "last": asdict(found.last),
                "average": asdict(found.smooth),
            }
    data["inputs"] = [_step_json(below, explained) for below in step.inputs]
    return data


def _answer(explained: Explained) -> str:
    labeled = explained.pattern
    return f"answer: {labeled.pattern} ({labeled.reason}), {_kept(explained)}"


def _synopsis(explained: Explained) -> str | None:
    """The synopsis that the query is computed from, and by which rules of sharing; None when there is none."""
    plan = explained.plan
    if not isinstance(plan, PhysicalPlan):
        return None
    if isinstance(plan.plan, JoinSynopsis):
        return f"synopsis {explained.number}: {cells_text(plan.plan)}, shared by {explained.members} (SS3)"
    if not isinstance(plan.plan, Synopsis):
        return None
    group_by = group_by_of(plan.plan)
    has_average = any(a.function == "avg" for a in group_by.aggregates)
    rules = ["SS1"] + ["SS2"] * has_average + ["SS4"] * (SIGNATURE in group_by.keys)
    shared = f"shared by {explained.members} ({', '.join(rules)})"
    if explained.signatures is not None:
        shared = f"{explained.signatures} signatures, {shared}"
    after = f"; {explained.synopsis_after}" if explained.synopsis_after else ""
    return f"synopsis {explained.number}: {panes_text(plan.plan)}, {shared}{after}"


def _kept(explained: Explained) -> str:
    """How the answer is kept."""
    if not isinstance(explained.plan, PhysicalPlan):
        return "computed by SQL over the history whenever it is invoked"
    where = f"on {shards_text(explained.shards if explained.plan.stages[-1].is_sharded else 1)}"
    kind = store_kind(explained.plan.stages[-1].plan)
    if kind is not None:
        return f"read from {kind.read_from} of {explained.members} queries {where}"
    how = "as a log of net rows by expiry"
    if explained.index is not None:
        fragment = explained.plan.stages[-1].fragment
        assert fragment is not None
        how = explained.index.explained(has_ends=fragment.steps[-1].output.pattern in (WEAKEST, WEAK))
    kept = f"kept {how}, with the changes of each epoch, {where}"
    if explained.members:
        kept = f"{kept}, for {explained.members} queries"
    return kept + _when_read(explained)


def _when_read(explained: Explained) -> str:
    """What happens to the rows of an answer when somebody reads them."""
    plan = explained.plan.plan if isinstance(explained.plan, PhysicalPlan) else explained.plan
    order = order_of(explained.query or plan)
    return f", sorted by {', '.join(map(str, order))} when it is read" if order else ""


def _own_part(explained: Explained) -> str:
    """What tells a query from those that share its plan."""
    assert explained.query is not None
    found = [str(node.predicate) for node in walk(explained.query) if isinstance(node, Select)]
    return f"rows with {' AND '.join(found)}" if found else "all rows"


def _plan_lines(tree: ExplainedStep, explained: Explained) -> list[str]:
    steps = _walk(tree)
    texts = [_text(step, explained) for step, _ in steps]
    figures = _expected_cells([step for step, _ in steps], explained.expected)
    head = f"{'pattern':<9}" + figures[0]
    firsts = [bars[0] + text for text, (_, bars) in zip(texts, steps, strict=True)]
    # A deep tree takes the width that its texts need, so that the columns stay in line.
    least = max(min(len(first), len(bars[1]) + LEAST) for first, (_, bars) in zip(firsts, steps, strict=True))
    left = max(least, min(max(len("plan"), *map(len, firsts)), WIDTH - len(head) - 2))
    lines = [f"{'plan':<{left}}  {head}".rstrip()]
    for text, cells, (step, bars) in zip(texts, figures[1:], steps, strict=True):
        first, *others = _wrapped(text, left, *bars)
        lines += [f"{first:<{left}}  {step.pattern!s:<9}{cells}".rstrip(), *others]
        for line in _state(step.buffers):
            lines += _wrapped(line, WIDTH, bars[1], f"{bars[1]}  ")
        for line in _join_notes(step, explained.expected or {}):
            lines += _wrapped(line, WIDTH, bars[1], f"{bars[1]}  ")
    if any("(" in cells for cells in figures[1:]):
        lines.append("(figures) are assumed: nothing was measured that they follow from")
    return lines


def _join_notes(step: ExplainedStep, expected: Mapping[StepKey, StepCost]) -> list[str]:
    """In which orders a pipelined join meets its inputs, and what a join over slides does not show."""
    cost = expected.get(step.cost_key) if step.cost_key is not None else None
    lines = list(step.orders)
    if cost is not None and cost.visits:
        lines = [
            f"{line}: {figure(visits)} combinations/s"
            for line, visits in zip(lines, cost.visits, strict=True)
        ]
    if step.lost:
        lines.append(
            f"without RESTORE about {100 * step.lost:.0f} % of the results come and go between slides"
        )
    return lines


def _expected_cells(steps: Sequence[ExplainedStep], expected: Mapping[StepKey, StepCost] | None) -> list[str]:
    """The columns of what is expected, the head first; empty where nothing is to be shown."""
    if expected is None:
        return [""] * (len(steps) + 1)
    rows = [list(_EXPECTED)]
    for step in steps:
        cost = expected.get(step.cost_key) if step.cost_key is not None else None
        rows.append(["", "", ""] if cost is None else _expected_figures(cost))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(f"  {cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _expected_figures(cost: StepCost) -> list[str]:
    rows = figure(cost.rows_out), figure(cost.state) if cost.state else ""
    shown = [f"({text})" if text and cost.rows_assumed else text for text in rows]
    cpu = figure(1000 * cost.cpu)
    return [*shown, f"({cpu})" if cost.cpu_assumed else cpu]


def figure(value: float) -> str:
    """A number with at most three digits that count, unless it is large.

    >>> [figure(value) for value in (0, 0.0123, 4.56, 78.9, 1234.5)]
    ['0', '0.012', '4.6', '79', '1,234']
    """
    if value >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.95 else f"{value:.2g}"


def _compared_lines(
    tree: ExplainedStep, expected: Mapping[StepKey, StepCost], measured: Mapping[StepKey, StepMeasures]
) -> list[str]:
    """What was expected beside what was measured, both per second of event time; what was measured is per epoch
    where epochs do not move event time."""
    rows: list[tuple[str, list[str]]] = []
    for step, bars in _walk(tree):
        cells = [""] * 6
        cost = expected.get(step.key) if step.key is not None else None
        found = measured.get(step.key) if step.key is not None else None
        if cost is not None and found is not None and found.seconds:
            done = found.smooth
            # Where event time stands still, a rate by event time has no meaning.
            length, unit = (1.0, "/epoch") if found.seconds < _STILL_S else (found.seconds, "")
            cells = [
                figure(cost.rows_out),
                figure(done.rows_out / length) + unit,
                figure(cost.state),
                figure(done.state_rows),
                f"{1000 * cost.cpu:,.2f}",
                f"{done.cpu_us / 1000 / length:,.2f}{unit}",
            ]
        rows.append((bars[0] + step.does, cells))
    names = [name for shown in _EXPECTED for name in (shown, "measured")]
    widths = [max(len(cells[place]) for cells in (names, *(c for _, c in rows))) for place in range(6)]
    left = min(max(len(text) for text, _ in rows), WIDTH - sum(widths) - 2 * len(widths))
    lines = []
    for text, cells in [("expected and measured per second", names), *rows]:
        label = text if len(text) <= left else f"{text[: left - 1]}…"
        figures = "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{label:<{left}}{figures}".rstrip())
    return lines


def _measured_lines(tree: ExplainedStep, measured: Mapping[StepKey, StepMeasures]) -> list[str]:
    found = [(step, bars, measured.get(step.key) if step.key else None) for step, bars in _walk(tree)]
    epochs = [m.epoch for _, _, m in found if m is not None]
    if not epochs:
        return ["measured: nothing yet; no epoch has run the query"]
    texts = [bars[0] + step.does for step, bars, _ in found]
    left = min(max(map(len, texts)), 56)
    widths = [max(len(name), 8) for name in _FIGURES]
    head = "  ".join(f"{name:>{width}}" for name, width in zip(_FIGURES, widths, strict=True))
    lines = [f"{f'measured per epoch, up to epoch {max(epochs)}':<{left}}  {head}"]
    for (_, _, m), text in zip(found, texts, strict=True):
        label = text if len(text) <= left else f"{text[: left - 1]}…"
        figures = _figures(m.smooth) if m is not None else [""] * len(widths)
        cells = "  ".join(f"{value:>{width}}" for value, width in zip(figures, widths, strict=True))
        lines.append(f"{label:<{left}}  {cells}".rstrip())
    shown = {step.key for step, _, _ in found}
    for name in ("answer", STORE):
        rest = [m.smooth for key, m in measured.items() if key.step == name and key not in shown]
        if rest:
            cells = "  ".join(
                f"{v:>{w}}" for v, w in zip(_figures(sum(rest, Measures())), widths, strict=True)
            )
            lines.append(f"{_OTHERS[name]:<{left}}  {cells}")
    for step, _, m in found:
        if m is not None and m.smooth.visits:
            lines += _wrapped(f"{step.does}: {m.smooth.visits:,.0f} pairs looked at", WIDTH, "", "  ")
    return lines


def _figures(m: Measures) -> Sequence[str]:
    rows = [f"{value:,.0f}" for value in (m.rows_in, m.positive, m.expired, m.invalid, m.touched)]
    size = [f"{value / 1000:,.1f}" for value in (m.state_bytes, m.written_bytes)]
    return [*rows, f"{m.cpu_us / 1000:,.2f}", f"{m.state_rows:,.0f}", *size]


def _wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """The lines of a text after what is drawn in front of them; a deep tree takes the width that it needs."""
    return TextWrapper(
        max(width, len(others) + LEAST),
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
        replace_whitespace=False,
    ).wrap(text)


def _text(step: ExplainedStep, explained: Explained) -> str:
    others = explained.shared.get(step.digest, 0)
    shared = f" (shared with {others} other {'query' if others == 1 else 'queries'})" if others else ""
    return step.does + once_for(explained.inputs.get(step.digest, 1)) + shared


def _state(buffers: Sequence[BufferPlan]) -> list[str]:
    """The buffers and why; those that are alike stand together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for buffer in buffers:
        alike.setdefault((buffer.kind, buffer.reason), []).append(buffer.name)
    return [f"keeps {', '.join(names)}: {kind}, {reason}" for (kind, reason), names in alike.items()]


def _walk(
    step: ExplainedStep, indent: str = "", below: str = ""
) -> list[tuple[ExplainedStep, tuple[str, str]]]:
    """Every step with what is drawn in front of its first line, and of those that follow."""
    found = [(step, (indent, below + ("│    " if step.inputs else "     ")))]
    for place, child in enumerate(step.inputs):
        last = place == len(step.inputs) - 1
        found += _walk(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
    return found
