"""The process from which Spark forks its Python workers, with everything imported that they need.

Imports take a second or two, and every new worker would do them again. Spark is told to start this module in
place of its own (`spark.python.daemon.module`); what it then does is Spark's own. After every task a worker looks
for garbage among all that it has, which takes a tenth of a second for what was imported: that is set apart.
"""

from __future__ import annotations

import gc
import importlib
import sys

from pyspark.daemon import manager

_NEEDED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "panes.runtime.operator_task",
    "panes.runtime.ingest_task",
    "panes.spark.sent",
)


def prepare() -> None:
    """Imports what workers need. Before each task a worker looks anew through all archives on the path, such as
    Spark's own pyspark.zip: what was in there is imported by now."""
    for name in _NEEDED:
        importlib.import_module(name)
    sys.path[:] = [place for place in sys.path if not place.endswith(".zip")]
    for place in [place for place in sys.path_importer_cache if ".zip" in place]:
        del sys.path_importer_cache[place]


if __name__ == "__main__":
    prepare()
    gc.freeze()
    manager()
