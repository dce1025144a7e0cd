"""What the binder must know of the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from panes.language.names import same
from panes.language.statements import (
    CreateDerivedStream,
    CreateFunction,
    CreateQuery,
    CreateStream,
    CreateTable,
)


class KnownRelations(Protocol):
    """The streams, tables and registered queries there are. Names are looked up as they were created."""

    def stream(self, name: str) -> CreateStream | CreateDerivedStream | None: ...

    def table(self, name: str) -> CreateTable | None: ...

    def registered(self, name: str) -> CreateQuery | None: ...

    def functions(self) -> Mapping[str, CreateFunction]:
        """The functions and aggregates of users, by name."""
        ...

    def names(self) -> Sequence[str]:
        """All names of streams, tables and registered queries."""
        ...


def find(
    catalog: KnownRelations, written: str
) -> CreateStream | CreateDerivedStream | CreateTable | CreateQuery | None:
    """What a name in a query means; the case it is written in does not matter."""
    for name in (written, *(n for n in catalog.names() if same(n, written))):
        found = catalog.stream(name) or catalog.table(name) or catalog.registered(name)
        if found is not None:
            return found
    return None
