"""The relation of a plan at every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from panes.clock import to_datetime
from panes.delta.delta import EXP, TS
from panes.plan import nodes
from panes.plan.expressions import Call, Expression, Literal
from panes.plan.lookups import Matching, is_lookup
from panes.plan.sort_key import total_order
from panes.plan.types import BOOLEAN, TIMESTAMP
from tests.reference.aggregates import aggregate
from tests.reference.expressions import evaluate
from tests.reference.over import over
from tests.reference.streams import Streams, is_internal
from tests.reference.values import Bag, Row, by_value, comparable, order, plain
from tests.reference.windows import Tuple, held

Named = Mapping[Any, Row]
"""Rows by name. A row that stays keeps its name; one that comes as an equal one goes has another."""


class Reference:
    """Evaluates plans over what came on each stream and the rows that tables have from when until when, at the
    instants 1, 2, … `last`.

    At 0, before anything came, there is only what is always there: the row of a group-by without keys, and the
    first rows of tables.
    """

    def __init__(self, arrivals: Mapping[str, pa.Table], last: int) -> None:
        self.last = last
        self._arrivals = {name: _tuples(table) for name, table in arrivals.items()}
        self._known: dict[tuple[nodes.Node, int], Named] = {}
        self._streams = Streams(self)

    def history(self, plan: nodes.Node) -> dict[int, Bag]:
        """How the answer changes at each instant at which it does, and at 0 what is always there.

        Counts below zero are of rows that go.
        """
        if is_internal(plan):
            plan = nodes.Istream(plan)
        changes = {}
        before: Bag = Counter()
        for now in range(self.last + 1):
            after = comparable(self.bag(plan, now))
            change = Counter(after)
            change.subtract(before)
            change = Counter({row: count for row, count in change.items() if count})
            if change:
                changes[now] = change
            before = after
        return changes

    def bag(self, plan: nodes.Node, now: int) -> Bag:
        """The relation at an instant, without the names."""
        return Counter(self.rows(plan, now).values())

    def rows(self, plan: nodes.Node, now: int) -> Named:
        if (plan, now) not in self._known:
            self._known[plan, now] = self._rows(plan, now)
        return self._known[plan, now]

    def tuples(self, node: nodes.Node) -> Sequence[Tuple]:
        """All tuples of a stream up to the last instant, in the order of time."""
        match node:
            case nodes.StreamScan():
                names = [name.removeprefix(f"{node.alias}.") for name in node.schema.names]
                return [
                    Tuple(ts, number, tuple(ts if name == nodes.TIME else row[name] for name in names))
                    for number, (ts, row) in enumerate(self._arrivals[node.stream])
                ]
            case nodes.Join() | nodes.OuterJoin() | nodes.SemiJoin() | nodes.AntiJoin() if is_lookup(node):
                return self._looking_up(node)
            case nodes.Select() | nodes.Project():
                made = ((t, _row_by_row(node, t.row)) for t in self.tuples(node.child))
                return [t._replace(row=row) for t, row in made if row is not None]
            case nodes.Unnest():
                return [
                    t._replace(name=(t.name, place), row=row)
                    for t in self.tuples(node.child)
                    for place, row in enumerate(_unnested(node, t.row))
                ]
            case nodes.Union():
                sides = enumerate((node.left, node.right))
                both = [t._replace(name=(side, t.name)) for side, child in sides for t in self.tuples(child)]
                return sorted(both, key=lambda t: t.ts)
        return self._streams.of(node)

    def _rows(self, node: nodes.Node, now: int) -> Named:
        match node:
            case nodes.StreamScan() | nodes.Istream() | nodes.Dstream() | nodes.Rstream():
                return {t.name: t.row for t in self.tuples(node) if t.ts <= now}
            case nodes.Window():
                stream, columns = self.tuples(node.child), node.schema.names
                return {t.name: t.row for t in held(node.spec, stream, columns, now)}
            case nodes.TableScan():
                return self._table(node, now)
            case nodes.Values():
                return {number: tuple(map(plain, row)) for number, row in enumerate(node.rows)}
            case nodes.Wstream():
                stream = self._streams.generated(node.child)
                return {t.name: t.row for t in held(node.spec, stream, node.schema.names, now)}
            case nodes.Select() | nodes.Project():
                made = {name: _row_by_row(node, row) for name, row in self.rows(node.child, now).items()}
                return {name: row for name, row in made.items() if row is not None}
            case nodes.TemporalFilter():
                asked = _condition_at(node, now)
                made = {name: _row_by_row(asked, row) for name, row in self.rows(node.child, now).items()}
                return {name: row for name, row in made.items() if row is not None}
            case nodes.Unnest():
                return {
                    (name, place): made
                    for name, row in self.rows(node.child, now).items()
                    for place, made in enumerate(_unnested(node, row))
                }
            case nodes.Union():
                sides = enumerate((node.left, node.right))
                return {
                    (side, name): row for side, child in sides for name, row in self.rows(child, now).items()
                }
            case nodes.Join() | nodes.OuterJoin() | nodes.SemiJoin() | nodes.AntiJoin():
                return self._met(node, self.rows(node.left, now), now)
            case nodes.Distinct():
                return _numbered(Counter(set(self.bag(node.child, now))))
            case nodes.Intersect():
                return _numbered(self.bag(node.left, now) & self.bag(node.right, now))
            case nodes.Except():
                return _numbered(self.bag(node.left, now) - self.bag(node.right, now))
            case nodes.GroupBy():
                return self._groups(node, now)
            case nodes.Over():
                return self._over(node, now)
            case nodes.TopN():
                return self._first_rows(node, now)
        raise TypeError(f"the reference does not know {type(node).__name__}")

    def _table(self, node: nodes.TableScan, now: int) -> Named:
        names = [name.removeprefix(f"{node.alias}.") for name in node.schema.names]
        rows = enumerate(self._arrivals[node.table])
        return {
            number: tuple(row[name] for name in names) for number, (ts, row) in rows if ts <= now < row[EXP]
        }

    def _looking_up(self, node: Matching) -> Sequence[Tuple]:
        """The tuples of a stream with what they meet; those of one instant are in the order of their values."""
        found = []
        for t in self.tuples(node.left):
            met = self._met(node, {t.name: t.row}, t.ts)
            found += [t._replace(name=name, row=row) for name, row in met.items()]
        return sorted(found, key=lambda t: (t.ts, tuple(map(order, t.row))))

    def _met(self, node: Matching, left: Named, now: int) -> Named:
        """What becomes of rows of the left side of a join, semi- or anti-join."""
        if isinstance(node, nodes.Join):
            return {(one, other): a + b for one, a, other, b in self._matches(node, left, now)}
        if isinstance(node, nodes.OuterJoin):
            return self._outer_join(node, left, now)
        if isinstance(node, nodes.AntiJoin):
            return self._without_match(node, left, now)
        found = {one for one, _, _, _ in self._matches(node, left, now)}
        return {name: row for name, row in left.items() if name in found}

    def _outer_join(self, node: nodes.OuterJoin, left: Named, now: int) -> Named:
        pairs = {(one, other): a + b for one, a, other, b in self._matches(node, left, now)}
        nulls = (None,) * len(node.left.schema), (None,) * len(node.right.schema)
        met = {one for one, _ in pairs}
        alone = {(one, None): row + nulls[1] for one, row in left.items() if one not in met}
        if node.is_full:
            met = {other for _, other in pairs}
            right = self.rows(node.right, now).items()
            alone |= {(None, other): nulls[0] + row for other, row in right if other not in met}
        return pairs | alone

    def _right(self, node: Matching, row: Row, now: int) -> Named:
        """The right side of a join, as a row of the left meets it."""
        at = now if node.time is None else row[node.left.schema.names.index(node.time)]
        return self.rows(node.right, at)

    def _matches(self, node: Matching, rows: Named, now: int) -> Iterable[tuple[Any, Row, Any, Row]]:
        left, right = node.left.schema.names, node.right.schema.names
        for one, a in rows.items():
            keys = [a[left.index(key)] for key in node.left_keys]
            if None in keys:
                continue
            for other, b in self._right(node, a, now).items():
                if keys == [b[right.index(key)] for key in node.right_keys] and _passes(
                    node.residual, dict(zip(right, b, strict=True)) | dict(zip(left, a, strict=True))
                ):
                    yield one, a, other, b

    def _without_match(self, node: nodes.AntiJoin, left: Named, now: int) -> Named:
        if not node.null_aware:
            found = {one for one, _, _, _ in self._matches(node, left, now)}
            return {name: row for name, row in left.items() if name not in found}
        (left_key,), (right_key,) = node.left_keys, node.right_keys
        names = node.left.schema.names
        kept = {}
        for name, row in left.items():
            named = dict(zip(names, row, strict=True))
            others = self._passing(node, self._right(node, row, now), named, right_key)
            if not others or (None not in (named[left_key], *others) and named[left_key] not in others):
                kept[name] = row
        return kept

    def _passing(self, node: nodes.AntiJoin, right: Named, left: Mapping[str, Any], key: str) -> list[Any]:
        """The keys on the right, of rows that pass the residual."""
        names = node.right.schema.names
        rows = (dict(zip(names, row, strict=True)) for row in right.values())
        return [row[key] for row in rows if _passes(node.residual, {**row, **left})]

    def _first_rows(self, node: nodes.TopN, now: int) -> Named:
        names = node.schema.names
        rows = list(self.rows(node.child, now).values())
        for key in reversed(total_order(node.order, names)):
            place = names.index(key.column)
            known = [row for row in rows if row[place] is not None]
            known.sort(key=lambda row: order(row[place]), reverse=key.descending)
            missing = [row for row in rows if row[place] is None]
            rows = missing + known if key.nulls_first else known + missing
        partitions: dict[Row, list[Row]] = {}
        for row in rows:
            partition = tuple(row[names.index(name)] for name in node.partition_by)
            partitions.setdefault(partition, []).append(row)
        last = node.offset + node.limit
        return _numbered(Counter(row for found in partitions.values() for row in found[node.offset : last]))

    def _groups(self, node: nodes.GroupBy, now: int) -> Named:
        names = node.child.schema.names
        groups: dict[Row, list[dict[str, Any]]] = {} if node.keys else {(): []}
        for row in self.rows(node.child, now).values():
            named = dict(zip(names, row, strict=True))
            groups.setdefault(tuple(named[key] for key in node.keys), []).append(named)
        results = {}
        for key, rows in groups.items():
            values = [
                aggregate(
                    call,
                    rows if call.arg is None else [evaluate(call.arg, row) for row in rows],
                    None if call.by is None else [evaluate(call.by, row) for row in rows],
                )
                for call in node.aggregates
            ]
            # A new value of a group is another row.
            results[key, tuple(values)] = key + tuple(values)
        return results

    def _over(self, node: nodes.Over, now: int) -> Named:
        names = node.child.schema.names
        partitions: dict[Row, list[dict[str, Any]]] = {}
        for row in self.rows(node.child, now).values():
            named = dict(zip(names, row, strict=True))
            partitions.setdefault(tuple(named[key] for key in node.partition_by), []).append(named)
        results = [
            (*row.values(), *values) for rows in partitions.values() for row, values in over(node, rows)
        ]
        return _numbered(Counter(results))


def _tuples(table: pa.Table) -> list[tuple[int, dict[str, Any]]]:
    rows = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
    return sorted(((row[TS], row) for row in rows), key=lambda pair: pair[0])


def _condition_at(node: nodes.TemporalFilter, now: int) -> nodes.Select:
    """The condition with the instant written out: that of the last slide, where the rows change at slides."""
    at = max((now // slide * slide for slide in node.slides), default=now)
    instant = Literal(TIMESTAMP, to_datetime(at + node.distance_us))
    return nodes.Select(node.child, Call(BOOLEAN, node.op, (node.value, instant)))


def _row_by_row(node: nodes.Select | nodes.Project, row: Row) -> Row | None:
    """What becomes of a row; None when it is left out."""
    named = dict(zip(node.child.schema.names, row, strict=True))
    if isinstance(node, nodes.Select):
        return row if evaluate(node.predicate, named) else None
    return tuple(evaluate(expression, named) for _, expression in node.columns)


def _passes(residual: Expression | None, row: Mapping[str, Any]) -> bool:
    return residual is None or bool(evaluate(residual, row))


def _numbered(bag: Bag) -> Named:
    """Equal rows told apart by a number: as often as a row is there, it stays."""
    return {(row, number): row for row in by_value(bag) for number in range(bag[row])}


def _unnested(node: nodes.Unnest, row: Row) -> list[Row]:
    """The row, once for each item of its list."""
    named = dict(zip(node.child.schema.names, row, strict=True))
    return [(*row, item) for item in evaluate(node.expression, named) or ()]
