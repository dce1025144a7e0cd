"""What went wrong in Spark, in one sentence of ours, out of a page of Java's.

The page itself is in the `details` of the error: a traceback does not show it.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from panes import errors
from panes.errors import PanesError, PipelineError
from panes.runtime.explained_failure import explained_failure

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


def hosts_in(text: str) -> list[str]:
    """The machines whose tasks failed, as an error of Spark names them."""
    return sorted(set(_HOST.findall(text)))


def innermost(text: str) -> str:
    """What is behind a page of Java's, in its own words."""
    causes = _CAUSE.findall(text)
    return str(causes[-1]) if causes else text.strip().splitlines()[0]


SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError, EOFError)
"""What calls into Spark raise; the last two when Java ends in the middle of one."""


def spark_failure(error: BaseException, where: str) -> BaseException:
    """The error to raise for one that ended an epoch; those that are neither Spark's nor the file system's are
    passed on as they are."""
    if isinstance(error, SPARK_ERRORS):
        found = _of_spark(str(error), where)
        found.details = str(error)
        return found
    return explained_failure(error, where)


def _of_spark(text: str, where: str) -> PanesError:
    ours = _OURS.search(text)
    if ours:
        kind = getattr(errors, ours[1], PipelineError)
        if issubclass(kind, PanesError) and kind is not errors.SqlError:
            return kind(ours[2])
    if "Traceback (most recent call last)" in text and _PYTHONS.search(text):
        return PipelineError(f"an epoch failed in a worker ({where}): {_PYTHONS.findall(text)[-1]}")
    coded = [
        line for line in _CODED.findall(text) if not line.startswith(("[FOREACH_BATCH", "[STREAM_FAILED"))
    ]
    reason = coded[-1] if coded else (text.strip() or "no reason is given").splitlines()[0]
    return PipelineError(f"an epoch failed in Spark ({where}): {reason}")
