"""Which errors leave the language: those that it raises on purpose, and internal errors that say that they are."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from panes.errors import InternalError, PanesError, SqlError


@contextmanager
def guarded(text: str) -> Iterator[None]:
    """Lets errors of Panes pass, as they were raised about the text; anything else is a bug.

    Raises SqlError when the text is nested too deep, and InternalError, with the traceback in `details`, for every
    exception that nobody raised on purpose.
    """
    try:
        yield
    except PanesError:
        raise
    except RecursionError as error:
        raise SqlError("this is nested too deep", sql=text, hint="split the statement") from error
    except Exception as error:
        internal = InternalError(
            f"internal error: {type(error).__name__}: {error}\n"
            "  this is a bug in Panes, not in the statement; please report it with the statement and the traceback"
        )
        internal.details = "".join(traceback.format_exception(error))
        raise internal from error
