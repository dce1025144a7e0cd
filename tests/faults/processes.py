"""The processes that a process has started, found through /proc."""

from __future__ import annotations

import time
from pathlib import Path

_PATIENCE_S = 10


def descendants(pid: int) -> list[int]:
    """The processes below one, at any depth; those that have ended are left out, though nobody has asked for
    their end yet."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(entry.name))
    found, rest = [], [pid]
    while rest:
        mine = children.get(rest.pop(), [])
        found += mine
        rest += mine
    return found


def of_session(session: int) -> list[str]:
    """The commands of the processes of a session that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields[0] not in "ZX" and int(fields[3]) == session:
                found.append(f"{entry.name} {command[:200]}")
    return found


def left_of_session(session: int, what: str = "") -> list[str]:
    """The commands of the processes of a session, those with `what` in them, that do not end by themselves soon:
    a process that was killed is there until the kernel has come to it."""
    deadline = time.monotonic() + _PATIENCE_S
    while (found := [one for one in of_session(session) if what in one]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
