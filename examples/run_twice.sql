-- A script that can be run again, over the same database, whenever it has changed:
--   panes run examples/run_twice.sql --database visits.panes
/* What is there stays as it is (IF NOT EXISTS) or becomes what the script says (OR REPLACE, ON CONFLICT). A query
   whose text has not changed goes on where it was. */

CREATE STREAM IF NOT EXISTS visits (ts BIGINT, who STRING, page STRING, ms BIGINT)
  TIMESTAMP BY ts SECONDS
  RETAIN INTERVAL 1 DAY
  FROM FILES 'examples/visits' WITH (format = 'csv', header = TRUE);
COMMENT ON STREAM visits IS 'one row for each page that was looked at';

CREATE TABLE IF NOT EXISTS people (who STRING PRIMARY KEY, team STRING NOT NULL DEFAULT 'guests');
INSERT INTO people VALUES ('ann', 'lab'), ('bob', DEFAULT)
  ON CONFLICT (who) DO UPDATE SET team = excluded.team;

DROP QUERY IF EXISTS visits_per_team;  -- a name from an earlier version of this script
CREATE OR REPLACE QUERY teams AS
  SELECT team, count(*) AS visits FROM visits [RANGE 1 DAY] JOIN people USING (who) GROUP BY team;

SHOW CREATE STREAM visits;
INVOKE teams;
