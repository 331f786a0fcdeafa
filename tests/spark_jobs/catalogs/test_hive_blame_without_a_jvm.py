"""Whether a failed sync blames the metastore, by the Java exceptions of its chain."""

import pytest

from hudi_jobs.catalogs.kinds.hive import is_away
from hudi_jobs.spark.failures import Cause

TRANSPORT = "org.apache.thrift.transport.TTransportException"
SYNC = Cause("org.apache.hudi.exception.HoodieException", "Got runtime exception when hive syncing flights")


@pytest.mark.parametrize(
    "cause",
    [
        Cause(TRANSPORT, "java.net.SocketTimeoutException: Read timed out"),
        Cause(TRANSPORT, ""),
        Cause(
            "org.apache.hadoop.hive.metastore.api.MetaException",
            f"Could not connect to meta store using any of the URIs provided. Most recent failure: {TRANSPORT}",
        ),
        Cause(
            "org.apache.hadoop.hive.metastore.api.MetaException",
            f"Got exception: {TRANSPORT} java.net.SocketException: Broken pipe",
        ),
    ],
    ids=["timeout", "end of the connection", "no connection", "broken connection"],
)
def test_connection_to_the_metastore_that_fails_is_blamed_on_it(cause: Cause) -> None:
    assert is_away((SYNC, cause))


@pytest.mark.parametrize(
    "cause",
    [
        Cause("java.net.SocketTimeoutException", "getFileStatus on s3a://lake/flights: Read timed out"),
        Cause("com.amazonaws.SdkClientException", "Unable to execute HTTP request: java.net.ConnectException: refused"),
        Cause(
            "org.apache.hadoop.hive.metastore.api.MetaException",
            "Got exception: java.net.ConnectException Call to s3.example.com failed: Connection refused",
        ),
    ],
    ids=["timeout of the store", "store away", "store away from the metastore"],
)
def test_store_that_does_not_answer_is_not_blamed_on_the_metastore(cause: Cause) -> None:
    assert not is_away((SYNC, cause))
