"""How a command ends when something is wrong: the message alone, and exit code 1."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from panes.errors import PanesError

P = ParamSpec("P")
R = TypeVar("R")


def exits_on_failure(command: Callable[P, R]) -> Callable[P, R]:
    """The command, with errors of Panes printed as one message, without a traceback."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except PanesError as error:
            print(error, file=sys.stderr)
            raise typer.Exit(1) from error

    return guarded
