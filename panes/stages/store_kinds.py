"""The kinds of stores: what a stage keeps whose queries are applied when they are read, and runs no operators.

A stage with a store has no fragment, and its plan begins with the node that stands for the kind. A new kind is a
class with the methods of `Store`, an entry here, and an `AnswerRows` that reads one query from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from panes.operators.physical_step import BufferPlan
from panes.plan.nodes import Matched, Node
from panes.sharing.selection_store import SelectionStore
from panes.sharing.store import Chunks, Store
from panes.sharing.tuple_block import renumbered
from panes.stages.cut_stages import Stage, selection_stage
from panes.stages.placement import Anywhere, Place
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import MATCHES, TUPLES


@dataclass(frozen=True)
class StoreKind:
    """How the stages of one kind are made, run, moved to other shards and explained. `Node` is the top of the plan
    of such a stage."""

    name: str
    """The class of the store."""
    cut: Callable[[Node], tuple[Stage, ...]]
    """Gives the stages of a plan; the last one has the store."""
    open: Callable[[Node, Chunks], Store]
    """Gives the store of a shard over its chunks."""
    buffers: Callable[[Node], tuple[BufferPlan, ...]]
    places: Callable[[Node], Mapping[str, Place]]
    """By buffer, where its rows lie when the stage has several shards."""
    gathered: Callable[[Sequence[Chunks]], dict[str, list[Chunk]]] | None
    """Makes the chunks of one shard of those of several that move as a whole; None where the chunks of each buffer
    only follow each other."""
    does: Callable[[Node], str]
    """What the stage does, in one line."""
    read_from: str
    """What an answer is read from, in words."""


def _selection_buffers(_: Node) -> tuple[BufferPlan, ...]:
    return (
        BufferPlan(TUPLES, "log", None, "the tuples of the stream once, for all queries"),
        BufferPlan(MATCHES, "log", ("_query",), "which tuples each query has, as bitmaps or lists"),
    )


def _cut_selections(plan: Node) -> tuple[Stage, ...]:
    assert isinstance(plan, Matched)
    return selection_stage(plan)


def _gathered_selections(states: Sequence[Chunks]) -> dict[str, list[Chunk]]:
    tuples, matches = renumbered([(state[TUPLES], state[MATCHES]) for state in states])
    return {TUPLES: tuples, MATCHES: matches}


KINDS: Mapping[type[Node], StoreKind] = {
    Matched: StoreKind(
        name=SelectionStore.__name__,
        cut=_cut_selections,
        open=lambda _, chunks: SelectionStore(chunks),
        buffers=_selection_buffers,
        places=lambda _: {TUPLES: Anywhere(), MATCHES: Anywhere()},
        gathered=_gathered_selections,
        does=lambda _: "Keep tuples, and which of them each query has",
        read_from="the tuples and matches",
    )
}
"""By the node at the top of the plan of such a stage."""


def store_kind(plan: Node) -> StoreKind | None:
    """The kind of the store of a stage; None when it runs operators."""
    return KINDS.get(type(plan))
