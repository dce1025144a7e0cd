"""What a synopsis holds: the data, and the panes, that the queries need which it is for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import gcd, log2

from panes.aggregates.linear import is_linear
from panes.aggregates.partials import KeptValue
from panes.plan.expressions import Aggregate, Column, Expression, substitute
from panes.plan.nodes import GroupBy, Node, Project, Select, StreamScan, Synopsis, Window
from panes.plan.windows import RangeWindow
from panes.synopses.layout import Layout

AUTO = "auto"
FORMS = ("running", "interval", "basic")


@dataclass(frozen=True)
class SynopsisSource:
    """The tuples that are summed, and by what: all queries of a synopsis have the same.

    Whatever a query calls the stream, here its columns are qualified by the name of the stream.
    """

    scan: StreamScan
    predicate: Expression | None
    keys: tuple[Expression, ...]
    values: tuple[KeptValue, ...]
    """What holistic aggregates keep, in any order: where values are kept one by one, all queries read them."""

    def group_by(self, aggregates: Iterable[Aggregate], window: RangeWindow) -> GroupBy:
        """The group-by of some aggregates over the columns of the stream."""
        below: Node = self.scan if self.predicate is None else Select(self.scan, self.predicate)
        keys = tuple((f"_key_{number}", key) for number, key in enumerate(self.keys))
        columns = tuple((f.name, Column(f.type, f.name)) for f in self.scan.schema)
        names = tuple(name for name, _ in keys)
        return GroupBy(Window(Project(below, keys + columns), window), names, tuple(aggregates))


@dataclass(frozen=True)
class SynopsisReader:
    """What one query needs of a synopsis."""

    source: SynopsisSource
    window: RangeWindow
    aggregates: tuple[Aggregate, ...]
    """Over the columns of the stream."""

    @property
    def windows(self) -> tuple[RangeWindow, ...]:
        """The windows of all streams that it reads."""
        return (self.window,)

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

    @classmethod
    def of(cls, readers: Iterable[SynopsisReader]) -> Definition:
        """The least that some queries need, of which there is at least one."""
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
        )

    @classmethod
    def from_node(cls, node: Synopsis, source: SynopsisSource) -> Definition:
        """What a plan that runs holds of a source."""
        group_by = group_by_of(node)
        window = window_of(node)
        assert window.slide_us is not None
        return cls(source, window.slide_us, window.range_us, node.reach_us, group_by.aggregates)

    @property
    def panes(self) -> int:
        """The number of panes of the longest window."""
        return -(-self.range_us // self.pane_us)

    @property
    def group_by(self) -> GroupBy:
        return self.source.group_by(self.aggregates, RangeWindow(self.range_us, self.pane_us))

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self.group_by)

    @cached_property
    def _has_columns(self) -> dict[tuple[Aggregate, ...], bool]:
        """Whether there are the columns of some aggregates, for those that were asked for."""
        return {}

    def covers(self, reader: SynopsisReader) -> bool:
        """Whether a query can be computed from the synopsis as it is."""
        if any(length % self.pane_us for length in (reader.window.range_us, reader.slide_us)):
            return False
        if reader.window.range_us > self.range_us or reader.reach_us > self.reach_us:
            return False
        asked = reader.aggregates
        if asked not in self._has_columns:
            own = Layout.of(reader.group_by).schema.names
            self._has_columns[asked] = set(self._layout.schema.names).issuperset(own)
        return self._has_columns[asked]

    def node(self, form: str, readers: int) -> Synopsis:
        """The plan of the synopsis, in the form that a setting wants; `readers` is the number of its queries."""
        return Synopsis(self.group_by, self.chosen_form(form, readers), self.reach_us)

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
        if layout.is_subtractable and not self.source.keys and self.panes > 2:
            return "running"
        is_read_together = self.panes < 4 or readers >= self.panes / log2(self.panes)
        return "basic" if is_read_together else "interval"


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
