"""Pipes, sockets, devices and folders are no files of rows."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from panes.errors import SourceError
from panes.ingest.check_regular import check_regular


def test_what_is_no_file_is_named(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("bound")
        found = [tmp_path / name for name in ("pipe", "link", "bound", "folder")]
        for path, kind in zip(
            [*found, Path("/dev/null")],
            ["a named pipe", "a named pipe", "a socket", "a folder", "a device"],
            strict=True,
        ):
            with pytest.raises(SourceError, match=f"it is {kind}, not a file"):
                check_regular(path)


def test_a_link_to_nothing_is_gone(tmp_path):
    (tmp_path / "broken").symlink_to(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        check_regular(tmp_path / "broken")
    (tmp_path / "file").touch()
    check_regular(tmp_path / "file")
