"""What the binder must know of the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from panes.language.names import same
from panes.language.statements import CreateDerivedStream, CreateStream, CreateTable


class KnownRelations(Protocol):
    """The streams and tables there are. Names are looked up as they were created."""

    def stream(self, name: str) -> CreateStream | CreateDerivedStream | None: ...

    def table(self, name: str) -> CreateTable | None: ...

    def names(self) -> Sequence[str]:
        """All names of streams and tables."""
        ...

    def is_query(self, name: str) -> bool:
        """Whether a registered query is called so."""
        ...


def find(catalog: KnownRelations, written: str) -> CreateStream | CreateDerivedStream | CreateTable | None:
    """What a name in a query means; the case it is written in does not matter."""
    for name in (written, *(n for n in catalog.names() if same(n, written))):
        found = catalog.stream(name) or catalog.table(name)
        if found is not None:
            return found
    return None
