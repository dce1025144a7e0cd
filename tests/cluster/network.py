"""A network of its own for one test run: a bridge to which machines are connected, apart from this machine's.

What runs in it, beside the machines, has process numbers of its own too, so that all of it ends together.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from itertools import count
from typing import Any

from tests.faults.processes import descendants

HUB = "10.77.0.1"
"""The address of what runs in the network outside of the machines: the master, drivers, the object store."""

_TOOLS = ("ip", "mount", "nsenter", "pivot_root", "unshare")
# The first process of the network: with it end all others, and the bridge. It ends when the process that has
# started it closes its standard input, or ends in any way.
_HUB = f"""
set -e
ip link set lo up
ip link add hub type bridge
ip address add {HUB}/24 dev hub
ip link set hub up
echo made
read -r _ || true
"""


class Network:
    """The namespace of the bridge. No name and no address of it is seen outside, so runs do not collide."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["unshare", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", _HUB],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._cables = count()
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "made\n":
            raise OSError("the network was not made")
        (self._first,) = descendants(self._process.pid)

    def inside(self, *command: str) -> list[str]:
        """The command, to be run in the network."""
        return ["nsenter", f"--target={self._first}", "--net", "--pid", *command]

    def _ip(self, *command: str) -> None:
        # By the process numbers of this machine, so that others can be named.
        subprocess.run(["nsenter", f"--target={self._first}", "--net", "ip", *command], check=True)

    def connect(self, machine: int) -> None:
        """Gives a network card, `eth0`, to the machine of the process."""
        cable = f"cable{next(self._cables)}"
        card = ("peer", "name", "eth0", "netns", str(machine))
        self._ip("link", "add", cable, "type", "veth", *card)
        self._ip("link", "set", cable, "master", "hub", "up")

    def close(self) -> None:
        end(self._process)


def end(process: subprocess.Popen[Any]) -> None:
    """Ends a process and all that it has started, at once, and closes the pipes to it."""
    for pid in (process.pid, *descendants(process.pid)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def why_not() -> str | None:
    """Why machines cannot be made here; None when they can."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return f"machines of their own need {', '.join(missing)}"
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "ip", "link", "add", "hub", "type", "bridge"],
        capture_output=True,
        text=True,
    )
    return f"namespaces are not allowed here: {tried.stderr.strip()}" if tried.returncode else None
