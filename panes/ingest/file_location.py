"""The place that FROM FILES names: a folder, a file or a pattern, on this machine or behind a URI.

A local place that exists under exactly this name is that file or folder, whatever characters the name has. Any
other is a pattern of Hadoop's: `*`, `?`, `[a-c]`, `[^a]`, `{one,two}`, and a backslash before a character that
stands for itself.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import unquote

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_SPECIAL = re.compile(r"([\[\]{}*?\\])")
_FILE_URI = re.compile(r"file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)


@dataclass(frozen=True)
class FileLocation:
    """A place that Spark lists files of."""

    text: str
    """An absolute path, or a URI of another file system."""
    scheme: str | None = None
    """Of a URI that is not `file:`; None for what is on this machine."""

    @classmethod
    def of(cls, location: str) -> FileLocation:
        """The place that a statement names: a path from the working directory, or a URI."""
        found = _URI.match(location)
        if found is None:
            return cls(os.path.abspath(location))
        if found[1].lower() == "file":
            return cls(unquote(_FILE_URI.sub("", location)))
        return cls(location, found[1].lower())

    @property
    def is_local(self) -> bool:
        return self.scheme is None

    def matches(self) -> list[Path]:
        """The local files and folders that are meant, in the order of their names."""
        if Path(self.text).exists():
            return [Path(self.text)]
        return sorted({Path(p) for plain in _without_braces(self.text) for p in glob.glob(_as_glob(plain))})

    def files(self) -> Iterator[Path]:
        """The local files that Spark sees here, in no order."""
        for place in self.matches():
            for path in [place] if place.is_file() else place.rglob("*"):
                inside = path.relative_to(place).parts or (path.name,)
                if all(map(_is_visible, inside)) and path.is_file() and self.has(path):
                    yield path

    def has(self, path: PurePath) -> bool:
        """Whether a file that lies below here belongs to the stream.

        It lies directly in the folder, or in folders that are named after columns, as in `day=2026-01-05/`.
        """
        return all("=" in folder for folder in path.parts[self._depth : -1])

    def base_of(self, path: PurePath) -> str | None:
        """The folder below which the names of folders hold columns; None for a file that lies directly in it."""
        return None if len(path.parts) <= self._depth + 1 else str(PurePath(*path.parts[: self._depth]))

    @property
    def _depth(self) -> int:
        return len(PurePath(self.text).parts)

    def for_spark(self) -> str:
        """The same place for Spark, which takes every name for a pattern.

        A local folder becomes the pattern of what is in it. Spark sorts files by the time of their last change and
        leaves those of one time in the order of the listing; what a pattern matches is listed by name, a folder in
        any order.
        """
        if not self.is_local or not Path(self.text).exists():
            return self.text
        return escaped(self.text) + ("/[^.]*" if Path(self.text).is_dir() else "")


def escaped(path: str) -> str:
    """A path as a pattern that only this path matches.

    >>> print(escaped("/data/[1] {2}*"))
    /data/\\[1\\] \\{2\\}\\*
    """
    return _SPECIAL.sub(r"\\\1", path)


def _is_visible(name: str) -> bool:
    """Whether Spark looks at a file or folder: it leaves out names that begin with a dot or an underscore."""
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)


def _without_braces(pattern: str) -> Iterator[str]:
    """The patterns that one with `{one,two}` stands for."""
    start = next((m.start() for m in re.finditer(r"\\.|\{", pattern) if m[0] == "{"), None)
    if start is None:
        yield pattern
        return
    depth, parts, begin = 0, [], start + 1
    for found in re.finditer(r"\\.|[{},]", pattern[start:]):
        place = start + found.start()
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if (found[0] == "," and depth == 1) or depth == 0:
            parts.append(pattern[begin:place])
            begin = place + 1
        if depth == 0:
            break
    if depth:
        return  # the brace is not closed: nothing matches
    for part in parts:
        yield from _without_braces(pattern[:start] + part + pattern[begin:])


def _as_glob(pattern: str) -> str:
    """A pattern without braces in Python's way of writing."""
    return re.sub(r"\\(.)|\[\^", lambda found: glob.escape(found[1]) if found[1] else "[!", pattern)
