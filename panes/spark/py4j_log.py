"""Where Py4J logs: under its own name, and not on the root logger.

When Java ends in the midst of a call, Py4J logs a traceback by `logging.exception`, which sets up the root logger
and prints on standard error. The error that the call raises says the same.
"""

from __future__ import annotations

import logging
from typing import Any

import py4j.java_gateway

_LOG = logging.getLogger("py4j")


class _Logging:
    """The module `logging`, whose functions that log do so under the name of Py4J."""

    debug, info, warning, error, exception = _LOG.debug, _LOG.info, _LOG.warning, _LOG.error, _LOG.exception

    def __getattr__(self, name: str) -> Any:
        return getattr(logging, name)


def own_py4j_log() -> None:
    """What Py4J logs can be seen by whoever sets up the logger `py4j`."""
    py4j.java_gateway.logging = _Logging()
