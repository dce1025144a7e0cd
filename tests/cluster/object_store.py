"""The program of an object store with an S3 API, for tests: it holds its objects in memory.

    python -m tests.cluster.object_store ADDRESS PORT BUCKET

It says READY when it can be used, and ends with its standard input.
"""

from __future__ import annotations

import sys

import boto3
from moto.server import ThreadedMotoServer

READY = "the bucket is there"
REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
ENVIRON = {**CREDENTIALS, "AWS_EC2_METADATA_DISABLED": "true"}
"""What whoever uses it has in the environment."""


def uri(address: str, port: int, bucket: str, path: str) -> str:
    """A folder of the bucket, as pyarrow knows it."""
    return f"s3://{bucket}/{path}?region={REGION}&scheme=http&endpoint_override={address}:{port}"


def main(address: str, port: str, bucket: str) -> None:
    server = ThreadedMotoServer(address, int(port))
    server.start()
    try:
        client = boto3.client("s3", endpoint_url=f"http://{address}:{port}", region_name=REGION)
        client.create_bucket(Bucket=bucket)
        print(READY, flush=True)
        sys.stdin.read()
    finally:
        server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
