-- What the queries of Nexmark read.
CREATE STREAM person (id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING,
  date_time TIMESTAMP, extra STRING) TIMESTAMP BY date_time;
CREATE STREAM auction (id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT,
  date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING) TIMESTAMP BY date_time;
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP,
  extra STRING) TIMESTAMP BY date_time;
CREATE STREAM bid_as_it_comes (auction BIGINT, bidder BIGINT, price BIGINT);
CREATE TABLE side_input (key BIGINT PRIMARY KEY, value STRING) NON RETROACTIVE;

-- What the queries of TPC-H read: orders and their items come as streams, the rest are tables.
CREATE STREAM orders (at TIMESTAMP, o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DOUBLE,
  o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING) TIMESTAMP BY at;
CREATE STREAM lineitem (at TIMESTAMP, l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT,
  l_quantity DOUBLE, l_extendedprice DOUBLE, l_discount DOUBLE, l_tax DOUBLE, l_returnflag STRING, l_linestatus STRING,
  l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING, l_comment STRING)
  TIMESTAMP BY at;
CREATE TABLE customer (c_custkey BIGINT PRIMARY KEY, c_name STRING, c_address STRING, c_nationkey BIGINT,
  c_phone STRING, c_acctbal DOUBLE, c_mktsegment STRING, c_comment STRING);
CREATE TABLE part (p_partkey BIGINT PRIMARY KEY, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING,
  p_size INT, p_container STRING, p_retailprice DOUBLE, p_comment STRING);
CREATE TABLE supplier (s_suppkey BIGINT PRIMARY KEY, s_name STRING, s_address STRING, s_nationkey BIGINT,
  s_phone STRING, s_acctbal DOUBLE, s_comment STRING);
CREATE TABLE partsupp (ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_supplycost DOUBLE, ps_comment STRING);
CREATE TABLE nation (n_nationkey BIGINT PRIMARY KEY, n_name STRING, n_regionkey BIGINT, n_comment STRING);
CREATE TABLE region (r_regionkey BIGINT PRIMARY KEY, r_name STRING, r_comment STRING);
