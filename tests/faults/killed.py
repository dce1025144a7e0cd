"""A program that runs standing queries over files, for tests that kill it or its tasks.

    python killed.py DATABASE FILES MASTER [STEP=HOW …]

The steps are armed when the first of its epochs is in. The master is one of Spark's: `local[2,4]` tries tasks four
times.
"""

import os
import pickle
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from panes.crash_points import arm
from panes.spark.session import CONTEXT_CONF
from tests.faults.standing import found_in, prepare

database, folder, master, *steps = sys.argv[1:]
points = Path(os.environ["PANES_CRASH_POINTS"])


def after_epoch(_epoch):
    while steps:
        arm(points, *steps.pop().split("="))


spark = SparkSession.builder.master(master).config(map=CONTEXT_CONF).getOrCreate()
with prepare(database, spark, folder) as db:
    db.run(on_epoch=after_epoch)
    sys.stdout.buffer.write(pickle.dumps(found_in(db)))
