"""Groups of queries that share a plan, kept up to date as queries come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import reduce

from panes.history.retention import Retained
from panes.plan.nodes import Node, Signed, Synopsis
from panes.plan.walk import walk
from panes.sharing.begin_end_aggregate import begin_end_aggregate_of
from panes.sharing.held_in_store import held_in_store
from panes.sharing.index_slice import IndexSlice
from panes.sharing.joined_aggregate import joined_aggregate_of
from panes.sharing.possible_signatures import possible_signatures
from panes.sharing.predicates import Predicate
from panes.sharing.shared_indexes import Kept, Members, Slices
from panes.sharing.template import Template, template_of, templates_of
from panes.sharing.windowed_aggregate import windowed_aggregate_of
from panes.synopses.definition import SynopsisReader, predicates_of
from panes.synopses.synopsis_of import Reader, not_covered, synopsis_of
from panes.synopses.tuple_measures import Measure

_SIGNATURES_PER_PREDICATE = 16
"""A row per signature and pane is cheaper than a plan for each query up to here, however they are passed."""


@dataclass
class Group:
    """The plan of a group, and its queries in the index of each stream that the plan reads."""

    template: Template
    slices: list[IndexSlice]
    """By scan number."""
    queries: dict[int, tuple[Retained, ...]] = field(default_factory=dict)
    """The queries, and which tuples of each stream of a store each needs, if they are read from one."""
    measures: dict[int, tuple[Measure, ...]] = field(default_factory=dict)
    """What each BEGIN … END aggregate needs beside each tuple."""
    readers: dict[int, Reader] = field(default_factory=dict)
    """What each query needs of the synopsis, if they share one."""
    unchecked: set[int] = field(default_factory=set)
    """The queries of which nobody has asked yet whether the synopsis has what they need."""

    @classmethod
    def of(cls, plan: Node, key: str, *, is_synopsis: bool = False) -> Group:
        """A group without queries, for those that are like this one in the template of that key. Where the stream
        has got columns since, no template has the key: then it is the one of the same kind."""
        found = templates_of(plan)
        same = [template for template in found if template.key == key]
        alike = [template for template in found if (template.source is not None) == is_synopsis]
        template = (same or alike)[0]
        kept = template.has_store
        return cls(template, [IndexSlice(matched, is_kept=kept) for matched in template.matched])

    def plan(self, form: str, runs: Node | None = None) -> Node:
        """What is to run for the queries; `form` is the one that a synopsis is to have, where it can, and `runs`
        the plan that it follows."""
        if self.template.source is None or not self.readers:
            return self.template.plan
        return synopsis_of(self.readers.values(), form, runs)

    def outgrown(self, runs: Node) -> Set[int]:
        """The queries that need more of their synopsis than the one has that runs, of those that came since this
        was last asked. A synopsis that begins anew has what all of them need."""
        asked, self.unchecked = self.unchecked & self.readers.keys(), set()
        if self.template.source is None or not asked:
            return set()
        return not_covered(runs, {query: self.readers[query] for query in asked})

    def why_not_grown(self, runs: Node, seen: Callable[[], int | None] = lambda: None) -> str | None:
        """Why the synopsis that runs cannot have the predicates of all queries; None when it can, or has them.

        `seen` gives in how many ways tuples have passed those that it has, if it tells them apart: each predicate
        that is added cuts every one of these in two at most.
        """
        if not isinstance(runs, Synopsis):
            return None
        readers = (reader for reader in self.readers.values() if isinstance(reader, SynopsisReader))
        predicates = {reader.predicate for reader in readers}
        most = _SIGNATURES_PER_PREDICATE * len(predicates)
        known = set(predicates_of(runs))
        if predicates <= known or possible_signatures(predicates, most) <= most:
            return None
        found = seen()
        if found is not None and found << len(predicates - known) <= most:
            return None
        were = "" if found is None else f", and have told {found} apart by now"
        return f"their selections could tell tuples apart in more than {most} ways{were}"

    def update(self, plans: Mapping[int, Node]) -> None:
        """Takes in the queries that have come, and lets go of those that have gone."""
        come = {query: plan for query, plan in plans.items() if query not in self.queries}
        gone = self.queries.keys() - plans.keys()
        if not come and not gone:
            return
        if self.template.matched:
            predicates = {query: _predicates(plan) for query, plan in come.items()}
            self.slices = [
                mine.without(gone).with_members({query: found[number] for query, found in predicates.items()})
                for number, mine in enumerate(self.slices)
            ]
        for query in gone:
            del self.queries[query]
            self.measures.pop(query, None)
            self.readers.pop(query, None)
        self.queries |= {query: _needed(plan) for query, plan in come.items()}
        self.measures |= {query: _measures(plan) for query, plan in come.items()}
        if self.template.source is not None:
            self.readers |= {query: _reader(plan) for query, plan in come.items()}
            self.unchecked |= come.keys()

    def sign(self, runs: Node) -> None:
        """Takes in the selections by which the plan that runs tells tuples apart, where it does."""
        if self.template.matched:
            return
        signed = [node for node in walk(runs) if isinstance(node, Signed)]
        if [mine.node for mine in self.slices] != signed:
            self.slices = [IndexSlice.of_signed(node) for node in signed]

    def fresh_slices(self, fresh: Set[int]) -> list[IndexSlice]:
        """The slices of the queries that begin in an epoch, by scan number. Selections of a synopsis do not begin
        with queries, but with the synopsis."""
        return [mine.only(fresh) for mine in self.slices] if fresh and self.template.matched else []

    def members(self, slices: Slices, fresh: Slices | None, kept: Mapping[str, Retained]) -> Members:
        """The queries for an epoch; `fresh` are the slices of those that begin in it, if there are any.

        `kept` is what each stream keeps because of all queries, also those outside of the group: a query that
        joins the group later finds here what the history would have given it.
        """
        streams = [stream for stream, _ in held_in_store(self.template.example)]
        needed = (reduce(Retained.__or__, set(mine)) for mine in zip(*self.queries.values(), strict=True))
        found = (Kept(mine, mine | kept[stream]) for stream, mine in zip(streams, needed, strict=True))
        measures = {measure.name: measure for mine in self.measures.values() for measure in mine}
        return Members(slices, fresh, tuple(found), measures=tuple(measures.values()))


def _predicates(plan: Node) -> tuple[Predicate, ...]:
    found = template_of(plan)
    assert found is not None, "a query joins a group because it has a template"
    return found[1]


def _measures(plan: Node) -> tuple[Measure, ...]:
    aggregate = begin_end_aggregate_of(plan)
    return () if aggregate is None else aggregate.asked.measures


def _reader(plan: Node) -> Reader:
    found = windowed_aggregate_of(plan) or joined_aggregate_of(plan)
    assert found is not None, "a query shares a synopsis because it is an aggregate over windows"
    return found.reader


def _needed(plan: Node) -> tuple[Retained, ...]:
    return tuple(held for _, held in held_in_store(plan))
