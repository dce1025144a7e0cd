"""The generated traffic: the same again for the same rows, skewed, and with a burst every half minute."""

from collections import Counter

from pyspark.sql import functions as F

from panes.spark.session import epoch_session
from panes.spark.traffic import TRAFFIC

ROWS = 20_000


def generate(spark, second: int) -> dict[str, list]:
    rows = epoch_session(spark).range(ROWS)
    moment = F.timestamp_seconds(F.lit(1_700_000_010 + second))
    columns = [make(F.col("id"), moment).alias(name) for name, make in TRAFFIC.items()]
    return rows.select(*columns).toArrow().to_pydict()


def test_rows_are_a_function_of_their_number(spark):
    assert generate(spark, 0) == generate(spark, 0)


def test_hosts_are_skewed_and_values_are_in_their_bounds(spark):
    traffic = generate(spark, 0)
    hosts = Counter(traffic["src"])
    most = [count for _, count in hosts.most_common(2000)]
    assert most[0] > 3 * most[10] > 9 * most[1000]
    assert set(traffic["link"]) == {0, 1, 2, 3}
    assert set(traffic["proto"]) == {"telnet", "smtp", "nntp", "http", "ftp"}
    assert 40 <= min(traffic["bytes"]) < 60 < 50_000 < max(traffic["bytes"])


def test_a_quiet_host_bursts_at_the_end_of_every_half_minute(spark):
    quiet, burst = Counter(generate(spark, 5)["src"]), Counter(generate(spark, 25)["src"])
    culprit = max(burst, key=lambda host: burst[host] - quiet[host])
    assert burst[culprit] > 0.25 * ROWS
    assert quiet[culprit] < 0.01 * ROWS
