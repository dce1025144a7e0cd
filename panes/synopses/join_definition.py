"""What the cells of a join hold: the data, and the panes, that the queries need which they are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import gcd

from panes.aggregates.partials import KeptValue
from panes.plan.expressions import Aggregate, Column, Expression
from panes.plan.nodes import GroupBy, Join, JoinSynopsis, Project, Window
from panes.plan.windows import RangeWindow
from panes.synopses.definition import kept_values, key_columns, length_text
from panes.synopses.join_cells import Windows
from panes.synopses.layout import Layout


@dataclass(frozen=True)
class JoinSource:
    """The pairs that are summed, and by what: all queries of the cells have the same."""

    join: Join
    """Of two streams without windows, with all that is asked of tuples and pairs."""
    keys: tuple[Expression, ...]
    values: tuple[KeptValue, ...]
    """What holistic aggregates keep, in any order."""

    def has(self, other: JoinSource) -> bool:
        """Whether what is summed of this one has what is summed of the other: it may keep more values."""
        is_same = (self.join, self.keys) == (other.join, other.keys)
        return is_same and set(self.values).issuperset(other.values)

    def group_by(self, aggregates: Iterable[Aggregate], windows: Windows) -> GroupBy:
        """The group-by of some aggregates over the columns of the join."""
        left, right = (Window(side, w) for side, w in zip(self.join.children, windows, strict=True))
        keys = tuple((f"_key_{number}", key) for number, key in enumerate(self.keys))
        columns = tuple((f.name, Column(f.type, f.name)) for f in self.join.schema)
        below = Project(replace(self.join, left=left, right=right), keys + columns)
        return GroupBy(below, tuple(name for name, _ in keys), tuple(aggregates))


@dataclass(frozen=True)
class JoinReader:
    """What one query needs of the cells."""

    source: JoinSource
    windows: Windows
    aggregates: tuple[Aggregate, ...]
    """Over the columns of the join."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """The ranges and the slide: a pane divides all of them."""
        return (*(window.range_us for window in self.windows), self.slide_us)

    @property
    def slide_us(self) -> int:
        slide_us = self.windows[0].slide_us
        assert slide_us is not None, "without SLIDE there are no panes"
        return slide_us

    @property
    def reaches(self) -> tuple[int, int]:
        """For how long after its time a tuple of each side may be needed."""
        left, right = self.windows
        return left.retained(), right.retained()

    @property
    def group_by(self) -> GroupBy:
        return self.source.group_by(self.aggregates, self.windows)


@dataclass(frozen=True)
class JoinDefinition:
    """The panes and the columns of the cells."""

    source: JoinSource
    pane_us: int
    """The greatest length that divides all ranges and slides."""
    ranges: tuple[int, int]
    """The longest of each side."""
    reaches: tuple[int, int]
    aggregates: tuple[Aggregate, ...]

    @classmethod
    def of(cls, readers: Iterable[JoinReader]) -> JoinDefinition:
        """The least that some queries need, of which there is at least one."""
        readers = list(readers)
        aggregates = dict.fromkeys(replace(a, name="") for reader in readers for a in reader.aggregates)
        return cls(
            readers[0].source,
            reduce(gcd, (length for reader in readers for length in reader.lengths)),
            (
                max(reader.windows[0].range_us for reader in readers),
                max(reader.windows[1].range_us for reader in readers),
            ),
            (max(reader.reaches[0] for reader in readers), max(reader.reaches[1] for reader in readers)),
            tuple(replace(a, name=f"_aggregate_{number}") for number, a in enumerate(aggregates)),
        )

    @classmethod
    def from_node(cls, node: JoinSynopsis, source: JoinSource) -> JoinDefinition:
        """What a plan that runs holds of a source."""
        left, right = windows_of(node)
        return cls(
            source,
            pane_of(node),
            (left.range_us, right.range_us),
            node.reaches,
            joined_group_by_of(node).aggregates,
        )

    @cached_property
    def group_by(self) -> GroupBy:
        left, right = (RangeWindow(range_us, self.pane_us) for range_us in self.ranges)
        return self.source.group_by(self.aggregates, (left, right))

    @cached_property
    def _layout(self) -> Layout:
        return Layout.of(self.group_by)

    def covers(self, reader: JoinReader) -> bool:
        """Whether a query can be computed from the cells as they are."""
        if any(length % self.pane_us for length in reader.lengths):
            return False
        ranges = (window.range_us for window in reader.windows)
        wanted = zip((*ranges, *reader.reaches), (*self.ranges, *self.reaches), strict=True)
        if any(mine > there for mine, there in wanted):
            return False
        return self._layout.has(Layout.of(reader.group_by))

    def node(self) -> JoinSynopsis:
        """The plan of the cells."""
        return JoinSynopsis(self.group_by, self.reaches)


def join_source_of(node: JoinSynopsis) -> JoinSource:
    """What the cells are computed from."""
    group_by = joined_group_by_of(node)
    keys = key_columns(group_by, pairs_of(node))
    return JoinSource(joined_of(node), keys, kept_values(group_by.aggregates))


def joined_group_by_of(node: JoinSynopsis) -> GroupBy:
    """The group-by of the pairs."""
    assert isinstance(node.child, GroupBy)
    return node.child


def pairs_of(node: JoinSynopsis) -> Project:
    """What the group-by reads of the pairs."""
    project = joined_group_by_of(node).child
    assert isinstance(project, Project)
    return project


def joined_of(node: JoinSynopsis) -> Join:
    """The join without windows."""
    join = _join_of(node)
    left, right = (window.child for window in _windows(join))
    return replace(join, left=left, right=right)


def windows_of(node: JoinSynopsis) -> Windows:
    """The windows of the cells: as long as the longest of each side, sliding by a pane."""
    left, right = (window.spec for window in _windows(_join_of(node)))
    assert isinstance(left, RangeWindow)
    assert isinstance(right, RangeWindow)
    return left, right


def pane_of(node: JoinSynopsis) -> int:
    """The length of a pane."""
    pane_us = windows_of(node)[0].slide_us
    assert pane_us is not None, "windows of cells slide by a pane"
    return pane_us


def cells_of(node: JoinSynopsis) -> tuple[int, int]:
    """The numbers of panes of the longest windows."""
    pane_us = pane_of(node)
    left, right = (-(-window.range_us // pane_us) for window in windows_of(node))
    return left, right


def cells_text(node: JoinSynopsis) -> str:
    """How many cells of which length there are."""
    left, right = cells_of(node)
    return f"cells, {left} × {right} × {length_text(pane_of(node))}"


def _join_of(node: JoinSynopsis) -> Join:
    join = pairs_of(node).child
    assert isinstance(join, Join)
    return join


def _windows(join: Join) -> Iterable[Window]:
    for side in join.children:
        assert isinstance(side, Window)
        yield side
