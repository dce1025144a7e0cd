"""Keeping Spark's own log out of the terminal."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from panes.errors import PanesError

TAIL_BYTES = 8_000


@contextmanager
def without_spark_noise() -> Iterator[None]:
    """Takes standard error away from the Java process that starts inside, and gives it back afterwards.

    Java writes there before any setting of Spark can stop it, in the middle of whatever is on the screen.
    After an error that Panes did not expect, the end of what was written is shown: it may hold the reason.
    """
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        failed = False
        try:
            yield
        except (PanesError, KeyboardInterrupt):
            raise
        except Exception:
            failed = True
            raise
        finally:
            sys.stderr.flush()
            os.dup2(terminal, 2)
            os.close(terminal)
            if failed:
                _show_tail(log.fileno())


def _show_tail(log: int) -> None:
    length = os.fstat(log).st_size
    tail = os.pread(log, TAIL_BYTES, max(0, length - TAIL_BYTES))
    os.write(2, tail)
