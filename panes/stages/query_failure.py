"""Which failures of a task are the fault of one query, so that it alone is suspended and the others go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from panes.crash_points import Crash
from panes.errors import PanesError, StateError


class QueryFailure(Exception):
    """A query cannot go on: what it computes cannot be computed, or its state cannot be read."""


@contextmanager
def blamed_on_the_query() -> Iterator[None]:
    """Raises QueryFailure in place of what a query alone has caused.

    A full disk, a lost network or a lack of memory may pass: then the epoch fails as a whole, and is done again.
    """
    try:
        yield
    except (Crash, MemoryError):
        raise
    except Exception as error:
        if _may_pass(error):
            raise
        raise QueryFailure(_text(error)) from error


def _may_pass(error: BaseException) -> bool:
    cause = error.__cause__ if isinstance(error, StateError) else error
    return isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError)


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, PanesError) else f"{type(error).__name__}: {error}"
