"""How a command ends when something is wrong: the message alone, and an exit code."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from panes.errors import InternalError, PanesError

P = ParamSpec("P")
R = TypeVar("R")

INTERRUPTED = 130
"""The exit code after Ctrl-C, as of other programs."""


def exits_on_failure(command: Callable[P, R]) -> Callable[P, R]:
    """The command, with errors of Panes and Ctrl-C printed as one message, without a traceback.

    With PANES_SPARK_LOG set, what Spark said comes after the message; after an internal error its traceback does.
    """

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except PanesError as error:
            print(error, file=sys.stderr)
            if error.details and (isinstance(error, InternalError) or "PANES_SPARK_LOG" in os.environ):
                print(error.details, file=sys.stderr)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    return guarded
