"""Texts that stand for names in FROM: the derived streams and registered queries that are being expanded."""

from __future__ import annotations

from dataclasses import dataclass, field

from panes.language.names import same
from panes.language.statements import CreateDerivedStream, CreateQuery

DEEPEST = 20
"""How many derived streams and queries may stand inside one another."""
LONGEST = 30_000
"""Characters that their texts may come to: each may read the one before twice."""


@dataclass
class _Length:
    """The characters of all texts that have been expanded."""

    characters: int = 0


@dataclass(frozen=True)
class Expansion:
    """The derived streams and registered queries that are being expanded, the outermost first."""

    names: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    """The registered queries among them, the innermost first."""
    _length: _Length = field(default_factory=_Length, compare=False, repr=False)
    """Shared by all that are bound together."""

    def why_not(self, read: CreateDerivedStream | CreateQuery) -> tuple[str, str] | None:
        """Why a name cannot be expanded here, and a hint; None when it can. Counts what can."""
        if any(same(read.name, name) for name in self.names):
            return f"{read.name} reads itself", "nothing can be made from its own answer"
        if len(self.names) == DEEPEST:
            return (
                f"more than {DEEPEST} derived streams and queries stand inside one another here",
                "write the text of some of them in the place of their names",
            )
        self._length.characters += len(read.query.sql)
        if self._length.characters > LONGEST:
            return (
                f"with the derived streams and queries inside, this is longer than {LONGEST} characters",
                "read each of them fewer times",
            )
        return None

    def inside(self, read: CreateDerivedStream | CreateQuery) -> Expansion:
        """What is being expanded where the text of a name in FROM is bound."""
        queries = (read.name, *self.queries) if isinstance(read, CreateQuery) else self.queries
        return Expansion((*self.names, read.name), queries, self._length)
