"""What a chain of exceptions means, what a log may show, and what the session is opened with."""

import pytest

from hudi_jobs.contract import FailureReason
from hudi_jobs.spark.failures import Cause, classify, config_conflict
from hudi_jobs.spark.session import spark_settings


@pytest.mark.parametrize(
    ("kind", "message", "doing", "expected"),
    [
        ("java.lang.OutOfMemoryError", "Java heap space", FailureReason.HUDI_ERROR, FailureReason.OUT_OF_MEMORY),
        (
            "x.SparkException",
            "ExecutorLostFailure (exit code 137)",
            FailureReason.HUDI_ERROR,
            FailureReason.OUT_OF_MEMORY,
        ),
        (
            "java.nio.file.AccessDeniedException",
            "s3a://b/k",
            FailureReason.HUDI_ERROR,
            FailureReason.STORAGE_ACCESS_DENIED,
        ),
        (
            "x.AmazonS3Exception",
            "Forbidden; Status Code: 403",
            FailureReason.HUDI_ERROR,
            FailureReason.STORAGE_ACCESS_DENIED,
        ),
        ("x.NoAuthWithAWSException", "", FailureReason.SOURCE_UNREADABLE, FailureReason.STORAGE_ACCESS_DENIED),
        ("java.net.ConnectException", "refused", FailureReason.SOURCE_UNREADABLE, FailureReason.STORAGE_UNAVAILABLE),
        (
            "x.AWSClientIOException",
            "Unable to execute HTTP request",
            FailureReason.HUDI_ERROR,
            FailureReason.STORAGE_UNAVAILABLE,
        ),
        ("x.AmazonS3Exception", "Status Code: 503", FailureReason.HUDI_ERROR, FailureReason.STORAGE_UNAVAILABLE),
        ("x.UnknownStoreException", "no bucket", FailureReason.SOURCE_UNREADABLE, FailureReason.SOURCE_NOT_FOUND),
        ("x.HoodieWriteConflictException", "", FailureReason.HUDI_ERROR, FailureReason.CONFLICT),
        ("x.HoodieClusteringUpdateException", "", FailureReason.HUDI_ERROR, FailureReason.CONFLICT),
        ("java.io.IOException", "No space left on device", FailureReason.HUDI_ERROR, FailureReason.STORAGE_FULL),
        ("x.AmazonS3Exception", "Status Code: 507", FailureReason.HUDI_ERROR, FailureReason.STORAGE_FULL),
        ("x.AmazonS3Exception", "XMinioStorageFull", FailureReason.SOURCE_UNREADABLE, FailureReason.STORAGE_FULL),
        ("x.KeeperException", "ConnectionLoss", FailureReason.HUDI_ERROR, FailureReason.LOCK_UNAVAILABLE),
        ("x.HoodieLockException", "FAILED_TO_ACQUIRE lock", FailureReason.HUDI_ERROR, FailureReason.LOCK_UNAVAILABLE),
        ("PermissionDeniedError", "403 Forbidden", FailureReason.HUDI_ERROR, FailureReason.STORAGE_ACCESS_DENIED),
        ("x.HoodieKeyException", "", FailureReason.HUDI_ERROR, FailureReason.RECORD_KEY_NULL),
        ("x.HoodieKeyException", "", FailureReason.SOURCE_UNREADABLE, FailureReason.SOURCE_UNREADABLE),
        ("x.MissingSchemaFieldException", "", FailureReason.HUDI_ERROR, FailureReason.SCHEMA_INCOMPATIBLE),
        ("java.lang.RuntimeException", "surprise", FailureReason.TRANSFORM_INVALID, FailureReason.TRANSFORM_INVALID),
    ],
)
def test_an_exception_belongs_to_a_class(
    kind: str, message: str, doing: FailureReason, expected: FailureReason
) -> None:
    chain = (Cause("x.Outer", "it failed"), Cause(kind, message))
    assert classify(chain, otherwise=doing)[0] is expected


def test_the_same_refusal_of_the_store_always_reads_the_same() -> None:
    refusals = {
        Cause(
            "x.AmazonS3Exception", f"Forbidden (Service: Amazon S3; Status Code: 403; Request ID: {number})"
        ).first_line
        for number in range(3)
    }
    assert refusals == {"Forbidden"}


def test_the_innermost_cause_that_says_anything_is_shown() -> None:
    chain = (Cause("x.Outer", "it failed"), Cause("x.Middle", "because\nof this"), Cause("x.Inner", ""))
    assert classify(chain, otherwise=FailureReason.HUDI_ERROR)[1].first_line == "because"


def test_a_correct_run_does_not_depend_on_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_IP", "10.0.0.7")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    conf = spark_settings(
        {
            "spark.speculation": "true",
            "spark.driver.host": "$(POD_IP)",
            "spark.app.name": "$(AWS_SECRET_ACCESS_KEY)",
            "spark.hadoop.fs.s3a.retry.limit": "9",
        }
    )
    assert conf["spark.speculation"] == "false"
    assert conf["spark.driver.host"] == "10.0.0.7"
    assert conf["spark.app.name"] == "$(AWS_SECRET_ACCESS_KEY)"
    assert conf["spark.hadoop.fs.s3a.retry.limit"] == "9"


def test_a_conflict_of_options_names_key_and_both_values() -> None:
    text = "Config conflict(key\tcurrent value\texisting value):\nhoodie.x:\ttrue\tfalse\nRecordKey:\tid\t\n"
    found = config_conflict([Cause("py4j.X", "outer"), Cause("org.apache.hudi.exception.HoodieException", text)])
    assert found == (
        "hoodie.x is false in the table, but this run was given true; "
        "RecordKey is (empty) in the table, but this run was given id. Declare what the table has."
    )
    assert config_conflict([Cause("x", "something else")]) is None
