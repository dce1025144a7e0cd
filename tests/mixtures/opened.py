"""Where the databases of mixtures come from: the one place to change for another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import panes
from panes.testing import local


def opened(folder: Path, spark: Any = None) -> panes.Database:
    """Opens the database in a folder, and makes it when it is not there: without Spark, or in a Spark session."""
    return local(folder) if spark is None else panes.connect(folder, spark=spark)
