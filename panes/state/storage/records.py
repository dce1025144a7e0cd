"""Records: small JSON files that carry their name, their checksum, and the checksum of the record before them.

    {"checksum":"…","before":"…","name":"…","content":{…}}

The checksum covers every byte after it. The name says which record it is, so that one copied over another is
noticed. `before` links the records of a chain: a record pins the one before it, and so all earlier ones.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from panes.errors import StateError
from panes.state.storage.files import write_bytes
from panes.state.storage.locations import Location

FIRST = "0" * 16
"""What the first record of a chain has in place of the checksum of the one before."""

WHAT_TO_DO = "restore it from a copy (`panes check` says what can still be answered)"

_BEGIN, _BEFORE, _NAME, _CONTENT, _END = b'{"checksum":"', b'","before":"', b'","name":', b',"content":', b"}"
_BODY = len(_BEGIN) + len(FIRST)
"""Where the bytes begin that the checksum covers."""


@dataclass(frozen=True)
class Record:
    """A record as it was read: its content is what was written."""

    content: dict[str, Any]
    checksum: str
    before: str


def write_record(path: Location, name: str, content: dict[str, Any], before: str = FIRST) -> str:
    """Writes a record, wholly or not at all; gives its checksum."""
    text, checksum = encode_record(name, content, before)
    write_bytes(path, text)
    return checksum


def encode_record(name: str, content: dict[str, Any], before: str = FIRST) -> tuple[bytes, str]:
    """The bytes of a record, and its checksum."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    body = _BEFORE + before.encode() + _NAME + json.dumps(name).encode() + _CONTENT + text + _END
    checksum = _checksum(body)
    return _BEGIN + checksum.encode() + body, checksum


def read_record(path: Location, name: str, checksum: str | None = None) -> Record:
    """The record of that name in a file; with a checksum, exactly the one that has it.

    StateError names a file that is missing, damaged, or another record than this.
    """
    return decode_record(_read(path), path, name, checksum)


def decode_record(found: bytes, where: object, name: str, checksum: str | None = None) -> Record:
    """The record of that name in bytes that were found somewhere; StateError says where when they are not it."""
    _verify(found, where, name, checksum)
    return Record(json.loads(found)["content"], found[len(_BEGIN) : _BODY].decode(), _before(found))


def read_links(path: Location, name: str, checksum: str | None = None) -> tuple[str, str]:
    """The checksum of a record and that of the one before it, without parsing the content."""
    found = _read(path)
    _verify(found, path, name, checksum)
    return found[len(_BEGIN) : _BODY].decode(), _before(found)


def damaged(path: object, reason: object) -> StateError:
    return StateError(f"{path} is damaged ({reason}); {WHAT_TO_DO}")


def missing(path: object) -> StateError:
    return StateError(f"{path} is missing: the database is damaged; {WHAT_TO_DO}")


def _read(path: Location) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise missing(path) from error
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror or error}") from error


def _verify(found: bytes, where: object, name: str, checksum: str | None) -> None:
    """Raises StateError unless the bytes are the record of that name as it was written."""
    own = found[len(_BEGIN) : _BODY]
    is_record = found.startswith(_BEGIN) and found[_BODY:].startswith(_BEFORE)
    if not is_record or own != _checksum(found[_BODY:]).encode():
        raise damaged(where, "its checksum does not fit its content" if is_record else "it is not a record")
    named = json.loads(found)["name"]
    if named != name:
        raise StateError(f"{where} is another record: {named!r}, and not {name!r}; {WHAT_TO_DO}")
    if checksum is not None and own.decode() != checksum:
        raise StateError(
            f"{where} is not the record that belongs here: the epochs name the one with checksum {checksum}, and "
            f"this one has {own.decode()}; {WHAT_TO_DO}"
        )


def _before(found: bytes) -> str:
    begin = _BODY + len(_BEFORE)
    return found[begin : begin + len(FIRST)].decode()


def _checksum(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=len(FIRST) // 2).hexdigest()
