"""The synopsis that some queries share, whether over one stream or over a join of two."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from panes.plan.nodes import JoinSynopsis, Node, Synopsis
from panes.synopses.definition import Definition, SynopsisReader, SynopsisSource, source_of
from panes.synopses.join_definition import JoinDefinition, JoinReader, JoinSource, join_source_of

Source = SynopsisSource | JoinSource
Reader = SynopsisReader | JoinReader


def synopsis_of(readers: Collection[Reader], form: str, runs: Node | None = None) -> Synopsis | JoinSynopsis:
    """The plan that has what some queries need, all of one source; `form` is the one that panes of one stream are
    to have, where they can, and `runs` the one that it follows."""
    joined = [reader for reader in readers if isinstance(reader, JoinReader)]
    if joined:
        return JoinDefinition.of(joined).node()
    plain = [reader for reader in readers if isinstance(reader, SynopsisReader)]
    known = Definition.from_node(runs, plain[0].source) if isinstance(runs, Synopsis) else None
    return Definition.of(plain, known).node(form, len(plain))


def not_covered(runs: Node, readers: Mapping[int, Reader]) -> set[int]:
    """The queries that cannot be computed from the synopsis that runs; `readers` are all of its source, and there
    is at least one."""
    if isinstance(runs, JoinSynopsis):
        joined = {query: reader for query, reader in readers.items() if isinstance(reader, JoinReader)}
        source = next(iter(joined.values())).source
        cells = JoinDefinition.from_node(runs, source)
        return {query for query, reader in joined.items() if not cells.covers(reader)}
    assert isinstance(runs, Synopsis)
    plain = {query: reader for query, reader in readers.items() if isinstance(reader, SynopsisReader)}
    panes = Definition.from_node(runs, next(iter(plain.values())).source)
    return {query for query, reader in plain.items() if not panes.covers(reader)}


def has_what_is_asked(runs: Node, reader: Reader) -> bool:
    """Whether a query that may be of another source can be computed from the synopsis that runs."""
    match runs, reader:
        case Synopsis(), SynopsisReader():
            source = source_of(runs)
            return source.has(reader.source) and Definition.from_node(runs, source).covers(reader)
        case JoinSynopsis(), JoinReader():
            pairs = join_source_of(runs)
            return pairs.has(reader.source) and JoinDefinition.from_node(runs, pairs).covers(reader)
    return False
