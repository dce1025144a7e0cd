"""Hashes that are computed once: a plan is a tree, and is looked up in many tables while it is made."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

_HASH = "_hash"


class RememberedHash:
    """A base of frozen dataclasses, which keep their hash once it was asked for."""

    def __init_subclass__(cls) -> None:
        # A dataclass that has a hash of its own keeps it.
        cls.__hash__ = RememberedHash.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        found = self.__dict__.get(_HASH)
        if found is None:
            compared = (getattr(self, f.name) for f in fields(self) if f.compare)  # type: ignore[arg-type]
            found = self.__dict__[_HASH] = hash((type(self), *compared))
        return int(found)

    def __getstate__(self) -> dict[str, Any]:
        # The hashes of texts differ from process to process.
        return {name: value for name, value in self.__dict__.items() if name != _HASH}
