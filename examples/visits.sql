-- Who visits a web site, and what is slow. From the top of the repository:
--   panes run examples/visits.sql

CREATE STREAM visits (ts BIGINT, who STRING, page STRING, ms BIGINT)
  TIMESTAMP BY ts SECONDS
  FROM FILES 'examples/visits' WITH (format = 'csv', header = TRUE);

CREATE STREAM searches AS SELECT ts, who, ms FROM visits WHERE page = 'search';

-- Visits and time per visitor over the last hour, every ten minutes.
CREATE QUERY visitors AS
  SELECT who, count(*) AS visits, sum(ms) AS total_ms
  FROM visits [RANGE 1 HOUR SLIDE 10 MINUTES]
  GROUP BY who;

-- The slow searches of the last hour; each leaves the answer an hour after it came.
CREATE QUERY slow_searches AS
  SELECT who, ms FROM searches [RANGE 1 HOUR] WHERE ms > 300;
