"""One Spark session for all tests that need one."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import panes
from tests.java_classes import java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# How long a case takes says nothing on a machine that others use too.
settings.register_profile("panes", deadline=None)
settings.load_profile("panes")


def pytest_configure() -> None:
    """Lets Ctrl-C interrupt: a shell has the programs that it starts in the background ignore it, and so would the
    tests of interruptions, and the programs that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests that use Spark, and runs them last: most mistakes show long before Spark is up.

    Where several processes share the tests, those that use Spark come first. One process begins with them and
    another with the rest, and whoever is done takes over some of the other's (`--dist worksteal`).
    """
    is_shared_out = hasattr(config, "workerinput")
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.spark)
    items.sort(key=lambda item: (item.get_closest_marker("spark") is None) == is_shared_out)


@pytest.fixture(scope="session")
def crash_points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which steps of an epoch are armed; Spark's workers learn of it when Spark starts."""
    folder = tmp_path_factory.mktemp("crash-points")
    os.environ["PANES_CRASH_POINTS"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def spark(crash_points: Path) -> Iterator[SparkSession]:  # noqa: ARG001
    """The session that databases under test borrow, and leave running."""
    from panes.spark.session import local_session

    os.environ.setdefault("JDK_JAVA_OPTIONS", java_options())
    session = local_session()
    yield session
    session.stop()


@pytest.fixture
def commands_on_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets what connects by itself, commands and programs, share the session too."""
    monkeypatch.setattr(panes, "connect", functools.partial(panes.connect, spark=spark))
