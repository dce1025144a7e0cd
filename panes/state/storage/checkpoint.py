"""Spark's checkpoint, read without Spark: which micro-batches it has planned and taken in, and of which files.

`offsets/N` says for each source up to which entry of its log the micro-batch N goes; Spark writes it before the
micro-batch begins. `commits/N` says that it is done. `sources/NAME` is the log of a source of files; now and then
all entries so far are compacted into one. Hadoop keeps a checksum beside each of these files.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from panes.errors import StateError
from panes.state.storage.files import write_bytes
from panes.state.storage.records import damaged, missing

_MAGIC = b"crc\0"
_BYTES_PER_SUM = 512
_NUMBER = re.compile(r"\d+")
_COMPACTED = re.compile(r"\d+\.compact")
_UNFINISHED = re.compile(r"\..+\.tmp(?:\.crc)?")
"""What Spark writes a file as, before it has its name; and the checksums beside it."""


class Checkpoint:
    """The folder in which the streaming query of a database keeps what it has taken in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def last_planned(self) -> int:
        """The last micro-batch of which Spark has noted what it holds; -1 before the first."""
        return max(_numbers(self._folder / "offsets"), default=-1)

    @property
    def last_committed(self) -> int:
        """The last micro-batch that Spark has noted as done; -1 before the first."""
        return max(_numbers(self._folder / "commits"), default=-1)

    def pin(self, batch: int) -> str:
        """A checksum of what a micro-batch holds, for the record of its epoch."""
        return f"{zlib.crc32(self._offsets(batch).encode()):08x}"

    def planned_us(self, batch: int) -> int:
        """When Spark planned a micro-batch: the time of arrival of its rows, the same when it is done again."""
        path = self._folder / "offsets" / str(batch)
        lines = self._offsets(batch).splitlines()
        planned_ms = _parsed(path, lines[1]).get("batchTimestampMs") if len(lines) > 1 else None
        if not isinstance(planned_ms, int):
            raise damaged(path, "it does not say when the micro-batch was planned")
        return planned_ms * 1_000

    def log_offset(self, source: str, batch: int) -> int:
        """The last entry of a source's log that is in by the end of a micro-batch; -1 when there is none."""
        return self.log_offsets(batch).get(source, -1)

    def entries(self, source: str, first: int, last: int) -> Iterator[dict[str, Any]]:
        """The entries of a source's log after the first up to the last."""
        for line in self.lines(source, first, last):
            yield json.loads(line)

    def lines(self, source: str, first: int, last: int) -> list[str]:
        """The same entries as Spark wrote them, each a line."""
        log = self._folder / "sources" / source
        found: list[str] = []
        compacted = self.last_compacted(source, last)
        for number in range(first + 1, last + 1):
            path = log / str(number)
            if number < compacted:
                continue  # it is in the one that was compacted
            if number == compacted or not path.exists():
                path = log / f"{number}.compact"
            version, *lines = _read(path).splitlines() or [""]
            if version != "v1":
                raise damaged(path, f"this version of Spark's log is not known: {version!r}")
            for line in lines:
                if first < _batch_of(path, line) <= number:
                    found.append(line)
        return found

    def last_compacted(self, source: str, last: int) -> int:
        """The last entry of a source's log, up to one, that all before it were compacted into; -1 without one."""
        log = self._folder / "sources" / source
        names = [path.name for path in log.iterdir()] if log.is_dir() else []
        numbers = [int(name.removesuffix(".compact")) for name in names if _COMPACTED.fullmatch(name)]
        return max((number for number in numbers if number <= last), default=-1)

    def text(self, name: str) -> str:
        """The text of a file, as it was written."""
        return _read(self._folder / name)

    def check_against(self, batch: int, epoch: int, pin: str | None) -> None:
        """Raises StateError unless the epochs, which have taken in micro-batches up to `batch`, go on from here.

        A process that was killed may leave a micro-batch that is in the epochs and not committed here, or one that
        is planned and not done. `pin` is what `pin` gave for the micro-batch.
        """
        committed, planned = self.last_committed, self.last_planned
        ends = f"the epochs end at {epoch} with micro-batch {batch}" if epoch >= 0 else "there are no epochs"
        if committed > batch:
            raise StateError(
                f"{ends}, Spark's checkpoint has taken in micro-batch {committed}: epochs are missing, and the "
                f"rows in them would be lost; restore {self._folder.parent} as a whole from a copy, or make a new "
                "database from the sources"
            )
        if batch > min(committed + 1, planned):
            there = f"has taken in micro-batch {committed}" if committed >= 0 else "is missing or empty"
            raise StateError(
                f"{ends}, Spark's checkpoint {there}: it is older than the epochs, and rows would be skipped or "
                f"taken in twice; restore {self._folder} from a copy of the same time, or make a new database "
                "from the sources"
            )
        if batch < 0:
            return
        if pin is not None and self.pin(batch) != pin:
            raise StateError(
                f"{self._folder / 'offsets' / str(batch)} is not what micro-batch {batch} held when the epochs "
                f"took it in: the checkpoint is another's; restore {self._folder} from a copy of the same time"
            )
        for source, last in self.log_offsets(batch).items():
            self._check_log(source, last)

    def remove_unfinished(self) -> None:
        """Removes the files that Spark was writing when its process ended. Spark does not begin its first
        micro-batch over one."""
        for path in self._folder.rglob(".*"):
            if _UNFINISHED.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def check_content(self) -> Iterator[StateError]:
        """The files that are damaged."""
        for path in sorted(self._folder.rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                try:
                    if not _read(path).strip():
                        raise damaged(path, "it is empty")
                except StateError as error:
                    yield error

    def _check_log(self, source: str, last: int) -> None:
        """The log of a source must reach up to an entry, from the last compacted one before it on."""
        log = self._folder / "sources" / source
        names = {path.name for path in log.iterdir()} if log.is_dir() else set()
        for number in range(last, -1, -1):
            if f"{number}.compact" in names:
                return
            if str(number) not in names:
                raise missing(log / str(number))

    def _offsets(self, batch: int) -> str:
        return _read(self._folder / "offsets" / str(batch))

    def log_offsets(self, batch: int) -> dict[str, int]:
        """The last entry of each log that is in by the end of a micro-batch, by the name of its source."""
        path = self._folder / "offsets" / str(batch)
        found = {}
        for line in self._offsets(batch).splitlines():
            source, _, offset = line.partition(":")
            if re.fullmatch(r"\w+", source) and offset.startswith("{"):
                content = _parsed(path, offset)
                if "logOffset" in content:
                    found[source] = int(content["logOffset"])
        return found


def write_with_checksums(path: Path, text: str) -> None:
    """Writes a file, and beside it its checksums as Hadoop has them. Between the two it has none."""
    content = text.encode()
    sums = path.with_name(f".{path.name}.crc")
    sums.unlink(missing_ok=True)
    write_bytes(path, content)
    found = [
        zlib.crc32(content[begin : begin + _BYTES_PER_SUM])
        for begin in range(0, len(content), _BYTES_PER_SUM)
    ]
    write_bytes(sums, _MAGIC + struct.pack(f">I{len(found)}I", _BYTES_PER_SUM, *found))


def is_of_a_log(name: str) -> bool:
    """Whether a file of this name holds entries of a log."""
    return bool(_NUMBER.fullmatch(name) or _COMPACTED.fullmatch(name))


def _numbers(folder: Path) -> list[int]:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return [int(name) for name in names if _NUMBER.fullmatch(name)]


def _batch_of(path: Path, line: str) -> int:
    """The number of the entry that a line of a log is of."""
    number = _parsed(path, line).get("batchId")
    if not isinstance(number, int):
        raise damaged(path, "an entry has no number")
    return number


def _parsed(path: Path, line: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except ValueError as error:
        raise damaged(path, error) from error
    if not isinstance(content, dict):
        raise damaged(path, "not an object")
    return content


def _read(path: Path) -> str:
    """The text of a file, verified against the checksums that Hadoop has put beside it."""
    try:
        content = path.read_bytes()
        sums = path.with_name(f".{path.name}.crc")
        if sums.exists():
            _verify(path, content, sums.read_bytes())
        return content.decode()
    except FileNotFoundError as error:
        raise missing(path) from error
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise damaged(path, error) from error


def _verify(path: Path, content: bytes, sums: bytes) -> None:
    """Hadoop's file has its mark, how many bytes each checksum covers, and a CRC-32 for each of these parts."""
    step = int.from_bytes(sums[4:8], "big")
    if not sums.startswith(_MAGIC) or step == 0:
        raise damaged(path.with_name(f".{path.name}.crc"), "not a file of checksums")
    found = [zlib.crc32(content[begin : begin + step]) for begin in range(0, len(content), step)]
    if struct.pack(f">{len(found)}I", *found) != sums[8:]:
        raise damaged(path, "its checksum does not fit its content")
