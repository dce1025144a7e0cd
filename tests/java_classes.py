"""What Java is told when tests start Spark, and the archive of loaded classes that these starts share.

    python -m tests.java_classes

runs a few epochs, so that Java leaves the classes that it has loaded where its options say. With them, Java needs
half the processor time up to the end of its first epoch (8 seconds, not 16), and tests start Java dozens of times.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pyspark

import panes
from panes.java import find_java

_ROOT = Path(__file__).parent.parent
_PATIENCE_S = 300

_FRUGAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Epochs of a few rows gain nothing from Java's second compiler and its parallel collector, which take up the
cores for most of a run."""


@functools.cache
def java_options() -> str:
    """What JDK_JAVA_OPTIONS says. The first test that asks makes the archive, if there is none yet."""
    archive = Path(sys.prefix) / f"spark-classes-{_version()}.jsa"
    with suppress(OSError, subprocess.SubprocessError):  # the tests run without it, only slower
        _make(archive)
    # Java tells on standard output when it cannot use an archive, where a test expects something else.
    return f"{_FRUGAL} -XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.exists() else _FRUGAL


def _version() -> str:
    """What an archive holds for: Java checks it too, and uses no other."""
    jars = Path(pyspark.__file__).parent / "jars"
    java = find_java()
    parts = (pyspark.__version__, java.home, java.version, jars.stat().st_mtime_ns)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _make(archive: Path) -> None:
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # processes that share the tests make it once
        if archive.exists():
            return
        unfinished = archive.with_suffix(".tmp")
        options = f"{_FRUGAL} -XX:ArchiveClassesAtExit={unfinished}"
        subprocess.run(
            [sys.executable, "-m", "tests.java_classes"],
            cwd=_ROOT,
            env=os.environ | {"JDK_JAVA_OPTIONS": options, "PYTHONPATH": str(_ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            check=True,
        )
        unfinished.rename(archive)


def main() -> None:
    from py4j.protocol import Py4JError

    from panes.spark import session

    spark = session.local_session()
    with tempfile.TemporaryDirectory() as folder, panes.connect(Path(folder) / "db", spark=spark) as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        db.register("SELECT k, count(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k")
        for ts in (1, 2):
            db.push("s", [{"ts": ts, "k": 1}])
            db.run()
    java = session._java
    assert java is not None
    assert java._process is not None
    # Java writes the archive when it ends by itself. Panes would not wait for it so long.
    with suppress(Py4JError, OSError):
        spark._jvm.java.lang.System.exit(0)
    java._process.wait(_PATIENCE_S)


if __name__ == "__main__":
    main()
