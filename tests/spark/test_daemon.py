"""Workers are forked from a process that has imported what they need."""

import subprocess
import sys

PROGRAM = """
import sys
sys.path.append("/nowhere/pyspark.zip")
from panes.spark.daemon import prepare
prepare()
assert "panes.runtime.operator_task" in sys.modules
assert "pyspark.worker" in sys.modules
assert not [place for place in [*sys.path, *sys.path_importer_cache] if place.endswith(".zip")]
"""


def test_what_workers_need_is_imported_and_archives_are_forgotten():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)
