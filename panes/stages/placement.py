"""By which columns the rows of a stage lie on its shards: those of every step, and those of every buffer.

Where the inputs of a stage are routed by keys, a row of any step lies on the shard that its own columns tell, as
long as it still has columns that are equal to the keys. Where they are not, a row stays on whatever shard it came
to, and with it all that is made from it.

`partitioning.py` decides by which keys inputs are routed, from the logical plan down. This module follows the keys
through the steps, from the inputs up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from panes.aggregates.accumulator_table import FIRST
from panes.operators.physical_step import Fragment, PhysicalStep
from panes.plan.expressions import Column
from panes.stages.physical_plan import PhysicalInput, PhysicalStage


@dataclass(frozen=True)
class Whole:
    """Every shard has all rows."""


Lies = tuple[frozenset[str], ...] | Whole | None
"""For each routing key the columns that are equal to it; no keys where rows came to any shard. None where the key
of a row can no longer be told."""


@dataclass(frozen=True)
class ByColumns:
    """The hash of some columns tells the shard of a row."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class ByHash:
    """A column with hashes, whose buckets are those of the routing keys, tells the shard of a row."""

    column: str


@dataclass(frozen=True)
class Anywhere:
    """Rows may lie on any shard, if all rows of this kind that lay on one shard still do."""


@dataclass(frozen=True)
class Everywhere:
    """Every shard has to know what any shard that it has rows of knew."""


Place = ByColumns | ByHash | Anywhere | Everywhere


class Placement:
    """Where the rows of a sharded stage lie."""

    def __init__(self, stage: PhysicalStage) -> None:
        assert stage.fragment is not None
        self._fragment = stage.fragment
        self._lies = _lies_of(stage.fragment, _routed_by(stage))

    @property
    def answer(self) -> Place:
        """Where the rows lie that the stage gives."""
        return _place(self._lies[-1])

    def buffers(self) -> Iterator[tuple[str, Place]]:
        """Each buffer of the stage, by the name that it has in segments, with where its rows lie."""
        for step, own in zip(self._fragment.steps, self._lies, strict=True):
            below = [self._lies[number] for number in step.inputs]
            for buffer in step.buffers:
                yield f"{step.name}.{buffer.name}", _place_of(step, buffer.name, below, own)

    def with_buckets(self) -> Fragment:
        """The fragment, whose operators know the bucket of a key that they keep only hashes of."""
        steps = tuple(self._with_buckets(step) for step in self._fragment.steps)
        return replace(self._fragment, steps=steps)

    def _with_buckets(self, step: PhysicalStep) -> PhysicalStep:
        keys = _hashed_keys(step)
        if not keys:
            return step
        lies = self._lies[step.inputs[0]]
        assert isinstance(lies, tuple), f"the rows of {step.name} lie by its keys"
        found = tuple(next(key for key in keys if key in columns) for columns in lies)
        if found == tuple(keys):
            return step
        arguments = tuple((name, found if name == "lies_by" else value) for name, value in step.arguments)
        return replace(step, arguments=arguments)


def _routed_by(stage: PhysicalStage) -> Mapping[str, Lies]:
    """How the rows of each input lie as they come."""
    return {source.name: _routed(source) for source in stage.inputs}


def _routed(source: PhysicalInput) -> Lies:
    if source.is_whole:
        return Whole()
    keys = source.keys or (() if source.stream is not None else source.fragment.output.names)
    return tuple(frozenset([key]) for key in keys)


def _lies_of(fragment: Fragment, routed: Mapping[str, Lies]) -> list[Lies]:
    found: list[Lies] = []
    for step in fragment.steps:
        below = [found[number] for number in step.inputs]
        match step.operator, below:
            case ("Entry", []):
                found.append(routed[_arguments(step)["name"]])
            case ("Constant", []):
                found.append(Whole())
            case ("Union" | "SetOperationByLifetime" | "SetOperationByCount", [left, right]):
                names = fragment.steps[step.inputs[1]].output.schema.names
                renamed = dict(zip(names, step.output.schema.names, strict=True))
                found.append(_of_either(left, right, renamed))
            case _:
                found.append(_output(step, below))
    return found


def _output(step: PhysicalStep, below: Sequence[Lies]) -> Lies:
    """By which columns the rows lie that leave a step."""
    arguments = _arguments(step)
    match step.operator:
        case "Project":
            passed = [(name, e.name) for name, e in arguments["columns"] if isinstance(e, Column)]
            return _mapped(below[0], lambda old: {new for new, name in passed if name in old})
        case "PreAggregate" | "HeaviestOfPanes" | "HeaviestOfStream" | "GroupBy":
            keys = arguments["node"].keys
            return _mapped(below[0], lambda old: old.intersection(keys))
        case "Join" | "Lookup" if arguments.get("kind", "inner") == "inner":
            left, right = below
            if isinstance(right, Whole):
                equal = list(zip(arguments["left_keys"], arguments["right_keys"], strict=True))
                return _mapped(left, lambda old: old | {name for key, name in equal if key in old})
            if not isinstance(left, tuple) or right is None:
                return left
            return tuple(a | b for a, b in zip(left, right, strict=True))
        case "MultiJoin":
            sides = [side for side in below if isinstance(side, tuple)]
            assert len(sides) == len(below), f"the inputs of {step.name} lie by its keys"
            return tuple(frozenset[str]().union(*columns) for columns in zip(*sides, strict=True))
        case _:
            # The rows of the only or the left input, or some of them.
            return below[0]


def _of_either(left: Lies, right: Lies, renamed: Mapping[str, str]) -> Lies:
    """By which columns the rows of two inputs lie together, under the names of the left one."""
    right = _mapped(right, lambda columns: {renamed[name] for name in columns})
    if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
        return None
    both = tuple(a & b for a, b in zip(left, right, strict=True))
    return both if all(both) else None


def _mapped(lies: Lies, change: Callable[[frozenset[str]], Iterable[str]]) -> Lies:
    """The same under other names; None when no column is left for one of the keys."""
    if not isinstance(lies, tuple):
        return lies
    found = tuple(frozenset(change(columns)) for columns in lies)
    return found if all(found) else None


def _place_of(step: PhysicalStep, buffer: str, below: Sequence[Lies], own: Lies) -> Place:
    """Where the rows of a buffer lie: by the columns of the input whose rows they are, or of the output."""
    arguments = _arguments(step)
    match step.operator, buffer:
        case ("Rstream", "begun"):
            return Everywhere()
        case ("GroupBy" | "HeaviestOfStream" | "RowsWindow" | "SessionWindow" | "TopN", _) if (
            buffer != "expiring"
        ):
            return ByHash(FIRST)
        case ("SetOperationByLifetime" | "SetOperationByCount", _):
            return _place(own)  # rows of both inputs are kept under the names of the output
        case ("SemiJoin" | "AntiJoin", _) if buffer.startswith(("matched_", "join_right")):
            is_by_keys = arguments["residual"] is None and not arguments["null_aware"]
            lies = below[1] if is_by_keys else below[0]
            matched = arguments["right_keys"] if is_by_keys else arguments["left"].schema.names
            numbered = {name: f"_match{number}" for number, name in enumerate(matched)}
            return _place(_mapped(lies, lambda old: {numbered[name] for name in old if name in numbered}))
        case ("Lookup", _):
            return _place(below[1])  # the versions of the table: nothing else is kept
        case ("Join" | "SemiJoin" | "AntiJoin", _) if buffer.endswith("right"):
            return _place(below[1])
        case ("MultiJoin", _):
            return _place(below[int(buffer.removeprefix("input_"))])
        case ("ReleaseOnTime" | "ExplicitExpiry", _) if not arguments["edge"].is_weighted:
            return _place(below[0])  # no retraction has to find a row, so its key may be gone
        case _:
            assert below[0] is not None, f"a retraction must find its row in {step.name}"
            return _place(below[0])


def _place(lies: Lies) -> Place:
    if isinstance(lies, Whole):
        return Everywhere()
    return ByColumns(tuple(min(columns) for columns in lies)) if lies else Anywhere()


def _hashed_keys(step: PhysicalStep) -> Sequence[str]:
    """The columns of which an operator keeps hashes alone; none for most."""
    arguments = _arguments(step)
    match step.operator:
        case "GroupBy" | "HeaviestOfStream":
            return arguments["node"].keys  # type: ignore[no-any-return]
        case "TopN":
            return arguments["node"].partition_by  # type: ignore[no-any-return]
        case "RowsWindow" | "SessionWindow":
            return arguments["spec"].partition_by  # type: ignore[no-any-return]
        case _:
            return ()


def _arguments(step: PhysicalStep) -> dict[str, Any]:
    return dict(step.arguments)
