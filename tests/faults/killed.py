"""A program that runs standing queries over files and tables, for tests that kill it or its tasks.

    python killed.py DATABASE FILES MASTER [STEP=HOW …]

The first epochs are followed by a transaction, and every one by other plans for all queries. The steps are armed
when the first epoch of the program is in and its transaction is accepted; the step `accepted` is that moment
itself. The master is one of Spark's, and
`local[2,4]` tries tasks four times; `none` runs epochs in the program itself.
"""

import os
import pickle
import signal
import sys
from pathlib import Path

from panes.crash_points import arm
from tests.faults.standing import Replanned, change_tables, found_in, prepare_with_tables

database, folder, master, *steps = sys.argv[1:]
points = Path(os.environ["PANES_CRASH_POINTS"])
replanned = Replanned()


def session():
    """The Spark session of the master; None for `none`."""
    if master == "none":
        return None
    from pyspark.sql import SparkSession

    from panes.spark.session import CONTEXT_CONF

    return SparkSession.builder.master(master).config(map=CONTEXT_CONF).getOrCreate()


def after_epoch(epoch):
    change_tables(db, epoch.number)
    replanned.after(db, epoch.number)
    while steps:
        step, how = steps.pop().split("=")
        if step == "accepted":
            os.kill(os.getpid(), signal.SIGKILL)
        arm(points, step, how)


with prepare_with_tables(database, folder, session()) as db:
    db.run(on_epoch=after_epoch)
    sys.stdout.buffer.write(pickle.dumps(found_in(db)))
