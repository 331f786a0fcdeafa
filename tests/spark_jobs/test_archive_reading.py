"""The newest checkpoint in an archive, whatever else that holds, and without holding it in memory."""

import json
import os
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import CHECKPOINT_KEY, Checkpoint, FailureReason, Outcome, Service
from hudi_jobs.ingestion.checkpoint import LOOK_BACK, encode_checkpoint, newest_progress
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable

pytestmark = pytest.mark.spark

LONG_AGO = 1_700_000_000


def commit(lake: Any, number: int, notes: dict[str, str]) -> None:
    """Write one commit of another tool, or of ours when it has notes."""
    options = {
        "hoodie.table.name": "flights",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.operation": "insert_overwrite" if number % 5 == 4 else "upsert",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.datasource.write.commitmeta.key.prefix": "hudi-operator.",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        "hoodie.embed.timeline.server": "false",
        **notes,
    }
    rows = lake.spark.sql(f"SELECT 'x{number}' AS id, {number} AS v")
    rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)


def archive(lake: Any) -> None:
    lake.spec = {"cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    lake.serve(Service.CLEANING)
    assert lake.serve(Service.ARCHIVAL).outcome is Outcome.SUCCEEDED


def newest_note(lake: Any, key: str = CHECKPOINT_KEY) -> str | None:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    assert not any(key in commit.notes for commit in table.commits())
    return table.archived_note(key)


def test_the_newest_checkpoint_of_an_archive_is_found(lake: Any) -> None:
    marked = {2: "second", 5: "fifth", 4: "fourth"}
    for number in range(9 if not ALL else 40):
        commit(lake, number, {CHECKPOINT_KEY: marked[number]} if number in marked else {})
    archive(lake)
    assert newest_note(lake) == "fifth"
    assert newest_note(lake, "hudi-operator.other") is None
    refuses_a_manifest_that_leads_out(lake)


def refuses_a_manifest_that_leads_out(lake: Any) -> None:
    """Neither the driver nor Hudi, which merges the files that a manifest names, may open a file elsewhere."""
    history = lake.folder / "table/.hoodie/timeline/history"
    manifest = max(history.glob("manifest_*"), key=lambda path: int(path.name.rpartition("_")[2]))
    content = json.loads(manifest.read_text())
    content["files"][0]["fileName"] = "../../../../other/" + content["files"][0]["fileName"]
    manifest.write_text(json.dumps(content))
    manifest.with_name(f".{manifest.name}.crc").unlink()
    with pytest.raises(TaskFailed, match=r"names the file '\.\./"):
        newest_note(lake)
    archived = lake.serve(Service.ARCHIVAL)
    assert (archived.outcome, archived.reason) == (Outcome.FAILED, FailureReason.PATH_OUTSIDE_TABLE), archived


def test_the_newest_checkpoint_of_a_copied_table_of_layout_1_is_found_whatever_the_times_of_its_files(
    lake: Any,
) -> None:
    for number in range(LOOK_BACK + 2):
        note = encode_checkpoint(Checkpoint("files", number))
        commit(lake, number, {CHECKPOINT_KEY: note, "hoodie.write.table.version": "6"})
    completed = sorted(path for path in (lake.folder / "table/.hoodie").glob("2*") if path.name.endswith("commit"))
    newest, second = completed.pop(), completed.pop()
    for age, path in enumerate([second, *completed, newest]):
        os.utime(path, (LONG_AGO - age, LONG_AGO - age))
    assert newest_progress(HudiTable.open(lake.spark, lake.base_path)) == Checkpoint("files", LOOK_BACK + 1)


def test_an_archive_of_layout_1_is_read_page_by_page(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[list[str]] = []
    read = HudiTable._read

    def look(table: HudiTable, timeline: Any) -> Any:
        looks.append([str(one.requestedTime()) for one in timeline.getInstants()])
        return read(table, timeline)

    monkeypatch.setattr("hudi_jobs.table._ARCHIVED_PAGE", 2)
    monkeypatch.setattr(HudiTable, "_read", look)
    eager = {
        "hoodie.write.table.version": "6",
        "hoodie.clean.automatic": "true",
        "hoodie.clean.commits.retained": "1",
        "hoodie.archive.automatic": "true",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
    }
    for number in range(9):
        commit(lake, number, eager | ({CHECKPOINT_KEY: f"number {number}"} if number in {1, 3} else {}))
    assert not list(lake.folder.glob("table/.hoodie/timeline/history/*.parquet"))
    assert newest_note(lake) == "number 3"
    assert newest_note(lake, "hudi-operator.other") is None
    active = looks[0]
    pages = [page for page in looks if page != active]
    assert len(pages) > 3
    assert max(len(page) for page in pages) == 2


def test_a_text_that_only_looks_like_a_note_is_passed_over(lake: Any) -> None:
    commit(lake, 0, {CHECKPOINT_KEY: "the one"})
    for number in range(1, 9):
        commit(lake, number, {"hudi-operator.remark": f"speaks of {CHECKPOINT_KEY}"})
    archive(lake)
    assert newest_note(lake) == "the one"
