"""A program that runs standing queries over files, for tests that kill it: `python killed.py DATABASE FILES`."""

import json
import sys
from pathlib import Path

import panes

database, folder = map(Path, sys.argv[1:])
with panes.connect(database) as db:
    if not db.queries():
        db.sql(
            "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS "
            f"FROM FILES '{folder}' WITH (files_per_epoch = 1)"
        )
        db.register(
            "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 20 SECONDS] GROUP BY k", name="grouped"
        )
        db.register(
            "SELECT a.k, b.x FROM s [RANGE 5 SECONDS] AS a, s [NOW] AS b WHERE a.k = b.k", name="paired"
        )
    db.run()
    answers = {query.name: sorted(map(str, query.invoke().to_pylist())) for query in db.queries()}
    print(json.dumps({"answers": answers, "rows": db.status().rows, "epoch": db.status().epoch}))
