"""The streams of output operators: what happens to a relation from each instant to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from panes.plan import nodes
from panes.plan.lookups import is_lookup
from panes.plan.windows import NowWindow, RangeWindow, RowsWindow, SessionWindow, UnboundedWindow
from tests.reference.values import Bag, Row, by_value
from tests.reference.windows import Tuple


class Relations(Protocol):
    last: int

    def bag(self, plan: nodes.Node, now: int) -> Bag: ...

    def rows(self, plan: nodes.Node, now: int) -> dict[object, Row]: ...


class Streams:
    """Tuples of one instant are in the order of their values."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._known: dict[nodes.Node, Sequence[Tuple]] = {}

    def of(self, node: nodes.Node) -> Sequence[Tuple]:
        """The stream that an output operator, or a relation over INTERNAL windows, gives."""
        match node:
            case nodes.Istream() if is_internal(node.child):
                return self.generated(node.child)
            case nodes.Istream():
                return self._once(node, self._istream(node))
            case nodes.Dstream():
                return self._once(node, self._dstream(node))
            case nodes.Rstream():
                return self._once(node, self._rstream(node))
        raise TypeError(f"{type(node).__name__} gives no stream")

    def generated(self, relation: nodes.Node) -> Sequence[Tuple]:
        """Every result that comes into being, where results are made of single tuples, although an equal one may
        leave at the same instant; of other relations what enters."""
        if not _is_made_of_tuples(relation):
            return self.of(nodes.Istream(_without_internal(relation)))
        return self._once(relation, self._named_anew(relation))

    def _once(self, node: nodes.Node, told: Iterable[tuple[int, Bag]]) -> Sequence[Tuple]:
        if node not in self._known:
            self._known[node] = [
                Tuple(now, (now, number), row)
                for now, bag in sorted(told, key=lambda pair: pair[0])
                for number, row in enumerate(by_value(bag.elements()))
            ]
        return self._known[node]

    def _instants(self) -> range:
        return range(1, self._relations.last + 1)

    def _named_anew(self, relation: nodes.Node) -> Iterable[tuple[int, Bag]]:
        for now in self._instants():
            before = self._relations.rows(relation, now - 1)
            after = self._relations.rows(relation, now)
            yield now, Counter(row for name, row in after.items() if name not in before)

    def _istream(self, node: nodes.Istream) -> Iterable[tuple[int, Bag]]:
        slides = slides_of(node.child)
        if not node.restore or not slides:
            for now in self._instants():
                yield now, self._change(node.child, now)
            return
        slide = max(slides)
        at_slides: dict[int, Bag] = {}
        for now in self._instants():
            at = -(-now // slide) * slide
            entered = self._change(_without_slides(node.child), now)
            at_slides[at] = at_slides.get(at, Counter()) + entered
        yield from ((at, bag) for at, bag in at_slides.items() if at <= self._relations.last)

    def _dstream(self, node: nodes.Dstream) -> Iterable[tuple[int, Bag]]:
        for now in self._instants():
            yield now, self._relations.bag(node.child, now - 1) - self._relations.bag(node.child, now)

    def _rstream(self, node: nodes.Rstream) -> Iterable[tuple[int, Bag]]:
        slides = slides_of(node.child)
        entered = dict[int, Bag]()
        if node.restore:
            entered = dict(self._istream(nodes.Istream(node.child, restore=True)))
        has_begun = False
        for now in self._instants():
            held, before = self._relations.bag(node.child, now), self._relations.bag(node.child, now - 1)
            has_begun = has_begun or held != before or bool(entered.get(now))
            if any(now % slide == 0 for slide in slides) and has_begun:
                yield now, held + (entered.get(now, Counter()) - held)
            if not slides and held != before:
                yield now, held

    def _change(self, relation: nodes.Node, now: int) -> Bag:
        return self._relations.bag(relation, now) - self._relations.bag(relation, now - 1)


def slides_of(node: nodes.Node) -> frozenset[int]:
    """The slides in time of a relation that changes at no other instants."""
    slides = _slides(node)
    return frozenset() if None in slides else frozenset(s for s in slides if s is not None)


def _slides(node: nodes.Node) -> frozenset[int | None]:
    if isinstance(node, nodes.Window):
        return frozenset({node.spec.slide_us if isinstance(node.spec, RangeWindow) else None})
    if is_lookup(node):
        return _slides(node.left)  # updates of its table change nothing that is there
    if isinstance(node, nodes.Values):
        return frozenset()  # it never changes
    if not node.children:
        return frozenset({None})
    return frozenset[int | None]().union(*map(_slides, node.children))


def _without_slides(node: nodes.Node) -> nodes.Node:
    if isinstance(node, nodes.Window) and isinstance(node.spec, RangeWindow):
        return replace(node, spec=replace(node.spec, slide_us=None))
    return nodes.with_children(node, *map(_without_slides, node.children))


def _without_internal(node: nodes.Node) -> nodes.Node:
    if isinstance(node, nodes.Window):
        spec = node.spec
        if isinstance(spec, (RangeWindow, RowsWindow, NowWindow, UnboundedWindow)):
            return replace(node, spec=replace(spec, internal=False))
        return node
    return nodes.with_children(node, *map(_without_internal, node.children))


def is_internal(node: nodes.Node) -> bool:
    """Whether results of a relation stay because its windows are INTERNAL: all of them, if one is."""
    if isinstance(node, nodes.Window):
        return bool(getattr(node.spec, "internal", False))
    if isinstance(node, (nodes.Istream, nodes.Dstream, nodes.Rstream, nodes.Wstream)):
        return False
    return any(map(is_internal, node.children))


def _is_made_of_tuples(node: nodes.Node) -> bool:
    """Whether selections, projections, unions and joins alone stand over the windows; joins over time windows.
    What tuples meet in a table of their own time is part of them."""
    if is_lookup(node):
        return _is_made_of_tuples(node.left)
    match node:
        case nodes.StreamScan() | nodes.Window() | nodes.TableScan() | nodes.Values():
            return True
        case nodes.Select() | nodes.Project() | nodes.Union():
            return all(map(_is_made_of_tuples, node.children))
        case nodes.Join():
            return all(map(_is_made_of_tuples, node.children)) and not _counts_rows(node)
    return False


def _counts_rows(node: nodes.Node) -> bool:
    """Whether rows of a count or session window, or of a table that may be updated, are in the relation."""
    if isinstance(node, nodes.Window):
        return isinstance(node.spec, (RowsWindow, SessionWindow))
    if is_lookup(node):
        return _counts_rows(node.left)
    return isinstance(node, nodes.TableScan) or any(map(_counts_rows, node.children))
