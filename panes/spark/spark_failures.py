"""What went wrong in Spark, in one sentence of ours, out of a page of Java's.

The page itself is in the `details` of the error: a traceback does not show it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from panes import errors
from panes.errors import EnvironmentMissing, PanesError, PipelineError, StateError
from panes.runtime.explained_failure import explained_failure
from panes.state.storage.checkpoint import Checkpoint

_OURS = re.compile(r"^panes\.errors\.(\w+): (.+)$", re.MULTILINE)
"""An error of Panes that was raised in a worker, at the end of the worker's traceback."""

_PYTHONS = re.compile(
    r"^ {0,2}(?!org\.|java\.|scala\.|py4j\.|pyspark\.)((?:\w+\.)*[A-Z]\w*: .+)$", re.MULTILINE
)
"""Any other exception of Python's, at the end of a traceback."""

_CODED = re.compile(r"\[[A-Z][A-Z_.]+\] .+")
"""A sentence of Spark's with its error code; the innermost is the most telling, and it comes last."""


_CAUSE = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)*([\w$]+(?:: .+)?)", re.MULTILINE)
"""What Java says of the exception behind an exception; the innermost comes last."""


_HOST = re.compile(r"\(TID \d+\) \((\S+) executor ")
"""Where a task of Spark's failed."""


_OTHER_PYTHON = re.compile(
    r"No module named '(?:panes|pyarrow|polars|numpy|duckdb|sqlglot)'|\[PYTHON_VERSION_MISMATCH\] .+"
    r"|Cannot run program \"[^\"]+\".*"
)
"""What workers say that run a Python for which Panes is not installed."""

_KILLED = ("Python worker exited unexpectedly", "Python worker failed to connect back")
"""What Spark says of a worker that has ended before its task."""


_FULL = "No space left on device"


def hosts_in(text: str) -> list[str]:
    """The machines whose tasks failed, as an error of Spark names them."""
    return sorted(set(_HOST.findall(text)))


def innermost(text: str) -> str:
    """What is behind a page of Java's, in its own words."""
    causes = _CAUSE.findall(text)
    return str(causes[-1]) if causes else text.strip().splitlines()[0]


SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError, EOFError)
"""What calls into Spark raise; the last two when Java ends in the middle of one."""


def spark_failure(error: BaseException, where: str, folder: Path | None = None) -> BaseException:
    """The error to raise for one that ended an epoch; those that are neither Spark's nor the file system's are
    passed on as they are. `folder` has Spark's checkpoint."""
    if isinstance(error, SPARK_ERRORS):
        text = str(error)
        # An error of ours that was raised in a worker names the file itself.
        in_files = None if _OURS.search(text) else _of_files(text, where, folder)
        found = in_files or _of_spark(text, where)
        found.details = str(error)
        return found
    return explained_failure(error, where)


def _of_files(text: str, where: str, folder: Path | None) -> StateError | None:
    """What is wrong with the files of a database: a full disk, or a damaged file of the checkpoint."""
    if _FULL in text:
        places = f"{folder} or {tempfile.gettempdir()}" if folder else tempfile.gettempdir()
        return StateError(
            f"an epoch failed ({where}): no space is left on the disk of {places}, where Spark keeps its "
            "checkpoint and its temporary files; make room there, then run again: nothing is lost"
        )
    return next(Checkpoint(folder / "checkpoint").check_content(), None) if folder else None


def _of_spark(text: str, where: str) -> PanesError:
    ours = _OURS.search(text)
    if ours:
        kind = getattr(errors, ours[1], PipelineError)
        if issubclass(kind, PanesError) and kind is not errors.SqlError:
            return kind(ours[2])
    other = _OTHER_PYTHON.search(text)
    if other:
        return EnvironmentMissing(
            f"Spark's workers run a Python without Panes ({where}): {other[0]}; before the session is made, add "
            f"the line os.environ['PYSPARK_PYTHON'] = {sys.executable!r}, or on a cluster the path of a Python "
            "that has Panes on every machine; then run again: nothing is lost"
        )
    if any(words in text for words in _KILLED):
        hosts = hosts_in(text)
        on = f" on {' and '.join(hosts)}" if hosts else ""
        return PipelineError(
            f"a Python worker of Spark{on} ended in the midst of an epoch ({where}), as when it is killed or out "
            "of memory; see how much memory there is, or SET epoch_megabytes to less; then run again: nothing is "
            "lost"
        )
    if "Traceback (most recent call last)" in text and _PYTHONS.search(text):
        return PipelineError(f"an epoch failed in a worker ({where}): {_PYTHONS.findall(text)[-1]}")
    coded = [
        line for line in _CODED.findall(text) if not line.startswith(("[FOREACH_BATCH", "[STREAM_FAILED"))
    ]
    reason = coded[-1] if coded else innermost(text) if text.strip() else "no reason is given"
    return PipelineError(f"an epoch failed in Spark ({where}): {reason}")
