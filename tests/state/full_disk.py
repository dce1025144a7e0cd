"""A file system of pyarrow that has room for so many bytes, over a folder of this machine."""

from __future__ import annotations

import errno
import io
import os

import pyarrow as pa
from pyarrow import fs


class _Delegating(fs.FSSpecHandler):
    """Hands on every call to another file system of pyarrow; `FSSpecHandler` has the right set of methods."""

    def __init__(self, inner: fs.FileSystem) -> None:
        self.inner = inner

    def __eq__(self, other: object) -> bool:
        return self is other

    def get_type_name(self):
        return "full disk"

    def normalize_path(self, path):
        return self.inner.normalize_path(path)

    def get_file_info(self, paths):
        return self.inner.get_file_info(paths)

    def get_file_info_selector(self, selector):
        return self.inner.get_file_info(selector)

    def create_dir(self, path, recursive):
        self.inner.create_dir(path, recursive=recursive)

    def delete_dir(self, path):
        self.inner.delete_dir(path)

    def delete_file(self, path):
        self.inner.delete_file(path)

    def move(self, src, dest):
        self.inner.move(src, dest)

    def open_input_file(self, path):
        return self.inner.open_input_file(path)


class FullDisk(_Delegating):
    """`room` bytes can be written, and then none; what is freed does not come back by itself."""

    def __init__(self, inner: fs.FileSystem, room: int) -> None:
        super().__init__(inner)
        self.room = room

    def open_output_stream(self, path, metadata):
        return pa.PythonFile(_Limited(self, self.inner.open_output_stream(path, metadata=metadata)), mode="w")


class _Limited(io.RawIOBase):
    def __init__(self, disk: FullDisk, file: pa.NativeFile) -> None:
        self._disk = disk
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, content) -> int:
        fitting = memoryview(content)[: self._disk.room]
        self._file.write(bytes(fitting))
        self._disk.room -= len(fitting)
        if len(fitting) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(fitting)

    def close(self) -> None:
        self._file.close()
        super().close()
