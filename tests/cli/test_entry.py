"""Ctrl-C before the commands are there."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

from panes.cli.entry import main


class _Interrupted:
    """A module whose import is interrupted."""

    def __getattr__(self, _name: str) -> object:
        raise KeyboardInterrupt


@pytest.fixture
def ctrl_c_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_as_before")
def test_ctrl_c_during_the_imports_is_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "panes.cli.main", _Interrupted())
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "Interrupted.\n")
