"""A cluster for the tests of this folder, where the machine allows it."""

from __future__ import annotations

import pytest

from tests.cluster.network import why_not


@pytest.fixture(scope="session", autouse=True)
def namespaces() -> None:
    """Skips the tests where no machine of its own can be made."""
    if reason := why_not():
        pytest.skip(reason)
