"""Which names can be used where: the columns of a FROM clause, and those of the queries around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from panes.language.names import same
from panes.language.parser.syntax import Nested, WindowClause
from panes.language.positions import did_you_mean, offset_of, refuse
from panes.plan.expressions import Column, Expression
from panes.plan.schema import Schema

if TYPE_CHECKING:
    from panes.language.binder.bind_scalar_subqueries import Scalar


@dataclass(frozen=True)
class Relation:
    """One item of FROM: the alias users write, and its columns, named `prefix.column` (just `column` when the
    prefix is empty)."""

    alias: str
    prefix: str
    schema: Schema
    offset: int

    @property
    def columns(self) -> list[tuple[str, Column]]:
        """The names that users write, and the columns they mean."""
        skip = len(self.prefix) + 1 if self.prefix else 0
        return [(f.name[skip:], Column(f.type, f.name)) for f in self.schema]

    def column(self, name: str) -> Column | None:
        return next((column for written, column in self.columns if same(written, name)), None)


@dataclass
class Scope:
    """The relations of one FROM clause; `outer` is the scope of the query around a subquery."""

    text: str
    relations: list[Relation] = field(default_factory=list)
    outer: Scope | None = None
    window: WindowClause | None = None
    """The BEGIN … END of the query; subqueries without their own share it."""
    hidden: set[str] = field(default_factory=set)
    """Columns that JOIN … USING has merged into their partner: only found under their alias."""
    merged: dict[str, Expression] = field(default_factory=dict)
    """What a column that JOIN … USING has merged others into means where it is written without its alias."""
    bind_scalar: Callable[[Nested, Scope], Scalar] | None = None
    """Binds a subquery that stands for a value; None where there is none around it to be joined with."""
    computed: set[str] = field(default_factory=set)
    """The columns that the values of subqueries are computed from."""
    _subqueries: int = 0

    def default_window(self) -> WindowClause | None:
        """The BEGIN … END for streams without a window of their own."""
        return next((scope.window for scope in self._chain() if scope.window is not None), None)

    def add(self, relation: Relation) -> None:
        if any(same(relation.alias, other.alias) for other in self.relations):
            refuse(
                f"two things in FROM are called {relation.alias!r}", self.text, relation.offset,
                "give one of them another alias: … AS other",
            )  # fmt: skip
        self.relations.append(relation)

    def prefix_for(self, alias: str) -> str:
        """The alias itself, or with a number when a query around this one uses it too."""
        taken = {relation.prefix.casefold() for scope in self._chain() for relation in scope.relations}
        prefix, number = alias, 0
        while prefix.casefold() in taken:
            number += 1
            prefix = f"{alias}_{number}"
        return prefix

    def resolve(self, node: exp.Column) -> Expression:
        """The column that a name means here, or in the nearest query around that has one.

        An alias means the nearest relation of that name, also when that one has no such column.
        """
        name, alias = node.name, node.text("table")
        for scope in self._chain():
            found = scope._find(name, alias, offset_of(node), self.text)
            if found is not None:
                return found
            if alias and any(same(alias, relation.alias) for relation in scope.relations):
                break
        self._refuse_unknown(name, alias, offset_of(node))
        raise AssertionError("unreachable")

    def has(self, name: str) -> bool:
        """Whether a bare name is a column here or around."""
        return any(r.column(name) is not None for scope in self._chain() for r in scope.relations)

    def next_subquery(self) -> str:
        """A new prefix for the columns of a subquery, that no other has in this query or around it."""
        outermost = self._chain()[-1]
        outermost._subqueries += 1
        return self.prefix_for(f"subquery_{outermost._subqueries}")

    def has_alias(self, alias: str) -> bool:
        """Whether something in FROM is called so, here or around."""
        return any(same(alias, r.alias) for scope in self._chain() for r in scope.relations)

    def own_names(self) -> list[str]:
        """The edge names of the columns of this scope."""
        return [name for relation in self.relations for name in relation.schema.names]

    def is_own(self, column: str) -> bool:
        """Whether an edge name belongs to this scope, not to one around it."""
        return column in self.computed or any(column in r.schema for r in self.relations)

    def _chain(self) -> list[Scope]:
        return [self, *(self.outer._chain() if self.outer else [])]

    def bare(self, column: Column) -> Expression:
        """What a column means where it is written without its alias."""
        return self.merged.get(column.name, column)

    def _find(self, name: str, alias: str, offset: int, text: str) -> Expression | None:
        found = []
        for relation in self.relations:
            if alias and not same(alias, relation.alias):
                continue
            column = relation.column(name)
            if column is not None and (alias or column.name not in self.hidden):
                found.append((relation, column))
        if len(found) > 1:
            choices = " or ".join(f"{relation.alias}.{name}" for relation, _ in found)
            refuse(f"{name!r} could be {choices}", text, offset, "write the alias in front")
        if not found:
            return None
        return found[0][1] if alias else self.bare(found[0][1])

    def _refuse_unknown(self, name: str, alias: str, offset: int) -> None:
        scopes = self._chain()
        if alias:
            relations = [r for s in scopes for r in s.relations if same(r.alias, alias)]
            if not relations:
                aliases = [r.alias for s in scopes for r in s.relations]
                refuse(
                    f"nothing in FROM is called {alias!r}", self.text, offset, did_you_mean(alias, aliases)
                )
            names = [written for written, _ in relations[0].columns]
            refuse(f"{alias} has no column named {name!r}", self.text, offset, did_you_mean(name, names))
        names = list(dict.fromkeys(written for s in scopes for r in s.relations for written, _ in r.columns))
        hint = did_you_mean(name, names)
        if self.text[offset : offset + 1] == '"':
            text = name.replace("'", "''")
            similar = f"{hint} " if (hint or "").startswith("did you mean") else ""
            hint = f"{similar}double quotes are for names; a text stands in single quotes: '{text}'"
        refuse(f"there is no column named {name!r}", self.text, offset, hint)
