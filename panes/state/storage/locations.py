"""Where files of state live: a folder of this machine, or any file system that pyarrow knows, named by a URI.

A `Path` is a local file, memory-mapped when read. A `UriPath` has the few methods of `Path` that states need, and
goes through pyarrow. It is made of text, so it can be shipped to workers, which connect by themselves.

Requests to an object store are what costs there. A file is one PUT under its final name; nothing is renamed, and
no folder is made or asked for. `object_cache` keeps what was read or written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyarrow import fs

from panes.errors import StateError


@dataclass(frozen=True)
class UriPath:
    """A file or folder below a URI, such as `s3://bucket/states?region=eu-west-1`."""

    root: str
    path: str = ""
    """What comes below it, with slashes."""

    def __truediv__(self, name: str) -> UriPath:
        return UriPath(self.root, f"{self.path}/{name}" if self.path else name)

    def __str__(self) -> str:
        base, mark, options = self.root.partition("?")
        return "/".join([base.rstrip("/"), *([self.path] if self.path else [])]) + mark + options

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def with_name(self, name: str) -> UriPath:
        return UriPath(self.root, f"{self.path.removesuffix(self.name)}{name}")

    @property
    def is_object_store(self) -> bool:
        """Whether a file is there wholly or not at all whatever happens, and folders are only parts of names."""
        return self.root.partition("://")[0] in _OBJECT_STORES

    def mkdir(self, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Makes the folder and those above it; object stores have none, and need none."""
        assert parents
        assert exist_ok
        if not self.is_object_store:
            self.file_system.create_dir(self.inside, recursive=True)

    def exists(self) -> bool:
        return self.file_system.get_file_info(self.inside).type != fs.FileType.NotFound  # type: ignore[no-any-return]

    def unlink(self, *, missing_ok: bool = False) -> None:
        try:
            self.file_system.delete_file(self.inside)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def replace(self, target: UriPath) -> None:
        """Gives the file another name, in place of what has that name."""
        self.file_system.move(self.inside, target.inside)

    def read_bytes(self) -> bytes:
        return self.read_buffer().to_pybytes()  # type: ignore[no-any-return]

    def read_buffer(self, offset: int = 0, size: int | None = None) -> pa.Buffer:
        """The bytes from an offset on: that many, or all."""
        with self.file_system.open_input_file(self.inside) as file:
            file.seek(offset)
            return file.read_buffer(size)

    @property
    def file_system(self) -> fs.FileSystem:
        return file_system_of(self.root)[0]

    @property
    def inside(self) -> str:
        """The path as the file system knows it."""
        top = file_system_of(self.root)[1].rstrip("/")
        return f"{top}/{self.path}" if self.path else top


Location: TypeAlias = Path | UriPath

_REMOVED_AT_ONCE = 8

_OBJECT_STORES = ("s3", "gs", "gcs", "abfs", "abfss", "az")


@cache
def file_system_of(root: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI and the path in it; a process connects once."""
    try:
        system, path = fs.FileSystem.from_uri(_with_plain_puts(root))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StateError(
            f"states cannot be kept in {root}: {error}; give a folder, or a URI that pyarrow.fs knows"
        ) from error
    return system, path


def _with_plain_puts(root: str) -> str:
    """The URI of S3 with the option that makes a small file one PUT, in place of an upload in parts."""
    option = "allow_delayed_open"
    if not root.startswith("s3://") or option in root:
        return root
    return f"{root}{'&' if '?' in root else '?'}{option}=true"


def location_of(place: str | Path) -> Location:
    """A URI (with `://`) or a local folder."""
    return UriPath(place) if isinstance(place, str) and "://" in place else Path(place).absolute()


def names_in(folder: Location) -> list[str]:
    """The names of the files and folders in a folder; none when it is not there."""
    if isinstance(folder, Path):
        return [found.name for found in folder.iterdir()] if folder.exists() else []
    selector = fs.FileSelector(folder.inside, allow_not_found=True)
    return [found.base_name for found in folder.file_system.get_file_info(selector)]


def parent_of(location: Location) -> Location:
    """The folder that a file or folder is in."""
    if isinstance(location, Path):
        return location.parent
    return UriPath(location.root, location.path.rpartition("/")[0])


def remove_files(files: Iterable[Location]) -> None:
    """Removes files, several at a time: elsewhere each takes some requests. One that is gone is fine."""
    files = list(files)
    if files:
        with ThreadPoolExecutor(min(_REMOVED_AT_ONCE, len(files))) as threads:
            list(threads.map(lambda file: file.unlink(missing_ok=True), files))


def remove_tree(folder: Location) -> None:
    """Removes a folder with all that is in it, as far as it can."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with suppress(OSError):
            folder.file_system.delete_dir(folder.inside)
