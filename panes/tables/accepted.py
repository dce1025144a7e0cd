"""The transactions that wait for their epoch: objects in the home of the database, each with one or more of them.

    accepted/000000000041-000000000043-00000005-3f2a91c0-9d1c2ab07e55f310    transactions 41 to 43

A name has the first and the last number, the term of the driver, and the checksum of the content. The content
names the object before it, so the objects are a chain, and the last one of the last term is its end. What is not
in the chain does not count: an object that could not be stored, or so it seemed, or one of a driver that was
replaced.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa

from panes.errors import StateError
from panes.state.storage.files import make_folder, write_bytes
from panes.state.storage.locations import Location, names_in, remove_files
from panes.state.storage.records import damaged, missing
from panes.tables.combine_transactions import combine_transactions
from panes.tables.transaction import Transaction

ACCEPTED_FOLDER = "accepted"
"""Below that of tables."""
_LENGTH = 8
"""Bytes of the length of the header, which comes first."""
_NAME = re.compile(r"(\d{12})-(\d{12})-(\d{8}-[0-9a-f]{8})-([0-9a-f]{16})")


class _Name(NamedTuple):
    term: str
    last: int
    first: int
    checksum: str

    def __str__(self) -> str:
        return f"{self.first:012d}-{self.last:012d}-{self.term}-{self.checksum}"

    @classmethod
    def of(cls, text: str) -> _Name | None:
        found = _NAME.fullmatch(text)
        return None if found is None else cls(found[3], int(found[2]), int(found[1]), found[4])


class _Object(NamedTuple):
    name: _Name
    before: _Name | None
    transactions: list[Transaction]


class Accepted:
    """The objects of one database. One thread at a time stores, and one removes."""

    def __init__(
        self, folder: Location, term: str = "", check_term: Callable[[], None] = lambda: None
    ) -> None:
        """`term` is that of the driver, empty for one who only reads. `check_term` raises when another has
        come."""
        self._folder = folder
        self._term = term
        self._check_term = check_term
        self._lock = threading.Lock()
        self._there: list[_Name] = []
        """The objects of this driver, in order."""
        self._last: _Name | None = None
        """The end of the chain."""
        self._read: dict[_Name, _Object] = {}

    def put(self, transactions: Sequence[Transaction]) -> None:
        """Stores transactions, all or none; they are safe when this returns.

        Raises StateError when they could not be stored, and DriverReplaced when another driver has come: it has
        looked for objects when it began.
        """
        content = _encoded(transactions, self._last)
        name = _Name(self._term, transactions[-1].number, transactions[0].number, _checksum(content))
        make_folder(self._folder)
        try:
            write_bytes(self._folder / str(name), content)
            self._check_term()
        except BaseException:
            with suppress(OSError):
                (self._folder / str(name)).unlink(missing_ok=True)
            raise
        self._last = name
        with self._lock:
            self._there.append(name)

    def take_over(self, applied: int) -> list[Transaction]:
        """What a driver finds when it begins, beyond the transactions that epochs have applied.

        It is added up, and stored anew under the term of this driver, because the driver before may yet remove
        what it has stored.
        """
        names = self._names()
        found = combine_transactions(self._after(applied, names))
        if found:
            self.put(found)
        gone = [name for name in names if name != self._last]
        remove_files(self._folder / str(name) for name in gone)
        return found

    def after(self, applied: int) -> list[Transaction]:
        """The transactions beyond those that epochs have applied, in order."""
        return self._after(applied, self._names())

    def names(self) -> frozenset[str]:
        """The objects that are there now."""
        return frozenset(map(str, self._names()))

    def remove(self, applied: int) -> None:
        """Removes what a committed epoch has applied."""
        with self._lock:
            gone = [name for name in self._there if name.last <= applied]
            self._there = self._there[len(gone) :]
        remove_files(self._folder / str(name) for name in gone)

    def check(self, applied: int) -> int:
        """Reads all that counts; gives the number of objects. StateError names what is missing or damaged."""
        return len(self._chain(applied, self._names()))

    def _names(self) -> list[_Name]:
        found = (_Name.of(name) for name in names_in(self._folder))
        return sorted(name for name in found if name is not None)

    def _after(self, applied: int, names: Sequence[_Name]) -> list[Transaction]:
        chain = self._chain(applied, names)
        self._read = {found.name: found for found in chain}
        return [t for found in chain for t in found.transactions if t.number > applied]

    def _chain(self, applied: int, names: Sequence[_Name]) -> list[_Object]:
        """The objects with transactions beyond those that were applied, the first one first."""
        chain: list[_Object] = []
        name = names[-1] if names else None
        while name is not None and name.last > applied:
            found = self._read.get(name) or self._load(name)
            chain.append(found)
            name = found.before
        return chain[::-1]

    def _load(self, name: _Name) -> _Object:
        path = self._folder / str(name)
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise missing(path) from error
        except OSError as error:
            raise StateError(f"{path} cannot be read: {error.strerror or error}") from error
        if _checksum(content) != name.checksum:
            raise damaged(path, "its checksum does not fit its content")
        before, transactions = _decoded(content)
        return _Object(name, None if before is None else _Name.of(before), transactions)


def last_in(name: str) -> int:
    """The number of the last transaction in an object, by the name of that."""
    found = _Name.of(name)
    assert found is not None, name
    return found.last


def _encoded(transactions: Sequence[Transaction], before: _Name | None) -> bytes:
    parts: list[bytes] = []
    offset = 0
    listed: list[dict[str, Any]] = []
    for transaction in transactions:
        changes: dict[int, list[int]] = {}
        for table, change in transaction.changes.items():
            part = _stream(change)
            changes[table] = [offset, len(part)]
            parts.append(part)
            offset += len(part)
        listed.append({"number": transaction.number, "at": transaction.at, "changes": changes})
    content = {"before": None if before is None else str(before), "transactions": listed}
    header = json.dumps(content, separators=(",", ":")).encode()
    return b"".join([len(header).to_bytes(_LENGTH, "little"), header, *parts])


def _decoded(content: bytes) -> tuple[str | None, list[Transaction]]:
    begin = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    header = json.loads(content[_LENGTH:begin])
    body = pa.py_buffer(content).slice(begin)
    transactions = [
        Transaction(
            listed["number"],
            listed["at"],
            {
                int(table): pa.ipc.open_stream(body.slice(offset, size)).read_all()
                for table, (offset, size) in listed["changes"].items()
            },
        )
        for listed in header["transactions"]
    ]
    return header["before"], transactions


def _stream(change: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, change.schema) as writer:
        writer.write_table(change)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
