"""Moving the logs of sources, when a database or the folder of a source lies elsewhere than at its last run.

Spark notes the files of a source by their absolute paths, and takes a file whose path is not in the log for a new
one. `places.json` in the checkpoint has the place of each source as of the last run. When a source has another
place now, the entries of its log are rewritten before Spark reads them: files that were taken in stay so, and a
micro-batch that was planned has the same files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from panes.state.storage.checkpoint import Checkpoint, is_of_a_log, write_with_checksums
from panes.state.storage.files import make_folder
from panes.state.storage.records import read_record, write_record

PLACES = "places.json"


def move_logs(checkpoint: Path, places: Mapping[str, str]) -> None:
    """Makes the logs fit the present places of sources: absolute local paths, by the name of the source.

    When this is interrupted it is done again: the places are written last, and an entry that was moved has none of
    the old ones.
    """
    known = _known(checkpoint)
    if all(known.get(source) == place for source, place in places.items()):
        return
    for source, place in places.items():
        before = known.get(source) or _place_of_pushed(checkpoint / "sources" / source, place)
        if before is not None and before != place:
            _move(checkpoint / "sources" / source, before, place)
    make_folder(checkpoint)
    write_record(checkpoint / PLACES, PLACES, {"places": known | dict(places)})


def _known(checkpoint: Path) -> dict[str, str]:
    if not (checkpoint / PLACES).exists():
        return {}
    return {str(k): str(v) for k, v in read_record(checkpoint / PLACES, PLACES).content["places"].items()}


def _place_of_pushed(log: Path, place: str) -> str | None:
    """The folder of pushed files as a log has it that was written before places were; None for another source."""
    number = Path(place).name
    if Path(place).parent.name != "pushed":
        return None
    for path in _files(log):
        for line in _lines(path)[1:]:
            folder = PurePosixPath(_path_of(line)).parent
            return str(folder) if (folder.parent.name, folder.name) == ("pushed", number) else None
    return None


def _move(log: Path, before: str, now: str) -> None:
    old, new = _without_common_end(before, now)
    for path in _files(log):
        lines = _lines(path)
        moved = [lines[0], *(_moved(line, old, new) for line in lines[1:])]
        if moved != lines:
            write_with_checksums(path, "\n".join(moved))


def _without_common_end(before: str, now: str) -> tuple[str, str]:
    """What is different at the beginning of two places, each a folder or a pattern.

    >>> _without_common_end("/old/data/in", "/new/place/data/in")
    ('/old', '/new/place')
    """
    old, new = PurePosixPath(before).parts, PurePosixPath(now).parts
    same = 0
    while same < min(len(old), len(new)) - 1 and old[-1 - same] == new[-1 - same]:
        same += 1
    return str(PurePosixPath(*old[: len(old) - same])), str(PurePosixPath(*new[: len(new) - same]))


def _moved(line: str, old: str, new: str) -> str:
    path = PurePosixPath(_path_of(line))
    if not path.is_relative_to(old):
        return line
    entry = json.loads(line)
    entry["path"] = (Path(new) / path.relative_to(old)).as_uri()
    return json.dumps(entry, separators=(",", ":"))


def _path_of(line: str) -> str:
    """The path of the file of an entry; empty when it is on another file system."""
    uri = urlsplit(str(json.loads(line)["path"]))
    return unquote(uri.path) if uri.scheme in ("", "file") else ""


def _files(log: Path) -> list[Path]:
    return sorted(path for path in log.iterdir() if is_of_a_log(path.name)) if log.is_dir() else []


def _lines(path: Path) -> list[str]:
    """The version and the entries. The text is verified as whoever reads a checkpoint does."""
    return Checkpoint(path.parent).text(path.name).splitlines()
