"""What a synopsis holds: the data, and the panes, that the queries need which it is for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import gcd, log2

from panes.aggregates.linear import is_linear
from panes.aggregates.partials import KeptValue
from panes.plan.expressions import Aggregate, Column, Expression, Literal, substitute
from panes.plan.nodes import SIGNATURE, GroupBy, Node, Project, Select, Signed, StreamScan, Synopsis, Window
from panes.plan.types import BINARY, BOOLEAN
from panes.plan.windows import RangeWindow
from panes.synopses.layout import Layout

AUTO = "auto"
FORMS = ("running", "interval", "basic")
EVERY = Literal(BOOLEAN, True)
"""The predicate of a query that selects nothing: every tuple passes."""
NEVER = Literal(BOOLEAN, False)
"""What stands in the place of a predicate that no query has any more."""


@dataclass(frozen=True)
class SynopsisSource:
    """What is summed, and by what: all queries of a synopsis have the same. Which tuples differs between them.

    Whatever a query calls the stream, here its columns are qualified by the name of the stream.
    """

    scan: StreamScan
    keys: tuple[Expression, ...]
    values: tuple[KeptValue, ...]
    """What holistic aggregates keep, in any order: where values are kept one by one, all queries read them."""

    def has(self, other: SynopsisSource) -> bool:
        """Whether what is summed of this one has what is summed of the other: it may keep more values. The stream
        may have got columns in between."""
        is_same = (self.scan.stream, self.keys) == (other.scan.stream, other.keys)
        return is_same and set(self.values).issuperset(other.values)

    def group_by(
        self, aggregates: Iterable[Aggregate], window: RangeWindow, selected: Node | None = None
    ) -> GroupBy:
        """The group-by of some aggregates over the columns of the stream, or over what is selected of it. Tuples
        that have signatures are summed apart by them."""
        below = self.scan if selected is None else selected
        keys = tuple((f"_key_{number}", key) for number, key in enumerate(self.keys))
        if isinstance(below, Signed):
            keys = ((SIGNATURE, Column(BINARY, SIGNATURE)), *keys)
        columns = tuple((f.name, Column(f.type, f.name)) for f in self.scan.schema)
        names = tuple(name for name, _ in keys)
        return GroupBy(Window(Project(below, keys + columns), window), names, tuple(aggregates))


@dataclass(frozen=True)
class SynopsisReader:
    """What one query needs of a synopsis."""

    source: SynopsisSource
    predicate: Expression
    window: RangeWindow
    aggregates: tuple[Aggregate, ...]
    """Over the columns of the stream."""

    @property
    def windows(self) -> tuple[RangeWindow, ...]:
        """The windows of all streams that it reads."""
        return (self.window,)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The range and the slide: a pane divides both."""
        return self.window.range_us, self.slide_us

    @property
    def slide_us(self) -> int:
        assert self.window.slide_us is not None, "without SLIDE there are no panes"
        return self.window.slide_us

    @property
    def reach_us(self) -> int:
        """For how long after its time a tuple may be needed."""
        return self.window.range_us + self.slide_us

    @property
    def group_by(self) -> GroupBy:
        return self.source.group_by(self.aggregates, self.window)


@dataclass(frozen=True)
class Definition:
    """The panes and the columns of a synopsis."""

    source: SynopsisSource
    pane_us: int
    """The greatest length that divides all ranges and slides."""
    range_us: int
    """The longest range."""
    reach_us: int
    aggregates: tuple[Aggregate, ...]
    predicates: tuple[Expression, ...]
    """Which tuples are summed. Where there are several, they are summed apart by which of them they pass."""

    @classmethod
    def of(cls, readers: Iterable[SynopsisReader], runs: Definition | None = None) -> Definition:
        """The least that some queries need, of which there is at least one. `runs` is the synopsis that is to be
        replaced: those that read it find their predicates under the same numbers."""
        readers = list(readers)
        lengths = [length for reader in readers for length in (reader.window.range_us, reader.slide_us)]
        # Thousands of queries ask for a few different things.
        asked = dict.fromkeys(reader.aggregates for reader in readers)
        aggregates = dict.fromkeys(replace(a, name="") for some in asked for a in some)
        return cls(
            readers[0].source,
            reduce(gcd, lengths),
            max(reader.window.range_us for reader in readers),
            max(reader.reach_us for reader in readers),
            tuple(replace(a, name=f"_aggregate_{number}") for number, a in enumerate(aggregates)),
            numbered({reader.predicate: None for reader in readers}, () if runs is None else runs.predicates),
        )

    @classmethod
    def from_node(cls, node: Synopsis, source: SynopsisSource) -> Definition:
        """What a plan that runs holds of a source."""
        group_by = group_by_of(node)
        window = window_of(node)
        assert window.slide_us is not None
        return cls(
            source, window.slide_us, window.range_us, node.reach_us, group_by.aggregates, predicates_of(node)
        )

    @property
    def panes(self) -> int:
        """The number of panes of the longest window."""
        return -(-self.range_us // self.pane_us)

    @property
    def group_by(self) -> GroupBy:
        return self.source.group_by(self.aggregates, RangeWindow(self.range_us, self.pane_us), self._selected)

    @property
    def _selected(self) -> Node:
        if len(self.predicates) > 1:
            return Signed(self.source.scan, self.predicates)
        (predicate,) = self.predicates
        return self.source.scan if predicate == EVERY else Select(self.source.scan, predicate)

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self.group_by)

    @cached_property
    def _has_columns(self) -> dict[tuple[Aggregate, ...], bool]:
        """Whether there are the columns of some aggregates, for those that were asked for."""
        return {}

    def covers(self, reader: SynopsisReader) -> bool:
        """Whether a query can be computed from the synopsis as it is."""
        if reader.predicate not in self.predicates:
            return False
        if any(length % self.pane_us for length in (reader.window.range_us, reader.slide_us)):
            return False
        if reader.window.range_us > self.range_us or reader.reach_us > self.reach_us:
            return False
        asked = reader.aggregates
        if asked not in self._has_columns:
            self._has_columns[asked] = self._layout.has(Layout.of(reader.group_by))
        return self._has_columns[asked]

    def node(self, form: str, readers: int) -> Synopsis:
        """The plan of the synopsis, in the form that a setting wants; `readers` is the number of its queries."""
        # What one query needs can be all but what a few others have, where sums can be subtracted.
        has_total = len(self.predicates) > 1 and self._layout.is_subtractable
        return Synopsis(self.group_by, self.chosen_form(form, readers), self.reach_us, has_total)

    def chosen_form(self, form: str, readers: int) -> str:
        """The form that costs least, where the setting leaves it open or the synopsis cannot have the one that it
        asks for.

        A running synopsis has two probes per window and group, but a row per pane for every group: it is taken
        where there is one group. An interval synopsis has 2 log2 b probes at most per window, a basic one b for
        all windows that are read together: it is better from b / log2 b queries on.
        """
        layout = self._layout
        if form == "running" and not layout.is_subtractable:
            form = AUTO
        if form != AUTO:
            return form
        if layout.is_subtractable and not self.group_by.keys and self.panes > 2:
            return "running"
        is_read_together = self.panes < 4 or readers >= self.panes / log2(self.panes)
        return "basic" if is_read_together else "interval"


def numbered(needed: Mapping[Expression, None], known: Sequence[Expression]) -> tuple[Expression, ...]:
    """Predicates in the order of their numbers: those that are needed and have one keep it, others take the places
    of those that are needed no more."""
    places = [predicate if predicate in needed else NEVER for predicate in known]
    is_known = set(known)
    for predicate in needed:
        if predicate in is_known:
            continue
        if NEVER in places:
            places[places.index(NEVER)] = predicate
        else:
            places.append(predicate)
    return tuple(places)


def predicates_of(node: Synopsis) -> tuple[Expression, ...]:
    """The predicates of the queries of a synopsis, by number."""
    window = group_by_of(node).child
    (project,) = window.children
    (selected,) = project.children
    match selected:
        case Signed(predicates=predicates):
            return predicates
        case Select(predicate=predicate):
            return (predicate,)
    return (EVERY,)


def source_of(node: Synopsis) -> SynopsisSource:
    """What a synopsis is computed from."""
    group_by = group_by_of(node)
    (project,) = group_by.child.children
    assert isinstance(project, Project)
    below = project.child
    while not isinstance(below, StreamScan):
        (below,) = below.children
    return SynopsisSource(below, key_columns(group_by, project), kept_values(group_by.aggregates))


def key_columns(group_by: GroupBy, project: Project) -> tuple[Expression, ...]:
    """What tuples are summed by, beside their signatures."""
    columns = dict(project.columns)
    return tuple(columns[key] for key in group_by.keys if key != SIGNATURE)


def group_by_of(node: Synopsis) -> GroupBy:
    """The group-by of a synopsis."""
    assert isinstance(node.child, GroupBy)
    return node.child


def window_of(node: Synopsis) -> RangeWindow:
    """The window of a synopsis: as long as the longest, sliding by a pane."""
    window = group_by_of(node).child
    assert isinstance(window, Window)
    assert isinstance(window.spec, RangeWindow)
    return window.spec


def panes_text(node: Synopsis) -> str:
    """The form of a synopsis, and how many panes of which length it has."""
    return f"{node.form}, {panes_of(node)} × {length_text(window_of(node).slide_us or 1)}"


def length_text(length_us: int) -> str:
    """A length of time with the symbol of its unit.

    >>> length_text(10_000_000), length_text(1_500)
    ('10 s', '1500 µs')
    """
    units = (("s", 1_000_000), ("ms", 1_000), ("µs", 1))
    return next(f"{length_us // unit} {symbol}" for symbol, unit in units if length_us % unit == 0)


def panes_of(node: Synopsis) -> int:
    """The number of panes of the longest window."""
    window = window_of(node)
    return -(-window.range_us // (window.slide_us or 1))


def kept_values(aggregates: Iterable[Aggregate]) -> tuple[KeptValue, ...]:
    """What the holistic ones of some aggregates keep, in an order that does not depend on theirs."""
    kept = {KeptValue.of(a) for a in aggregates if not is_linear(a) and a.arg is not None}
    return tuple(sorted(kept, key=repr))


def over_stream(aggregate: Aggregate, columns: Mapping[str, Expression]) -> Aggregate:
    """An aggregate with its arguments in terms of other columns."""
    arg, by = (None if part is None else substitute(part, columns) for part in (aggregate.arg, aggregate.by))
    return replace(aggregate, arg=arg, by=by)
