"""What it takes to make Spark's checkpoint again, kept in a home elsewhere.

Spark's checkpoint is a local folder of the driver. Before an epoch is committed, what Spark noted for its
micro-batch is added to a journal, and the record of the epoch pins where that ends: offsets, and of each source
the entries of its log that are new. Made again, the checkpoint goes on after the last committed epoch, whatever
another driver had planned beyond it.

Files below the working folder, those that were pushed, are kept by their place in it: Spark wants them in the
folder that it lists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.files import make_folder
from panes.state.storage.journal import Journal, Position, read_to
from panes.state.storage.locations import Location, names_in, remove_tree
from panes.state.storage.move_logs import PLACES

PIN = "checkpoint copy"
"""The name under which the record of an epoch pins where the copy ends."""

_COMMITTED = 'v1\n{"nextBatchWatermarkMs":0}'
"""What Spark notes of a micro-batch that is done, where no operator of its own has a watermark."""

_VERSION = "v1"
"""The first line of an entry of a log."""


class CheckpointCopy:
    """The copy that one driver writes."""

    def __init__(self, folder: Location, checkpoint: Path, term: str) -> None:
        self._checkpoint = checkpoint
        self._read = Checkpoint(checkpoint)
        self._journal = Journal(folder, term)
        self._kept: dict[str, int] = {}
        """The last entry of the log of each source of files that is in the copy."""

    def keep(self, batch: int) -> str:
        """Adds what a micro-batch has brought; gives the pin for the record of its epoch."""
        if self._journal.is_due:
            content = self._content(batch, {})
            end = self._journal.begin(json.dumps(content).encode())
        else:
            content = self._content(batch, self._kept)
            end = self._journal.add(content)
        self._kept = self._read.log_offsets(batch)
        return str(end)

    def collect(self, pin: str) -> None:
        """Removes what is not needed to make the checkpoint again as of the epoch with this pin."""
        self._journal.forget_before(Position.of(pin))

    def _content(self, batch: int, kept: Mapping[str, int]) -> dict[str, Any]:
        """What Spark noted for a micro-batch, and the entries of logs that come after those that are kept."""
        offsets = [number for number in (batch - 1, batch) if number >= 0]
        logs = self._read.log_offsets(batch)
        lines = {name: self._read.lines(name, kept.get(name, -1), last) for name, last in logs.items()}
        return {
            "metadata": self._text("metadata"),
            "offsets": {str(number): self._text(f"offsets/{number}") for number in offsets},
            "logs": {name: [self._placed(line) for line in some] for name, some in lines.items()},
            "compacted": {source: self._read.last_compacted(source, last) for source, last in logs.items()},
            "files": {
                name: text
                for source in names_in(self._checkpoint / "sources")
                if source not in logs
                for name, text in self._begins(source).items()
            }
            | ({PLACES: self._text(PLACES)} if (self._checkpoint / PLACES).exists() else {}),
        }

    def _begins(self, source: str) -> dict[str, str]:
        """Where a source that brings no files begins, as it has noted it. A log of files may be there too, none of
        which is in a micro-batch yet: they are listed anew."""
        names = [f"sources/{source}/{name}" for name in names_in(self._checkpoint / "sources" / source)]
        found = {name: self._text(name) for name in names if "/." not in name}
        return {name: text for name, text in found.items() if '"batchId":' not in text}

    def _text(self, name: str) -> str:
        return self._read.text(name)

    def _placed(self, line: str) -> str:
        """An entry of a log, with its place in the working folder where its file is there."""
        entry = json.loads(line)
        uri, folder = urlsplit(str(entry["path"])), f"{self._checkpoint.parent}/"
        path = unquote(uri.path)
        if uri.scheme not in ("", "file") or not path.startswith(folder):
            return line
        return json.dumps(entry | {"path": path.removeprefix(folder)})


def restore_checkpoint(folder: Location, pin: str | None, checkpoint: Path, *, is_done: bool) -> None:
    """Makes the checkpoint again as of an epoch, by its pin; without one there is none.

    Unless all `is_done` Spark brings the last micro-batch once more: it is in the epochs, but the caller of the
    run may not have been told of it.
    """
    remove_tree(checkpoint)
    if pin is None:
        return
    written = read_to(folder, Position.of(pin))
    contents = [json.loads(written.base), *written.entries]
    last = contents[-1]
    files: dict[str, str] = {"metadata": last["metadata"], **last["files"]}
    files |= {f"offsets/{number}": text for number, text in last["offsets"].items()}
    done = sorted(map(int, last["offsets"]))
    files |= {f"commits/{number}": _COMMITTED for number in (done if is_done else done[:-1])}
    for source, compacted in last["compacted"].items():
        lines = [line for content in contents for line in content["logs"].get(source, ())]
        log = _log([_found(line, checkpoint.parent) for line in lines], compacted)
        files |= {f"sources/{source}/{name}": text for name, text in log.items()}
    for name, text in files.items():
        path = checkpoint / name
        make_folder(path.parent)
        path.write_text(text)


def _found(line: str, folder: Path) -> str:
    """An entry of a log, with the URI of its file."""
    entry = json.loads(line)
    path = str(entry["path"])
    if path.startswith("/") or urlsplit(path).scheme:
        return line
    return json.dumps(entry | {"path": (folder / path).as_uri()})


def _log(lines: list[str], compacted: int) -> dict[str, str]:
    """The files of the log of a source: what Spark had compacted into one, and one for each later entry."""
    found: dict[int, list[str]] = {}
    for line in dict.fromkeys(lines):  # a micro-batch that was done again is in the copy twice
        number = int(json.loads(line)["batchId"])
        found.setdefault(max(number, compacted), []).append(line)
    return {
        f"{number}.compact" if number == compacted else str(number): "\n".join([_VERSION, *entries])
        for number, entries in found.items()
    }
