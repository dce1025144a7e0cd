"""Where the databases of mixtures come from: the one place to change for another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import panes


def opened(folder: Path, spark: Any) -> panes.Database:
    """Opens the database in a folder, and makes it when it is not there."""
    return panes.connect(folder, spark=spark)
