"""Ingestion from an S3 store into a table on it, and what a run says when the store refuses or does not answer."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome, Service
from hudi_jobs.spark.jvm import open_sockets

pytestmark = [pytest.mark.spark, pytest.mark.s3]

FIRST = "id,carrier\n1,AA\n2,UA\n"
SECOND = "id,carrier\n2,DL\n3,DL\n"
LEFT_OPEN = 3
"""So many connections may be in use by chance. Hudi's own class leaves more open with the second commit alone."""


@pytest.fixture(scope="module")
def start_store() -> Iterator[Callable[..., str]]:
    """Start S3 servers and return their endpoints."""
    processes = []

    def start(**environment: str) -> str:
        port = free_port()
        command = [sys.executable, "-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        processes.append(process)
        wait_for(port, processes[-1])
        return f"http://127.0.0.1:{port}"

    yield start
    for process in processes:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the S3 server has ended")


def client(endpoint: str) -> BaseClient:
    keys = {"aws_access_key_id": "access", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=endpoint, **keys)


@pytest.mark.parametrize("table_type", sampled("MergeOnRead", "CopyOnWrite"))
def test_a_table_on_s3_is_written_from_files_on_s3(lake: Any, start_store: Callable[..., str], table_type: str) -> None:
    bucket = f"lake-{table_type.lower()}"
    endpoint = start_store()
    store = client(endpoint)
    store.create_bucket(Bucket=bucket)
    lake.use_store(bucket, endpoint)
    lake.table = {"type": table_type}
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "fileSizing": {"smallFileLimit": "0"}}
    lake.metadata_table = True

    store.put_object(Bucket=bucket, Key="in/day 1/b.csv", Body=FIRST)
    first = lake.ingest()
    assert (first.outcome, first.rows_read) == (Outcome.SUCCEEDED, 2), first
    open_before = open_sockets()
    assert lake.ingest().outcome is Outcome.NOTHING_TO_DO

    # S3 has whole seconds: this one often has the same time as the first, and sorts before it.
    store.put_object(Bucket=bucket, Key="in/day 1/a.csv", Body=SECOND)
    second = lake.ingest()
    assert (second.outcome, second.files_read) == (Outcome.SUCCEEDED, 1), second
    assert lake.ingest().outcome is Outcome.NOTHING_TO_DO
    if table_type == "MergeOnRead":
        compacted = lake.serve(Service.COMPACTION)
        assert compacted.outcome is Outcome.SUCCEEDED, compacted
    assert lake.rows() == [("1", "AA"), ("2", "DL"), ("3", "DL")]
    # The server ends each connection with its answer, so what is open has been left open.
    assert open_sockets() - open_before < LEFT_OPEN, "connections are left open"

    missing = lake.ingest(files={"path": f"s3a://{bucket}/nothing"})
    assert missing.reason is FailureReason.SOURCE_NOT_FOUND


def test_a_bucket_that_does_not_exist(lake: Any, start_store: Callable[..., str]) -> None:
    lake.use_store("absent", start_store())
    result = lake.ingest(files={"path": "s3a://absent/in"})
    assert result.reason is FailureReason.SOURCE_NOT_FOUND, result


def test_wrong_credentials(lake: Any, start_store: Callable[..., str]) -> None:
    setup_calls = 2
    endpoint = start_store(INITIAL_NO_AUTH_ACTION_COUNT=str(setup_calls))
    store = client(endpoint)
    store.create_bucket(Bucket="closed")
    store.put_object(Bucket="closed", Key="in/a.csv", Body=FIRST)
    lake.use_store("closed", endpoint)
    result = lake.ingest()
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.STORAGE_ACCESS_DENIED), result
    assert "credentials" in result.message


def test_a_store_that_is_down(lake: Any) -> None:
    lake.use_store("gone", f"http://127.0.0.1:{free_port()}")
    result = lake.ingest()
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.STORAGE_UNAVAILABLE), result
    assert "reachable" in result.message
