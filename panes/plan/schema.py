"""The columns of a stream, a table or an edge of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from panes.plan.types import Type


@dataclass(frozen=True)
class Field:
    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True)
class Schema:
    """An ordered set of fields with distinct names.

    Field names on the edges of a plan are qualified by the alias they came in under (`p.src`), so that a
    join never has two columns of one name; the topmost Project gives the names that users see.
    """

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [f.name for f in self.fields]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise ValueError(f"two columns are named {sorted(twice)[0]!r}")

    @classmethod
    def of(cls, fields: Iterable[tuple[str, Type]]) -> Schema:
        return cls(tuple(Field(name, type_) for name, type_ in fields))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(f.type for f in self.fields)

    @property
    def arrow(self) -> pa.Schema:
        return pa.schema([pa.field(f.name, f.type.arrow) for f in self.fields])

    def __contains__(self, name: object) -> bool:
        return any(f.name == name for f in self.fields)

    def __getitem__(self, name: str) -> Field:
        for f in self.fields:
            if f.name == name:
                return f
        raise KeyError(name)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __add__(self, other: Schema) -> Schema:
        return Schema(self.fields + other.fields)

    def __str__(self) -> str:
        return ", ".join(map(str, self.fields))
