"""An object store with an S3 API, which counts its requests by kind and the seconds that it takes for them.

    python -m benchmarks.counted_store PORT BUCKET

The program says READY when the bucket is there, and ends with its standard input. The store is moto's, in memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

READY = "the bucket is there"
REGION = "us-east-1"
ENVIRON = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_COUNTS = "/counts"


def kind_of(method: str, query: str) -> str:
    """What a request asks for.

    >>> kind_of("PUT", ""), kind_of("GET", "list-type=2&prefix=a")
    ('PUT', 'LIST')
    >>> kind_of("POST", "delete"), kind_of("HEAD", "")
    ('DELETE', 'HEAD')
    """
    if method == "GET" and "list-type" in query:
        return "LIST"
    if method == "POST" and query.startswith("delete"):
        return "DELETE"
    return method


class _Counting:
    """The application of the store, with a look at what it is asked."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._counts: Counter[str] = Counter()
        self._seconds = 0.0
        self._lock = threading.Lock()

    def __call__(self, environ: Mapping[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == _COUNTS:
            start_response("200 OK", [("Content-Type", "application/json")])
            with self._lock:
                return [json.dumps({"counts": self._counts, "seconds": self._seconds}).encode()]
        began = time.perf_counter()
        try:
            return self._application(environ, start_response)
        finally:
            with self._lock:
                self._counts[kind_of(environ["REQUEST_METHOD"], environ["QUERY_STRING"])] += 1
                self._seconds += time.perf_counter() - began


def main(port: str, bucket: str) -> None:
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = _Counting(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", int(port), application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name=REGION)
    client.create_bucket(Bucket=bucket)
    print(READY, flush=True)
    sys.stdin.read()


class CountedStore:
    """The program, started by this process, and its counts."""

    def __init__(self, port: int = 5557, bucket: str = "panes") -> None:
        self._port, self._bucket = port, bucket

    def __enter__(self) -> CountedStore:
        os.environ.update(ENVIRON)  # for pyarrow, here and in the workers
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.counted_store", str(self._port), self._bucket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != READY:
            raise OSError("the object store did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def uri(self, path: str) -> str:
        place = f"scheme=http&endpoint_override=127.0.0.1:{self._port}"
        return f"s3://{self._bucket}/{path}?region={REGION}&{place}"

    def counts(self) -> tuple[Counter[str], float]:
        """The requests so far by kind, and the seconds that they took."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{_COUNTS}") as answer:
            found = json.load(answer)
        return Counter(found["counts"]), found["seconds"]


if __name__ == "__main__":
    main(*sys.argv[1:])
