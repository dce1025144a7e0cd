"""Groups of queries that share a plan, kept up to date as queries come and go."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from panes.pipeline.cut import Stage, cut, selection_stage
from panes.pipeline.members import Members, write_indexes
from panes.plan.nodes import Node
from panes.sharing.predicates import Predicate
from panes.sharing.query_index import QueryIndex
from panes.sharing.reading import reading_of
from panes.sharing.template import Template, template_of


@dataclass
class Group:
    """The plan of a group, and the index of its queries for each stream that the plan reads."""

    template: Template
    stages: tuple[Stage, ...]
    indexes: list[QueryIndex]
    queries: dict[int, int | None] = field(default_factory=dict)
    """The queries, and for how long each needs the tuples of its stream, if they are selections."""
    written: Path | None = None

    @classmethod
    def of(cls, plan: Node) -> Group:
        """A group without queries, for those that are like this one."""
        found = template_of(plan)
        assert found is not None, "a query joins a group because it has a template"
        template, _ = found
        stages = selection_stage(template.matched[0]) if template.is_selection else cut(template.plan)
        return cls(template, stages, [QueryIndex(matched) for matched in template.matched])

    def update(self, plans: Mapping[int, Node]) -> None:
        """Takes in the queries that have come, and lets go of those that have gone."""
        come = {query: plan for query, plan in plans.items() if query not in self.queries}
        gone = self.queries.keys() - plans.keys()
        if not come and not gone:
            return
        predicates = {query: _predicates(plan) for query, plan in come.items()}
        self.indexes = [
            index.without(gone).with_members({query: found[number] for query, found in predicates.items()})
            for number, index in enumerate(self.indexes)
        ]
        for query in gone:
            del self.queries[query]
        self.queries |= {query: _retained_us(plan) for query, plan in come.items()}
        self.written = None

    def members(self, folder: Path, fresh: Set[int], least_us: int | None) -> Members:
        """The indexes in files of a folder; `fresh` are the queries that begin in the epoch.

        `least_us` is for how long the stream keeps its tuples in any case. To be called between epochs, when no
        task reads the files.
        """
        if self.written is None or not self.written.exists():
            self.written = _write(folder, self.queries.keys(), self.indexes)
        some = None
        if fresh:
            only = [index.only(fresh) for index in self.indexes]
            some = self.written if fresh == self.queries.keys() else _write(folder, fresh, only)
        for old in folder.glob("*.pickle"):
            if old not in (self.written, some):
                old.unlink()
        needs = [least_us, *self.queries.values()]
        return Members(
            self.written, some, None if None in needs else max(us for us in needs if us is not None)
        )


def _write(folder: Path, queries: Set[int], indexes: Sequence[QueryIndex]) -> Path:
    # The number of a query is never used again, and what it asks does not change.
    digest = hashlib.sha256(np.array(sorted(queries), np.int64).tobytes()).hexdigest()
    path = folder / f"{digest[:32]}.pickle"
    if not path.exists():
        write_indexes(path, indexes)
    return path


def _predicates(plan: Node) -> tuple[Predicate, ...]:
    found = template_of(plan)
    assert found is not None, "a query joins a group because it has a template"
    return found[1]


def _retained_us(plan: Node) -> int | None:
    reading = reading_of(plan)
    return 0 if reading is None else reading.retained_us
