-- What the statements of the corpus can read.
CREATE STREAM packets (ts BIGINT, link INT, src BIGINT, dst BIGINT, proto STRING, bytes BIGINT)
  TIMESTAMP BY ts MILLISECONDS;
CREATE STREAM readings (at TIMESTAMP, sensor INT, day DATE, value DOUBLE, ok BOOLEAN, note STRING)
  TIMESTAMP BY at;
CREATE STREAM link0 AS SELECT * FROM packets WHERE link = 0;
CREATE STREAM link1 AS SELECT * FROM packets WHERE link = 1;
CREATE STREAM link2 AS SELECT * FROM packets WHERE link = 2;
CREATE STREAM heavy AS SELECT src, dst, bytes / 1000 AS kb FROM link0 WHERE bytes > 1000;
CREATE STREAM s1 (a INT, b INT);
CREATE STREAM s2 (a INT, b INT);
CREATE STREAM s3 (a INT, b INT);
CREATE STREAM r (a BIGINT, b BIGINT);
CREATE STREAM s (a BIGINT, b BIGINT);
CREATE TABLE hosts (src BIGINT, owner STRING, PRIMARY KEY (src));
CREATE TABLE tariffs (proto STRING, rate DOUBLE, PRIMARY KEY (proto)) NON RETROACTIVE;
CREATE TABLE wards (id INT PRIMARY KEY, ward STRING, since DATE) NON RETROACTIVE;
CREATE TABLE owned (a BIGINT, b BIGINT);
CREATE TABLE priced (a BIGINT, b BIGINT) NON RETROACTIVE;
CREATE STREAM offers (at TIMESTAMP, item INT, price DOUBLE, until TIMESTAMP) TIMESTAMP BY at EXPIRES BY until;
CREATE STREAM items (at TIMESTAMP, id SMALLINT, kind TINYINT, price DECIMAL(8, 2), tax DECIMAL(4, 4), ratio FLOAT,
  code BINARY) TIMESTAMP BY at;
CREATE STREAM posts (at TIMESTAMP, id INT, tags STRING[], marks ARRAY<INT>, who STRUCT<name STRING, age INT>)
  TIMESTAMP BY at;
CREATE TABLE rates (kind TINYINT PRIMARY KEY, rate DECIMAL(6, 3), label BINARY);
CREATE QUERY talkers AS SELECT src, count(*) AS n, sum(bytes) AS total
  FROM packets [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY src;
CREATE QUERY loud AS SELECT src, n FROM talkers WHERE n > 2;
CREATE QUERY recent AS SELECT src, dst, bytes FROM packets [RANGE 1 MINUTE] WHERE bytes > 2;
CREATE QUERY latest AS SELECT src, bytes FROM packets [PARTITION BY src ROWS 1];
CREATE QUERY paired AS SELECT x.src, y.dst FROM link0 [RANGE 1 MINUTE] x JOIN link1 [RANGE 1 MINUTE] y ON x.src = y.src;
CREATE QUERY labeled AS SELECT src, owner FROM packets [RANGE 1 HOUR] JOIN hosts USING (src);
CREATE QUERY arrivals AS SELECT Istream(src, bytes) FROM packets [RANGE 1 MINUTE];
CREATE QUERY seen AS SELECT src, bytes FROM packets WHERE bytes > 1;
CREATE QUERY totals AS SELECT sum(bytes) AS b FROM packets [RANGE 6 SECONDS SLIDE 6 SECONDS INTERNAL];
CREATE QUERY asked AS SELECT src, bytes FROM packets BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW);
CREATE QUERY "Two words" AS SELECT a AS "first one", b FROM s1 [NOW];
CREATE QUERY kept AS SELECT a, b FROM s [RANGE 1 MINUTE] WHERE a > 1;
CREATE QUERY summed AS SELECT a, sum(b) AS b FROM kept GROUP BY a;
CREATE QUERY top_talkers AS SELECT src, n FROM talkers ORDER BY n DESC, src LIMIT 3;
