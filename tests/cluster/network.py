"""A network of its own for one test run: a bridge to which machines are connected, apart from this machine's."""

from __future__ import annotations

import shutil
import subprocess
from itertools import count

HUB = "10.77.0.1"
"""The address of what runs in the network outside of the machines: the master, drivers, the object store."""

_TOOLS = ("ip", "mount", "nsenter", "pivot_root", "unshare")
# It ends, and the bridge with it, when the process that has started it closes its standard input or ends.
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
            ["unshare", "--net", "sh", "-c", _HUB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._cables = count()
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "made\n":
            raise OSError("the network was not made")

    def inside(self, *command: str) -> list[str]:
        """The command, to be run in the network."""
        return ["nsenter", f"--target={self._process.pid}", "--net", *command]

    def connect(self, machine: int) -> None:
        """Gives a network card, `eth0`, to the machine of the process."""
        cable = f"cable{next(self._cables)}"
        card = ("peer", "name", "eth0", "netns", str(machine))
        subprocess.run(self.inside("ip", "link", "add", cable, "type", "veth", *card), check=True)
        subprocess.run(self.inside("ip", "link", "set", cable, "master", "hub", "up"), check=True)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


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
