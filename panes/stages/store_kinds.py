"""The kinds of stores: what a stage keeps whose queries are applied when they are read, and runs no operators.

A stage with a store has no fragment, and its plan begins with the node that stands for the kind. A new kind is a
class with the methods of `Store`, an entry here, and an `AnswerRows` that reads one query from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from panes.delta.rows import Positions
from panes.operators.input import Input
from panes.operators.physical_step import BufferPlan
from panes.plan.nodes import (
    SIGNATURE,
    Join,
    JoinSynopsis,
    Matched,
    MatchedPairs,
    Node,
    Project,
    Synopsis,
    Timed,
)
from panes.plan.walk import streams_of
from panes.sharing.begin_end_store import BeginEndStore
from panes.sharing.pair_join import SIDES
from panes.sharing.pair_store import BUFFERS, PairStore
from panes.sharing.selection_store import SelectionStore
from panes.sharing.shared_cells import CELL_BUFFERS, SharedCells
from panes.sharing.shared_synopsis import SharedSynopsis
from panes.sharing.stateless import Columns
from panes.sharing.store import Chunks, Store
from panes.sharing.tuple_block import TupleBlock, renumbered
from panes.stages.cut_stages import Stage, StageInput, cut_stages, selection_stage
from panes.stages.placement import Anywhere, ByColumns, Place
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import INTERVALS, MATCHES, PANES, REFRESHED, SUMS, TIMED, TUPLES
from panes.synopses.definition import group_by_of, panes_text
from panes.synopses.join_definition import cells_text, joined_group_by_of, joined_of

Chosen = Callable[[pa.Table], Positions]
"""Says which rows of a table go to a shard."""


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
    gathered: Callable[[Sequence[Chunks], Chosen], dict[str, list[Chunk]]] | None
    """Makes the chunks of one shard of those of several, for tuples and their matches, which go together; None
    where the chunks of each buffer only follow each other."""
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


def _pair_buffers(plan: Node) -> tuple[BufferPlan, ...]:
    return (
        *_tuple_buffers(_join_of(plan)),
        BufferPlan(TUPLES, "log", None, "the pairs that are for some query, by their earlier tuple"),
        BufferPlan(MATCHES, "log", ("_query",), "which pairs each query has, as bitmaps or lists"),
    )


def _tuple_buffers(join: Join) -> tuple[BufferPlan, ...]:
    sides = zip(("left", "right"), (join.left_keys, join.right_keys), strict=True)
    return tuple(BufferPlan(name, "list", keys, "its tuples once, for all queries") for name, keys in sides)


def _join_of(plan: Node) -> Join:
    assert isinstance(plan, MatchedPairs)
    assert isinstance(plan.child, Join)
    return plan.child


def _cut_pairs(plan: Node) -> tuple[Stage, ...]:
    join = _join_of(plan)
    return (Stage(plan, _sides(join), is_sharded=bool(join.left_keys)),)


def _sides(join: Join) -> tuple[StageInput, ...]:
    """The tuples of both streams, by the keys of the join."""
    left, right = SIDES
    return (
        StageInput(Input(left), join.left, join.left_keys),
        StageInput(Input(right), join.right, join.right_keys),
    )


def _places_of_pairs(plan: Node) -> Mapping[str, Place]:
    join = _join_of(plan)
    left, right = ByColumns(join.left_keys), ByColumns(join.right_keys)
    tuples = zip(BUFFERS, (left, left, right, right), strict=True)
    # A pair lies where its tuples do: there it is looked for when a new query finds it again.
    return {TUPLES: left, MATCHES: left, **dict(tuples)}


def _keep_pairs(plan: Node) -> str:
    left, right = (stream for node in _join_of(plan).children for stream in streams_of(node))
    return f"Keep pairs of {left} ⋈ {right}, and which of them each query has"


def _gathered_pairs(states: Sequence[Chunks], chosen: Chosen) -> dict[str, list[Chunk]]:
    stores = []
    for state in states:
        blocks = TupleBlock.restored(state[TUPLES], state[MATCHES])
        parts = [part for block in blocks if (part := block.part(chosen(block.tuples.table))) is not None]
        stores.append(([part.tuples for part in parts], [chunk for part in parts for chunk in part.matches]))
    tuples, matches = renumbered(stores)
    return {TUPLES: tuples, MATCHES: matches}


def _gathered_selections(states: Sequence[Chunks], _: Chosen) -> dict[str, list[Chunk]]:
    tuples, matches = renumbered([(state[TUPLES], state[MATCHES]) for state in states])
    return {TUPLES: tuples, MATCHES: matches}


def _timed(plan: Node) -> Timed:
    assert isinstance(plan, Timed)
    return plan


def _cut_timed(plan: Node) -> tuple[Stage, ...]:
    tuples = StageInput(Input("input-0"), _timed(plan).child, ())
    return (Stage(plan, (tuples,), is_sharded=True),)


def _open_timed(plan: Node, chunks: Chunks) -> Store:
    return BeginEndStore(plan.schema.names, _timed(plan).keys, chunks)


def _timed_buffers(plan: Node) -> tuple[BufferPlan, ...]:
    reason = "with running sums and ranked trees, for any span of time"
    return (BufferPlan(TIMED, "log", _timed(plan).keys, reason),)


def _keep_timed(plan: Node) -> str:
    keys = ", ".join(str(expression) for name, expression in _projected(plan) if name in _timed(plan).keys)
    return f"Keep tuples by {f'{keys} and ' if keys else ''}time"


def _projected(plan: Node) -> Columns:
    child = _timed(plan).child
    assert isinstance(child, Project)
    return child.columns


def _cut_synopsis(plan: Node) -> tuple[Stage, ...]:
    assert isinstance(plan, Synopsis)
    (stage,) = cut_stages(plan.child)
    if plan.has_total and stage.is_sharded:
        keys = _keys_of_places(plan)
        inputs = tuple(replace(source, keys=keys) for source in stage.inputs)
        stage = replace(stage, inputs=inputs, is_sharded=bool(keys))
    return (replace(stage, plan=plan),)


def _keys_of_places(plan: Synopsis) -> tuple[str, ...]:
    """The columns that say where rows lie: the total of a group lies where its signatures do."""
    keys = group_by_of(plan).keys
    return tuple(key for key in keys if key != SIGNATURE) if plan.has_total else keys


def _open_synopsis(plan: Node, chunks: Chunks) -> Store:
    assert isinstance(plan, Synopsis)
    return SharedSynopsis(plan, chunks)


def _synopsis_buffers(plan: Node) -> tuple[BufferPlan, ...]:
    assert isinstance(plan, Synopsis)
    keys = group_by_of(plan).keys
    panes = BufferPlan(PANES, "log", keys, "the partial sums of each pane and group, for all queries")
    match plan.form:
        case "interval":
            why = "sums of two panes, of four, of eight, …: a window is at most two of each"
            return panes, BufferPlan(INTERVALS, "log", keys, why)
        case "running":
            why = "sums up to each pane: a window is the difference of two"
            return panes, BufferPlan(SUMS, "log", keys, why)
    return (panes,)


def _synopsis_places(plan: Node) -> Mapping[str, Place]:
    """Sums up to panes are of one shard, which had rows of other panes than the next: they are computed anew."""
    assert isinstance(plan, Synopsis)
    place = ByColumns(_keys_of_places(plan))
    return {PANES: place, INTERVALS: place, REFRESHED: place}


def _synopsis_does(plan: Node) -> str:
    assert isinstance(plan, Synopsis)
    return f"Synopsis: {panes_text(plan)}"


def _open_cells(plan: Node, chunks: Chunks) -> Store:
    assert isinstance(plan, JoinSynopsis)
    return SharedCells(plan, chunks)


def _cut_cells(plan: Node) -> tuple[Stage, ...]:
    assert isinstance(plan, JoinSynopsis)
    return (Stage(plan, _sides(joined_of(plan)), is_sharded=True),)


def _cell_buffers(plan: Node) -> tuple[BufferPlan, ...]:
    assert isinstance(plan, JoinSynopsis)
    why = "the partial sums of each pair of panes and group, for all queries"
    return (*_tuple_buffers(joined_of(plan)), BufferPlan(PANES, "log", joined_group_by_of(plan).keys, why))


def _places_of_cells(plan: Node) -> Mapping[str, Place]:
    """The sums of a cell are added up over all shards when they are read, so they may lie anywhere."""
    assert isinstance(plan, JoinSynopsis)
    join = joined_of(plan)
    left, right = CELL_BUFFERS
    tuples = {left: ByColumns(join.left_keys), right: ByColumns(join.right_keys)}
    return {**tuples, PANES: Anywhere(), REFRESHED: Anywhere()}


def _cells_do(plan: Node) -> str:
    assert isinstance(plan, JoinSynopsis)
    left, right = (stream for node in joined_of(plan).children for stream in streams_of(node))
    return f"Synopsis of {left} ⋈ {right}: {cells_text(plan)}"


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
    ),
    Synopsis: StoreKind(
        name=Synopsis.__name__,
        cut=_cut_synopsis,
        open=_open_synopsis,
        buffers=_synopsis_buffers,
        places=_synopsis_places,
        gathered=None,
        does=_synopsis_does,
        read_from="the synopsis",
    ),
    JoinSynopsis: StoreKind(
        name=SharedCells.__name__,
        cut=_cut_cells,
        open=_open_cells,
        buffers=_cell_buffers,
        places=_places_of_cells,
        gathered=None,
        does=_cells_do,
        read_from="the cells",
    ),
    MatchedPairs: StoreKind(
        name=PairStore.__name__,
        cut=_cut_pairs,
        open=lambda plan, chunks: PairStore(_join_of(plan), chunks),
        buffers=_pair_buffers,
        places=_places_of_pairs,
        gathered=_gathered_pairs,
        does=_keep_pairs,
        read_from="the pairs and matches",
    ),
    Timed: StoreKind(
        name=BeginEndStore.__name__,
        cut=_cut_timed,
        open=_open_timed,
        buffers=_timed_buffers,
        places=lambda _: {TIMED: Anywhere()},
        gathered=None,
        does=_keep_timed,
        read_from="the tuples by time",
    ),
}
"""By the node at the top of the plan of such a stage."""


def store_kind(plan: Node) -> StoreKind | None:
    """The kind of the store of a stage; None when it runs operators."""
    return KINDS.get(type(plan))
