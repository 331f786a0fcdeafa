"""The event log of a run: its folder is made, and a run does not fail for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.event_log import with_event_log


def settings(folder: str, **more: str) -> dict[str, str]:
    return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": folder, **more}


def test_missing_folder_is_made(tmp_path: Path) -> None:
    asked = settings(f"file://{tmp_path}/logs/team-a")
    assert with_event_log(asked) == asked
    assert with_event_log(asked) == asked, "the folder may be there"
    assert (tmp_path / "logs/team-a").is_dir()


def test_folder_that_cannot_be_made_switches_the_log_off(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    found = with_event_log(settings(f"file://{tmp_path}/file/logs"))
    assert found["spark.eventLog.enabled"] == "false"


def test_folder_of_an_unknown_store_switches_the_log_off() -> None:
    assert with_event_log(settings("gs://lake/logs"))["spark.eventLog.enabled"] == "false"


def test_run_without_an_event_log_keeps_its_settings() -> None:
    assert with_event_log({"spark.app.name": "run"}) == {"spark.app.name": "run"}


@pytest.mark.s3
def test_folder_on_s3_holds_an_object_that_the_history_server_skips(s3: Any) -> None:
    s3.create_bucket(Bucket="event-logs")
    store = {
        "spark.hadoop.fs.s3a.endpoint": s3.meta.endpoint_url,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": "access",
        "spark.hadoop.fs.s3a.secret.key": "secret",
    }
    found = with_event_log(settings("s3a://event-logs/team-a", **store))
    assert found["spark.eventLog.enabled"] == "true"
    (listed,) = s3.list_objects_v2(Bucket="event-logs")["Contents"]
    assert listed["Key"] == "team-a/.folder"
    assert with_event_log(settings("s3a://no-such-bucket/a", **store))["spark.eventLog.enabled"] == "false"
