"""The program of a driver: opens a database on the cluster, and calls the functions that it is given.

    python -m tests.cluster.driving FOLDER STATE CONF

Functions with their arguments come pickled on standard input. What they give or raise is said on standard output,
and so are the epochs that are committed meanwhile.
"""

from __future__ import annotations

import json
import pickle
import sys
import traceback

from pyspark.sql import SparkSession

import panes
from tests.cluster.saying import say


def main(folder: str, state: str, conf: str) -> None:
    say("begun", None)
    spark = SparkSession.builder.config(map=panes.spark_settings() | json.loads(conf)).getOrCreate()
    db: panes.Database | None = None
    while True:
        try:
            function, given = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            if db is None:
                db = panes.connect(folder, state=state, spark=spark)
            say("gave", function(db, *given))
        except panes.errors.PanesError as error:
            traceback.print_exc()
            say("raised", (type(error).__name__, str(error)))


if __name__ == "__main__":
    main(*sys.argv[1:])
