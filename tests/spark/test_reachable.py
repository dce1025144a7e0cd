"""Before the first epoch on a cluster: can every executor do its part, and if not, which one and why."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import panes
from panes.errors import EnvironmentMissing, SourceError, StateError
from panes.spark import reachable
from panes.spark import spark_engine as engine
from panes.spark.reachable import _check_home, _check_places, _check_versions, _Look, check_reachable
from panes.spark.spark_failures import hosts_in
from panes.state.storage.locations import UriPath
from tests.base_stream import base_stream

STREAM = "CREATE STREAM r (ts BIGINT, a BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{folder}'"


class Elsewhere(type(Path())):
    """A folder of the driver's machine; in tasks it is another one."""

    def __reduce__(self):
        return Path, (f"{self}-of-the-executor",)


@pytest.fixture
def stream(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.parquet").write_bytes(b"")
    return base_stream(STREAM.format(folder=tmp_path / "in"), 1)


def looked(folder, *paths):
    """What a task finds that runs here."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "driver").write_text("text")
    return _Look(folder, "text", tuple(map(str, paths))).at(0)


def test_executors_that_reach_everything_leave_nothing_behind(spark, tmp_path, stream):
    for place, home in (("path", tmp_path / "path"), ("uri", UriPath((tmp_path / "uri").as_uri()))):
        check_reachable(spark, home, [stream])
        assert not list((tmp_path / place).iterdir())


def test_a_state_location_that_executors_do_not_see_is_named_with_the_machine(spark, tmp_path):
    host = os.uname().nodename
    with pytest.raises(
        StateError, match=rf"the executor on {host} cannot use the state location .*home: No such"
    ):
        check_reachable(spark, Elsewhere(tmp_path / "home"), [])
    assert not list((tmp_path / "home").iterdir())


def test_the_sentence_says_what_to_do(tmp_path):
    lost = replace(looked(tmp_path / "probe"), unreachable="Permission denied", wrote=None)
    with pytest.raises(StateError, match=r"mount it .* or .* connect\(state='s3://…'\)"):
        _check_home(tmp_path, tmp_path / "probe", "text", [lost])


def test_a_folder_with_other_content_is_not_the_state_location(tmp_path):
    found = looked(tmp_path / "probe")
    assert found.unreachable is None
    (tmp_path / "probe" / "driver").write_text("of another machine")
    other = _Look(tmp_path / "probe", "text", ()).at(1)
    assert other.unreachable == "it holds something else there than on the driver's machine"


def test_what_a_task_writes_must_reach_the_driver(tmp_path):
    found = looked(tmp_path / "probe")
    _check_home(tmp_path, tmp_path / "probe", "text", [found])
    (tmp_path / "probe" / found.wrote).unlink()
    with pytest.raises(
        StateError, match=rf"the driver does not see what the executor on {found.host} writes"
    ):
        _check_home(tmp_path, tmp_path / "probe", "text", [found])


def test_a_folder_of_a_stream_that_an_executor_does_not_see_is_named(tmp_path):
    seen, unseen, gone = (tmp_path / name for name in ("seen", "unseen", "gone"))
    found = looked(tmp_path / "probe", seen, unseen, gone)
    seen.mkdir()
    unseen.mkdir()
    assert found.unseen == [str(seen), str(unseen), str(gone)]
    found = replace(found, unseen=[str(unseen), str(gone)], host="worker-1")
    _check_places({str(seen): "r", str(gone): "r"}, [found])
    with pytest.raises(SourceError, match=r"stream 'r': the executor on worker-1 does not find .*unseen"):
        _check_places({str(seen): "r", str(unseen): "r"}, [found])


def test_the_folder_of_a_stream_and_a_file_in_it_are_looked_for(tmp_path, stream):
    pattern = base_stream(STREAM.format(folder=tmp_path / "i*"), 2)
    remote = base_stream(STREAM.format(folder="s3://bucket/in"), 3)
    pushed = base_stream("CREATE STREAM p (a BIGINT)", 4)
    expected = {str(tmp_path / "in"): "r", str(tmp_path / "in" / "0.parquet"): "r"}
    assert dict(reachable._places([stream])) == expected
    assert dict(reachable._places([pattern])) == expected
    assert dict(reachable._places([remote, pushed])) == {}


@pytest.mark.parametrize("package", ["Python", "pyarrow", "panes"])
def test_other_versions_are_named_with_their_machines(tmp_path, package):
    found = looked(tmp_path / "probe")
    _check_versions([found])
    others = [replace(found, host=host, versions=found.versions | {package: "0.0"}) for host in ("w2", "w1")]
    with pytest.raises(
        EnvironmentMissing, match=rf"each executor on w1, w2 has {package} 0\.0, and the driver"
    ):
        _check_versions([found, *others])


def test_a_machine_without_the_package_is_named(monkeypatch):
    text = (
        "Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times, most recent failure: Lost task 1.3 "
        "in stage 0.0 (TID 5) (10.0.0.7 executor 1): org.apache.spark.SparkException: \nError from worker:\n"
        "  ModuleNotFoundError: No module named 'panes'\n"
    )
    assert hosts_in(text) == ["10.0.0.7"]

    class Session:
        def range(self, *_):
            raise PySparkException(text)

    monkeypatch.setattr(reachable, "_executors", lambda _: 1)
    with pytest.raises(EnvironmentMissing, match=r"the executor on 10\.0\.0\.7 has no Python module panes;"):
        reachable._looked(Session(), None)


def test_tasks_are_sent_out_until_every_executor_has_had_one(monkeypatch):
    rounds = []

    class Session:
        def range(self, *given):
            rounds.append(given)
            return self

        def mapInArrow(self, *_):
            return self

        def toArrow(self):
            found = f'{{"host": "w", "process": {len(rounds)}, "versions": {{}}, "wrote": null'
            return pa.table({"looked": [f'{found}, "unreachable": null, "unseen": []}}'] * 4})

    monkeypatch.setattr(reachable, "_executors", lambda _: 2)
    assert len(reachable._looked(Session(), None)) == 8
    assert rounds == [(0, 4, 1, 4)] * 2


def test_a_run_on_a_cluster_begins_with_the_probe(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "runs_here", lambda _: False)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": [1, 2], "a": [3, 4]}), tmp_path / "in" / "0.parquet")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(STREAM.format(folder=tmp_path / "in"))
        query = db.register("SELECT sum(a) AS total FROM r")
        db.run()
        assert query.invoke().to_pylist() == [{"total": 7}]
        monkeypatch.setattr(engine, "check_reachable", _fails)
        with pytest.raises(StateError, match="nobody reaches it"):
            db.run()


def _fails(*_):
    raise StateError("nobody reaches it")
