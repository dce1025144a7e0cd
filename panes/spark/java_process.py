"""The Java process that Spark runs in: started here, kept quiet, and ended with this process.

Spark's own way to start it loses hold of it when it is interrupted, and lets it write on standard error before any
setting of Spark can stop that. Here its output goes to a file that nobody sees but error messages, unless
PANES_SPARK_LOG names a level of Spark's log (`warn`, `info`, …): then it goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pyspark

from panes.errors import EnvironmentMissing, SettingError

LOG_VARIABLE = "PANES_SPARK_LOG"
LOG_LEVELS = ("off", "fatal", "error", "warn", "info", "debug", "trace", "all")

_POLL_S = 0.05
_PATIENCE_S = 300
"""So long Java may take to start: far longer than it takes."""
_FAREWELL_S = 5
"""So long Java may take to remove its temporary files when it ends."""
_LAST_WORDS = 2_000


def log_level() -> str:
    """The level of Spark's log that the environment asks for; OFF by default."""
    level = os.environ.get(LOG_VARIABLE, "off").lower()
    if level not in LOG_LEVELS:
        raise SettingError(f"{LOG_VARIABLE} takes {', '.join(LOG_LEVELS)}, not {level!r}")
    return level.upper()


class JavaProcess:
    """The process, from the first moment on; `start` brings it up and `end` brings it down, at any time.

    It has a process group of its own, so Ctrl-C in a terminal does not reach it. It ends by itself when this
    process ends in any way: its standard input closes then.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ended = False
        self._log: IO[bytes] | None = None
        self._last_words = ""
        self._said_on_the_way = 0
        """How many bytes of its log are what every Spark says when it starts."""
        self._owner = os.getpid()

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, conf: Mapping[str, str], environ: Mapping[str, str]) -> tuple[int, str]:
        """Starts it, and gives the port and the secret of its gateway."""
        with tempfile.TemporaryDirectory(prefix="panes-java-") as folder:
            told = Path(folder) / "gateway"
            self._launch(
                conf, {**environ, "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told)}
            )
            deadline = time.monotonic() + _PATIENCE_S
            while not told.exists():
                if not self.is_alive or time.monotonic() > deadline:
                    self.kill()
                    raise EnvironmentMissing(f"Spark did not start: Java has ended{self.last_words()}")
                time.sleep(_POLL_S)
            with told.open("rb") as file:
                (port,) = struct.unpack(">i", file.read(4))
                (length,) = struct.unpack(">i", file.read(4))
                return port, file.read(length).decode()

    def _launch(self, conf: Mapping[str, str], environ: Mapping[str, str]) -> None:
        home = Path(environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
        command = [str(home / "bin" / "spark-submit")]
        for name, value in conf.items():
            command += ["--conf", f"{name}={value}"]
        command += shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        is_heard = log_level() != "OFF"
        with self._lock:
            if self._is_ended:
                raise EnvironmentMissing("Spark did not start: it was interrupted")
            # Deleted when it is closed; Java and its workers hold it as well.
            self._log = None if is_heard else tempfile.TemporaryFile(prefix="panes-java-")  # noqa: SIM115
            self._process = subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=2 if is_heard else self._log,
                stderr=None if is_heard else self._log,
                process_group=0,
            )

    def came_up(self) -> None:
        """Spark is up: what it said so far is no reason for anything."""
        if self._log is not None:
            self._said_on_the_way = os.fstat(self._log.fileno()).st_size

    def end(self) -> None:
        """Ends it in order: Spark removes its temporary files. What takes too long is killed."""
        with self._lock:
            self._is_ended = True
            process = self._process
        if process is None or os.getpid() != self._owner:
            return  # a process that was forked off has it from its parent
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL_S)
        self.kill()

    def kill(self) -> None:
        """Ends it at once, with whatever it has started in its process group."""
        with self._lock:
            self._is_ended = True
            process = self._process
        if process is None:
            return
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        with self._lock:
            if self._log is not None:
                self._last_words = self.last_words()
                self._log.close()
                self._log = None

    def last_words(self) -> str:
        """The end of what it wrote, to be put behind an error message; nothing if it wrote nothing."""
        if self._log is None:
            return self._last_words
        size = os.fstat(self._log.fileno()).st_size
        begin = max(self._said_on_the_way, size - _LAST_WORDS)
        written = os.pread(self._log.fileno(), _LAST_WORDS, begin).decode(errors="replace")
        lines = [line for line in written.splitlines() if line.strip() and not line.startswith("\tat ")]
        return ":\n  " + "\n  ".join(lines[-5:]) + "\n" if lines else ""
