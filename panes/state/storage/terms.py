"""Terms: of several drivers of one database, the last one to come is the one that counts.

A driver takes a term when it connects, wherever it runs. It first puts down a claim, and only then looks which
epoch is the last: whatever another driver commits after the claim is not seen, and does not count. Then it puts
down from which epoch on its own term counts.

    terms/claim-00000005-3f2a91c0
    terms/begin-00000005-3f2a91c0-0000000041    the epochs after 41 are those of this term

The record of an epoch has the term in its name, and counts if that is the last term that begins before the
epoch. A driver looks for later claims before and after each commit, and ends when there is one. So what an old
driver does after another has come is never taken for an epoch, though neither knows of the other, and though the
file system can do no more than store a file and list a folder as it is.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import uuid4

from panes.errors import DriverReplaced
from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, names_in
from panes.state.storage.records import write_record

_CLAIM = re.compile(r"claim-(\d{8}-[0-9a-f]{8})")
_BEGIN = re.compile(r"begin-(\d{8}-[0-9a-f]{8})-(\d{10})")
_OFFSET = 1
"""Names have no sign."""


@dataclass(frozen=True)
class Begun:
    """From when on the epochs of a term count."""

    term: str
    after: int


def terms_begun(folder: Location) -> list[Begun]:
    """The terms that count, in their order."""
    found = (_BEGIN.fullmatch(name) for name in names_in(folder))
    return sorted(
        (Begun(match[1], int(match[2]) - _OFFSET) for match in found if match), key=lambda begun: begun.term
    )


def term_of(epoch: int, begun: Iterable[Begun]) -> str | None:
    """The term whose record of an epoch counts: the last that begins before it; None when there is none."""
    return max((term.term for term in begun if term.after < epoch), default=None)


class Term:
    """The term of this driver."""

    def __init__(self, folder: Location, name: str) -> None:
        self._folder = folder
        self.name = name

    @classmethod
    def claim(cls, folder: Location) -> Term:
        """Takes a new term; all others end with it."""
        make_folder(folder)
        while True:
            number = 1 + max((int(claim[:8]) for claim in _claims(folder)), default=0)
            term = cls(folder, f"{number:08d}-{uuid4().hex[:8]}")
            by = {"host": socket.gethostname(), "process": os.getpid()}
            write_record(folder / f"claim-{term.name}", term.name, by)
            if term.later() is None:
                return term
            # Somebody else has taken one at the same moment, and its name sorts later: the next number is ours.

    def begin(self, after: int) -> None:
        """Says that the epochs after one are of this term."""
        write_record(self._folder / f"begin-{self.name}-{after + _OFFSET:010d}", self.name, {"after": after})

    def later(self) -> str | None:
        """A claim that came after this one; None when there is none."""
        last = max(_claims(self._folder), default=self.name)
        return last if last > self.name else None

    def check(self) -> None:
        """Raises DriverReplaced when another driver has taken over."""
        later = self.later()
        if later is not None:
            raise DriverReplaced(
                f"another driver has taken over this database (term {later}, this one has {self.name}): nothing "
                "that this one does counts from now on; close it, and connect again to take over from the other"
            )

    def forget(self, oldest_epoch: int) -> None:
        """Removes what is left of the terms of which no epoch is kept."""
        begun = terms_begun(self._folder)
        needed = term_of(oldest_epoch, begun)
        for name in names_in(self._folder):
            found = _CLAIM.fullmatch(name) or _BEGIN.fullmatch(name)
            if found and needed is not None and found[1] < min(needed, self.name):
                (self._folder / name).unlink(missing_ok=True)


def _claims(folder: Location) -> list[str]:
    found = (_CLAIM.fullmatch(name) for name in names_in(folder))
    return [match[1] for match in found if match]
