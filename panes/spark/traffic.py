"""Generated network traffic: what the demo watches. Every column is a function of the row's number alone.

Sources and destinations follow a Zipf law, protocols have fixed shares, sizes are skewed, and in the last ten
seconds of every half minute one host out of the quiet ones bursts.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

_HOSTS = 5_000
_PROTOCOLS = ("telnet", "telnet", "telnet", "smtp", "smtp", "nntp", "nntp", "http", "http", "ftp")
_BURST_EVERY_S, _BURST_S, _BURST_SHARE = 30, 10, 0.3


def _uniform(value: Column, salt: int) -> Column:
    """A number in [0, 1) that looks random and is the same for the same row."""
    return F.pmod(F.xxhash64(value, F.lit(salt)), F.lit(1_000_003)) / 1_000_003.0


def _zipf(value: Column, salt: int, hosts: int) -> Column:
    """A rank in [0, hosts) with a share that falls as 1/rank: the inverse of its logarithmic distribution."""
    return (F.pow(F.lit(float(hosts + 1)), _uniform(value, salt)) - 1).cast("bigint")


def _source(value: Column, moment: Column) -> Column:
    second = F.unix_seconds(moment)
    bursting = (F.pmod(second, F.lit(_BURST_EVERY_S)) >= _BURST_EVERY_S - _BURST_S) & (
        _uniform(value, 2) < _BURST_SHARE
    )
    culprit = 1_000 + F.pmod(F.floor(second / _BURST_EVERY_S) * 7919, F.lit(_HOSTS - 1_000))
    return F.when(bursting, culprit).otherwise(_zipf(value, 1, _HOSTS))


def _size(value: Column, _: Column) -> Column:
    """From 40 bytes to some 100 kB, most of them small."""
    return (40 * F.exp(F.pow(_uniform(value, 3), F.lit(2.0)) * 8)).cast("bigint")


def _protocol(value: Column, _: Column) -> Column:
    names = F.array(*map(F.lit, _PROTOCOLS))
    return F.get(names, (_uniform(value, 4) * len(_PROTOCOLS)).cast("int"))


TRAFFIC: dict[str, Callable[[Column, Column], Column]] = {
    "ts": lambda _, moment: F.unix_millis(moment),
    "link": lambda value, _: F.pmod(F.xxhash64(value), F.lit(4)),
    "src": _source,
    "dst": lambda value, _: _zipf(value, 5, 4 * _HOSTS),
    "proto": _protocol,
    "bytes": _size,
}
