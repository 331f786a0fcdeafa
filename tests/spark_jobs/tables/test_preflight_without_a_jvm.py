"""What commits name is looked at before the gates read it: whoever writes a timeline can name any file."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from hudi_jobs.contract import FailureReason
from hudi_jobs.preflight import key_gate
from hudi_jobs.spark.failures import TaskFailed


@pytest.mark.parametrize(
    ("partition", "name"),
    [("../victim", "../victim/a.parquet"), ("p", "p/../../victim/a.parquet"), ("", ".hoodie/metadata/files/a.parquet")],
)
def test_no_file_outside_of_the_table_is_sampled(monkeypatch: pytest.MonkeyPatch, partition: str, name: str) -> None:
    spark, table = MagicMock(), MagicMock(base_path="s3a://lake/team-a/t")
    written: list[tuple[str, str]] = [("p", "p/a.parquet"), (partition, name)]
    monkeypatch.setattr(key_gate, "_written", lambda _: iter(written))
    with pytest.raises(TaskFailed) as refused:
        key_gate._newest_files(spark, table)
    assert refused.value.reason is FailureReason.PATH_OUTSIDE_TABLE
    written.pop()
    found: Any = key_gate._newest_files(spark, table)
    assert found == [("p", "s3a://lake/team-a/t/p/a.parquet")]
