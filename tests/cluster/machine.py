"""A machine of the cluster: processes with a file system, a network card and process numbers of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.network import Network, end
from tests.faults.processes import descendants

_SCRIPT = Path(__file__).with_name("machine.sh")


class Machine:
    """A program and what it starts. Of this machine's files it sees the places that it is given, nothing else.

    `places` are folders, seen read-only under the same name; `folder=other` is seen as `other`, and
    `folder=other:rw` can be written to. All processes end with `off`, or when this process ends.
    """

    def __init__(
        self,
        network: Network,
        name: str,
        address: str,
        places: Sequence[str],
        program: Sequence[str],
        *,
        environ: Mapping[str, str],
        root: Path,
        log: Path,
    ) -> None:
        """`name` is that of the host. `root` is an empty folder, in which nothing will be seen.

        What the program says goes into `log`.
        """
        root.mkdir(parents=True, exist_ok=True)
        namespaces = ["--mount", "--net", "--pid", "--uts", "--fork", "--kill-child", "--propagation=private"]
        script = ["sh", str(_SCRIPT), str(root), name, address, *places, "--", *program]
        with log.open("ab") as told:
            self._process = subprocess.Popen(
                ["unshare", *namespaces, *script],
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=told,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "made\n":
            raise OSError(f"a machine was not made: {log.read_text()}")
        network.connect(self._process.pid)
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def processes(self, word: str) -> list[int]:
        """Those with a word in their command line, by the numbers that they have outside."""
        return [pid for pid in descendants(self._process.pid) if word in _command(pid)]

    def off(self) -> None:
        """Ends all processes at once, as when the power fails."""
        end(self._process)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
