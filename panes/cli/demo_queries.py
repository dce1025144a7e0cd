"""What the demo asks of the generated traffic. To show one more kind of query, add it to the list."""

from __future__ import annotations

import re
from dataclasses import dataclass

STREAMS = (
    """
    CREATE STREAM packets (ts BIGINT, link INT, src BIGINT, dst BIGINT, proto STRING, bytes BIGINT)
      TIMESTAMP BY ts MILLISECONDS
      FROM RATE WITH (generator = 'traffic', rows_per_second = {rate})
    """,
    "CREATE STREAM web AS SELECT * FROM packets WHERE proto = 'http'",
    "CREATE STREAM ftp0 AS SELECT * FROM packets WHERE proto = 'ftp' AND link = 0",
    "CREATE STREAM ftp1 AS SELECT * FROM packets WHERE proto = 'ftp' AND link = 1",
)
"""The statements that make the streams; {rate} is the number of rows per second."""

TABLES = (
    "CREATE TABLE tariffs (link INT PRIMARY KEY, rate BIGINT)",
    "CREATE TABLE tariffs_then (link INT PRIMARY KEY, rate BIGINT) NON RETROACTIVE",
)
"""Two tables that always hold the same rows. Tuples meet the first as it is, and the second as it was when they
came."""


@dataclass(frozen=True)
class DemoQuery:
    """A standing query, and how its answer is shown: the rows with the most of one column first."""

    name: str
    title: str
    sql: str
    largest: str

    @property
    def window(self) -> str:
        """The window of the query (its first, if there are several)."""
        found = re.search(r"\[[^\]]+\]", self.sql)
        return found[0] if found else ""


QUERIES = (
    DemoQuery(
        name="talkers",
        title="Busiest hosts, last 30 s",
        sql="""
            SELECT src, count(*) AS packets, sum(bytes) AS total
            FROM packets [RANGE 30 SECONDS SLIDE 1 SECOND]
            GROUP BY src
        """,
        largest="packets",
    ),
    DemoQuery(
        name="web_links",
        title="Web per link, last 10 s",
        sql="""
            SELECT link, count(*) AS packets, sum(bytes) AS total
            FROM web [RANGE 10 SECONDS SLIDE 2 SECONDS]
            GROUP BY link
        """,
        largest="packets",
    ),
    DemoQuery(
        name="jumbo",
        title="Largest packets, last second",
        sql="""
            SELECT src, dst, proto, bytes
            FROM packets [RANGE 1 SECOND]
            WHERE bytes > 100000
        """,
        largest="bytes",
    ),
    DemoQuery(
        name="both_links",
        title="FTP on both links 0 and 1",
        sql="""
            SELECT a.src AS src, a.bytes AS bytes0, b.bytes AS bytes1
            FROM ftp0 [RANGE 2 SECONDS] AS a, ftp1 [RANGE 2 SECONDS] AS b
            WHERE a.src = b.src
        """,
        largest="bytes0",
    ),
    DemoQuery(
        name="ftp_pairs",
        title="FTP pairs, last 10 s",
        sql="""
            SELECT DISTINCT src, dst
            FROM ftp0 [RANGE 10 SECONDS]
        """,
        largest="src",
    ),
    DemoQuery(
        name="only_link_0",
        title="FTP on link 0 but not on 1",
        sql="""
            SELECT src, dst, bytes
            FROM ftp0 [RANGE 5 SECONDS]
            WHERE src NOT IN (SELECT src FROM ftp1 [RANGE 5 SECONDS])
        """,
        largest="bytes",
    ),
    DemoQuery(
        name="bill_now",
        title="Web bill at tariffs of now",
        sql="""
            SELECT w.link AS link, avg(t.rate) AS rate, sum(w.bytes * t.rate) AS bill
            FROM web [RANGE 10 SECONDS SLIDE 1 SECOND] AS w, tariffs AS t
            WHERE w.link = t.link
            GROUP BY w.link
        """,
        largest="bill",
    ),
    DemoQuery(
        name="bill_then",
        title="Web bill at tariffs of then",
        sql="""
            SELECT w.link AS link, avg(t.rate) AS rate, sum(w.bytes * t.rate) AS bill
            FROM web [RANGE 10 SECONDS SLIDE 1 SECOND] AS w, tariffs_then AS t
            WHERE w.link = t.link
            GROUP BY w.link
        """,
        largest="bill",
    ),
)
