"""Functions and classes of users, found by their import paths: on the driver, in tasks, after a restart."""

from __future__ import annotations

import functools
import importlib
import operator
from typing import Any

from panes.errors import EvaluationError


@functools.cache
def imported(path: str) -> Any:
    """What `module:name` stands for. Raises EvaluationError when it is not there.

    >>> imported("math:sqrt")(9.0)
    3.0
    """
    module, _, name = path.partition(":")
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except Exception as error:
        raise EvaluationError(
            f"{path} cannot be imported here: {type(error).__name__}: {error}; install its module on every "
            "machine that runs tasks, then ALTER QUERY … RESUME"
        ) from error
