"""The items of FROM as they are joined: what WHERE may still bring into any order, and what has its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from panes.language.binder.bind_expressions import ExpressionBinder
from panes.language.binder.bind_joins import Part, join_tree
from panes.language.binder.bind_lookup import bind_lookup, is_looked_up
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.refusals import (
    check_bounded,
    check_bounded_with_tables,
    check_internal,
    check_with_tables,
)
from panes.language.binder.scope import Relation, Scope
from panes.language.names import same
from panes.language.parser.syntax import FromItem
from panes.language.positions import offset_of, refuse
from panes.plan.expressions import Expression, Literal, columns_of
from panes.plan.join_keys import split_keys, with_keys
from panes.plan.nodes import AntiJoin, Node, OuterJoin, SemiJoin, Unnest
from panes.plan.selected import selected


@dataclass
class JoinedItems:
    """Joins the items of a FROM clause from left to right, as they are added.

    Inner joins only collect parts and conditions. An outer, semi- or anti-join makes one part of all that stands
    before it, back to the last comma.
    """

    scope: Scope
    catalog: KnownRelations
    parts: list[Part] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)
    """Those of inner joins: they mean the same in WHERE."""
    _first_part: int = 0
    """The first part since the last comma."""
    _first_relation: int = 0
    """The first relation since the last comma: ON, USING and NATURAL read no other."""

    _has_unnest: bool = False
    """Whether unnest(…) stands after the last comma."""

    def add(self, item: FromItem, relation: Relation, node: Node) -> None:
        kind = item.args.get("kind") or ""
        if kind in ("", ","):
            self._first_part, self._first_relation = len(self.parts), len(self.scope.relations)
            self._has_unnest = False
        self.scope.add(relation)
        conditions = self._conditions(item, kind)
        part = Part(node, relation.offset)
        if kind in ("", ",", "CROSS JOIN", "JOIN"):
            self.parts.append(part)
            self.conditions += conditions
            return
        whole = self._joined_whole(kind, part, conditions, item)
        self.parts[self._first_part :] = [Part(whole, self.parts[self._first_part].offset)]
        if kind in ("SEMI JOIN", "ANTI JOIN"):
            self.scope.relations.pop()

    def unnest(self, item: FromItem, relation: Relation, items: Expression) -> None:
        """Puts unnest(…) over the part that its list is made of."""
        kind = item.args["kind"]
        self._has_unnest |= kind == ","
        place = self._place_of(items, item)
        self.scope.add(relation)
        part = self.parts[place]
        (column,) = relation.schema.names
        self.parts[place] = replace(part, node=Unnest(part.node, items, column))
        self.conditions += self._conditions(item, kind)

    def _place_of(self, items: Expression, item: FromItem) -> int:
        """The part that a list is made of; a list of constants goes with the last one."""
        read = columns_of(items)
        for place in reversed(range(len(self.parts))):
            if read <= set(self.parts[place].node.schema.names):
                return place
        if not all(map(self.scope.is_own, read)):
            refuse(
                "unnest(…) cannot read a column of the query around it",
                self.scope.text, offset_of(item), "put it in FROM of that query",
            )  # fmt: skip
        if read:
            refuse(
                "the list in unnest(…) is made of columns of several items of FROM",
                self.scope.text, offset_of(item), "join these in a derived table first",
            )  # fmt: skip
        return refuse(
            "unnest(…) needs a stream or table before it in FROM, whose rows the items go with",
            self.scope.text, offset_of(item), "for constants alone write (VALUES (1), (2)) AS t(x)",
        )  # fmt: skip

    # Conditions.

    def _conditions(self, item: FromItem, kind: str) -> list[Expression]:
        if item.args.get("on") is not None:
            return _on(item.args["on"], self.scope)
        names = item.args.get("using") or ()
        if item.args.get("natural"):
            names = self._common_names(item)
        return [self._using(name, kind) for name in names]

    def _common_names(self, item: FromItem) -> list[exp.Identifier]:
        *earlier, last = self.scope.relations[self._first_relation :]
        before = [name for r in earlier for name, c in r.columns if c.name not in self.scope.hidden]
        names = [name for name, _ in last.columns if any(same(name, other) for other in before)]
        if not names:
            refuse(
                "NATURAL JOIN needs a column of the same name on both sides, and there is none",
                self.scope.text, offset_of(item), "use ON, or a comma for all pairs",
            )  # fmt: skip
        return [exp.Identifier(this=name).update_positions(item) for name in names]

    def _using(self, name: exp.Identifier, kind: str) -> Expression:
        scope = self.scope
        *earlier, last = scope.relations[self._first_relation :]
        right = last.column(name.name)
        lefts = [c for r in earlier if (c := r.column(name.name)) is not None and c.name not in scope.hidden]
        if right is None or not lefts:
            refuse(f"both sides of USING need a column named {name.name!r}", scope.text, offset_of(name))
        if len(lefts) > 1:
            refuse(
                f"more than one relation before it has a {name.name!r}", scope.text, offset_of(name), "use ON"
            )
        binder, left = ExpressionBinder(scope), scope.bare(lefts[0])
        condition = binder.call("eq", (left, right), name)
        scope.hidden.add(right.name)
        if kind == "RIGHT JOIN":
            scope.merged[lefts[0].name] = right
        elif kind == "FULL JOIN":
            scope.merged[lefts[0].name] = binder.call("coalesce", (left, right), name)
        return condition

    # Joins that keep their place.

    def _joined_whole(self, kind: str, part: Part, conditions: Sequence[Expression], item: FromItem) -> Node:
        before = self._before(kind, item)
        left, right = (part.node, before) if kind == "RIGHT JOIN" else (before, part.node)
        known = {*left.schema.names, *right.schema.names}
        if any(not columns_of(c) <= known for c in conditions):
            refuse(
                f"ON of a {kind} reads the two sides that it joins, and nothing else",
                self.scope.text, offset_of(item.args.get("on") or item),
                "put the condition in WHERE, or write CROSS JOIN in place of a comma",
            )  # fmt: skip
        rest = [c for c in conditions if not (isinstance(c, Literal) and c.value is True)]
        if kind != "FULL JOIN":
            on_right = [c for c in rest if columns_of(c) and all(n in right.schema for n in columns_of(c))]
            right = selected(right, on_right)
            rest = [c for c in rest if c not in on_right]
        pairs, residual = split_keys(rest, left, right)
        sides = with_keys(left, right, pairs)
        match kind:
            case "SEMI JOIN":
                return self._checked(SemiJoin(*sides, residual), kind, part)
            case "ANTI JOIN":
                return self._checked(AntiJoin(*sides, residual), kind, part)
        return self._checked(OuterJoin(*sides, residual, is_full=kind == "FULL JOIN"), kind, part)

    def _before(self, kind: str, item: FromItem) -> Node:
        """What stands before an item, back to the last comma, as one relation."""
        parts = self.parts[self._first_part :]
        known = {name for part in parts for name in part.node.schema.names}
        mine = [c for c in self.conditions if columns_of(c) <= known]
        rest = [c for c in self.conditions if c not in mine]
        if kind in ("RIGHT JOIN", "FULL JOIN") and any(columns_of(c) & known for c in rest):
            refuse(
                f"ON before a {kind} reads what stands before the comma, or the query around it",
                self.scope.text, offset_of(item), "put the condition in WHERE",
            )  # fmt: skip
        if kind in ("RIGHT JOIN", "FULL JOIN") and self._has_unnest:
            refuse(
                f"a {kind} would keep rows for each list of the unnest(…) after the comma",
                self.scope.text, offset_of(item), "write CROSS JOIN in place of the comma before unnest(…)",
            )  # fmt: skip
        self.conditions = rest
        return join_tree(parts, mine, self.catalog, self.scope.text)

    def _checked(self, node: OuterJoin | SemiJoin | AntiJoin, kind: str, part: Part) -> Node:
        """The join, as a lookup where it is one; refused where it would have to remember without end."""
        text = self.scope.text
        is_full = isinstance(node, OuterJoin) and node.is_full
        if is_looked_up(node.left, node.right) and not is_full:
            return bind_lookup(node, self.catalog, text, part.offset)
        check_with_tables(node.left, node.right, text, part.offset)
        check_bounded_with_tables(node.left, node.right, text, part.offset)
        check_bounded(f"a {kind}", text, part.offset, node.left, node.right)
        check_internal(node, text, part.offset)
        return node


def _on(node: exp.Expression, scope: Scope) -> list[Expression]:
    if isinstance(node, exp.And):
        return _on(node.this, scope) + _on(node.expression, scope)
    return [ExpressionBinder(scope).condition(node, "ON")]
