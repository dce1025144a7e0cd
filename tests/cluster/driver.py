"""A driver of the cluster: a program of its own that has a database open, and can be stopped and killed."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from panes import errors
from tests.cluster.network import Network, end
from tests.faults.processes import descendants

_ROOT = Path(__file__).parent.parent.parent
_PATIENCE_S = 900
"""Longer than anything takes: what hangs fails."""


class Driver:
    """The program `tests.cluster.driving`, to which functions are given that are called with its database.

    The functions are named to it, so they are those of modules. An error of Panes that they raise is raised here.
    """

    def __init__(
        self,
        network: Network,
        folder: Path,
        state: Path | str,
        conf: Mapping[str, str],
        environ: Mapping[str, str],
        log: Path,
    ) -> None:
        self._log = log
        program = [
            sys.executable,
            "-m",
            "tests.cluster.driving",
            str(folder),
            str(state),
            json.dumps(dict(conf)),
        ]
        # Killed, it takes Spark's Java with it.
        namespaces = ["unshare", "--pid", "--fork", "--kill-child"]
        with log.open("ab") as told:
            self._process = subprocess.Popen(
                network.inside(*namespaces, *program),
                env={**environ, "PYTHONPATH": str(_ROOT)},
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=told,
            )

    def do(
        self, function: Callable[..., Any], *given: Any, on_epoch: Callable[[int], None] | None = None
    ) -> Any:
        """What the function gives; `on_epoch` is called when the driver tells of an epoch meanwhile."""
        self.ask(function, *given)
        return self.answer(on_epoch)

    def ask(self, function: Callable[..., Any], *given: Any) -> None:
        """Lets the driver begin."""
        assert self._process.stdin is not None
        pickle.dump((function, given), self._process.stdin)
        self._process.stdin.flush()

    def answer(self, on_epoch: Callable[[int], None] | None = None) -> Any:
        """Waits for what the driver was asked."""
        assert self._process.stdout is not None
        watchdog = threading.Timer(_PATIENCE_S, self._process.kill)
        watchdog.start()
        try:
            while True:
                kind, content = pickle.load(self._process.stdout)
                if kind == "epoch" and on_epoch is not None:
                    on_epoch(content)
                elif kind == "raised":
                    raise getattr(errors, content[0])(content[1])
                elif kind == "gave":
                    return content
        except EOFError:
            raise AssertionError(f"the driver has ended: {self._log.read_text()[-3000:]}") from None
        finally:
            watchdog.cancel()

    def pause(self) -> None:
        """Stops all its processes where they are."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in descendants(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Ends all its processes at once."""
        end(self._process)
