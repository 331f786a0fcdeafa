"""Credentials stay out of what the operator and the driver write, by one table."""

import json
import logging

import pytest

from hudi_jobs.contract import JobRequest
from hudi_jobs.contract.wording import REDACTED, redact_text
from hudi_jobs.spark.logs import JsonFormatter, Redactor, redactor_of


@pytest.mark.parametrize(
    "text",
    [
        "the key hush-hush-1 is wrong",
        "fs.s3a.secret.key=other-secret, and more",
        "password: other-secret",
        "jdbc:postgresql://user:other-secret@host/db",
    ],
)
def test_credentials_do_not_get_into_text(text: str) -> None:
    cleaned = Redactor([{"spark.hadoop.fs.s3a.secret.key": "hush-hush-1"}]).clean(text)
    assert "hush-hush-1" not in cleaned
    assert "other-secret" not in cleaned
    assert REDACTED in cleaned


def test_word_that_only_sounds_like_a_credential_stays() -> None:
    settings = {"spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.Provider", "spark.master": "local[2]"}
    assert Redactor([settings]).clean("org.apache.Provider on local[2]") == "org.apache.Provider on local[2]"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc.def.ghi-jkl", "Authorization: Bearer [redacted]"),
        ("s3a://user:hush@bucket/x", "s3a://[redacted]@bucket/x"),
        ("https://hush@github.com/x", "https://[redacted]@github.com/x"),
        ("fs.s3a.secret.key=hush, and more", "fs.s3a.secret.key=[redacted], and more"),
        ("AWS_SECRET_ACCESS_KEY = hush", "AWS_SECRET_ACCESS_KEY = [redacted]"),
        ("passwd:hush", "passwd:[redacted]"),
        ("abfss://container@account.dfs.core.windows.net/t", "abfss://container@account.dfs.core.windows.net/t"),
        ("s3a://bucket/folder mailed to a@b", "s3a://bucket/folder mailed to a@b"),
        ("the Secret object-store is missing", "the Secret object-store is missing"),
    ],
)
def test_only_the_secret_of_a_text_is_replaced(text: str, left: str) -> None:
    assert redact_text(text) == left


@pytest.mark.parametrize("message", ['password="hush"', 'say "token=hush"', "http://store", 'secret=hush\\"x'])
def test_a_line_of_the_driver_is_json_whatever_is_redacted(message: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "x", 1, message, None, None)
    record.fields = {"answer": "a@b", "token": 5}
    line = json.loads(JsonFormatter(Redactor()).format(record))
    assert (line["answer"], line["token"]) == ("a@b", 5)


def test_keys_that_are_erased_are_not_logged() -> None:
    erase = {"keys": [{"id": "customer-of-ours"}]}
    operation = {"kind": "Erase", "resource": "team/forget", "uid": "u", "erase": erase}
    table = {"name": "t", "basePath": "s3a://lake/t", "type": "CopyOnWrite", "recordKey": ["id"]}
    task = {"id": "x", "service": "Operation", "table": table, "operation": operation}
    redactor = redactor_of(JobRequest.model_validate({"run": "r", "tasks": [task]}))
    assert "customer-of-ours" not in redactor.clean("no row of customer-of-ours was read")
