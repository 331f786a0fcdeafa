"""Log files of version 6 belong where their names say, and Hudi 1.2.0 asks the times of files: nothing is lost."""

from __future__ import annotations

import os
import random
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from moto.s3.models import s3_backends
from pyspark.sql import SparkSession
from tests.spark_jobs.conftest import Lake
from tests.spark_jobs.operations.asked import UPGRADE, operate
from tests.spark_jobs.services.test_savepoint import OWNER, serve
from tests.spark_jobs.tables.timed import (
    INPUTS,
    TOKYO,
    History,
    Input,
    Times,
    ahead,
    at,
    copied,
    data_files,
    histories,
    placed,
    timed,
    truncated,
    unchanged,
    whole_seconds,
)
from tests.spark_jobs.trials import ALL, IN_FULL

from hudi_jobs import clock
from hudi_jobs.contract import FailureReason, Outcome, SavepointStep, Service, TaskResult
from hudi_jobs.preflight.slice_gate import completions_of, file_groups_of
from hudi_jobs.table import HudiTable, with_times
from toolkit.writers import COMPACTED_ELSEWHERE, Writer

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SAMPLE = INPUTS if ALL else INPUTS[:3]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, History]:
    """The tables that inputs change the times of."""
    folder = tmp_path_factory.mktemp("histories")
    return histories(Lake(spark=spark, root=str(folder), folder=folder, table={"type": "MergeOnRead"}))


def set_times(bucket: str, history: History) -> None:
    """Give the objects of a server in this process the times of the table's files."""
    keys = s3_backends["123456789012"]["aws"].buckets[bucket].keys
    for name, moment in timed(history, truncated).items():
        keys[f"table/.hoodie/{name}"].last_modified = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)


def ready(lake: Any) -> Any:
    lake.table = {"type": "MergeOnRead"}
    lake.spec = {"cleaning": {"retainCommits": 1}, "compaction": {"trigger": {"deltaCommits": 1}}}
    return lake


def refused(lake: Any, service: Service, **changes: Any) -> TaskResult:
    """The result of a run that has to leave every file as it is."""
    before = data_files(lake)
    result = lake.drive(ingested(lake)) if service is Service.INGESTION else lake.serve(service, **changes)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.FILE_SLICES_UNCERTAIN), result
    assert data_files(lake) == before
    return result  # type: ignore[no-any-return]


def ingested(lake: Any) -> Any:
    lake.put("new.csv", "id,v\nk00,9\n", at=lake.runs)
    return lake.request(files={"schemaDdl": "id string, v int"})


def read(lake: Any) -> dict[str, int]:
    lake.spark.catalog.clearCache()
    return dict(lake.rows("id", "v"))


@pytest.mark.parametrize("each", SAMPLE, ids=str)
def test_nothing_is_deleted_where_times_contradict_names(each: Input, made: dict[str, History], lake: Any) -> None:
    placed(made[each.history], ready(lake), each.change)
    if each.is_refused:
        for service in (Service.CLEANING, Service.COMPACTION, Service.INGESTION) if ALL else (Service.CLEANING,):
            refused(lake, service)
        return
    for service in (Service.COMPACTION, Service.CLEANING):
        result = lake.serve(service)
        assert result.outcome is not Outcome.FAILED, result
        assert read(lake) == made[each.history].rows
    assert lake.drive(ingested(lake)).outcome is Outcome.SUCCEEDED
    assert read(lake) == made[each.history].rows | {"k00": 9}


@pytest.mark.parametrize("each", INPUTS if ALL else INPUTS[::3], ids=str)
def test_our_rule_finds_the_slices_that_hudi_finds(each: Input, made: dict[str, History], lake: Any) -> None:
    placed(made[each.history], ready(lake), each.change)
    table = HudiTable.existing(lake.spark, lake.base_path)
    with with_times(lake.spark, table, lake.hudi_options(Service.CLEANING)) as timed:
        times, groups = completions_of(timed), file_groups_of(lake.spark, timed)
        view, hudi = timed.listed_view(), set()
        for group in view.getAllFileGroups("").iterator():
            for part in group.getAllRawFileSlices().iterator():
                hudi |= {
                    (str(file.getFileName()), str(part.getBaseInstantTime())) for file in part.getLogFiles().iterator()
                }
        view.close()
    assert {(name, slice_) for _, name, slice_ in groups.placed(times)} == hudi
    assert any(groups.misplaced(times)) >= each.is_refused


def test_ingestion_is_refused_before_its_rows_would_be_lost(made: dict[str, History], lake: Any) -> None:
    placed(made["compacted"], ready(lake), truncated)
    result = refused(lake, Service.INGESTION)
    compaction = made["compacted"].instants["compaction"]
    assert compaction in result.message
    assert "clean" in result.message


def test_takeover_keeps_its_savepoint_while_slices_are_uncertain(made: dict[str, History], lake: Any) -> None:
    placed(made["updated in a log"], ready(lake), unchanged)
    lake.owner = OWNER
    assert serve(lake, Service.ARCHIVAL, SavepointStep.KEEP).savepoint
    compaction = f"{made['updated in a log'].instants['compaction']}.commit"
    moment = timed(made["updated in a log"], truncated)[compaction]
    os.utime(Path(lake.base_path, ".hoodie", compaction), (moment, moment))
    result = serve(lake, Service.CLEANING, SavepointStep.REMOVE)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.FILE_SLICES_UNCERTAIN), result
    assert list(Path(lake.base_path, ".hoodie").glob("*.savepoint"))


def test_upgrade_is_refused_because_it_would_write_the_times_down(made: dict[str, History], lake: Any) -> None:
    placed(made["updated in a log"], ready(lake), truncated)
    before = data_files(lake)
    result = operate(lake, None, UPGRADE, version=9)
    assert result.outcome is Outcome.FAILED, result
    assert data_files(lake) == before


@pytest.mark.parametrize("refuses", [True, False] if ALL else [True])
def test_zone_of_the_writer_is_no_doubt(refuses: bool, made: dict[str, History], lake: Any) -> None:
    def in_tokyo(times: Times, history: History) -> None:
        (truncated if refuses else whole_seconds)(times, history)
        for name in times:
            times[name] -= TOKYO

    placed(made["updated in a log"], ready(lake), in_tokyo)
    properties = Path(lake.base_path, ".hoodie/hoodie.properties")
    lines = [line for line in properties.read_text().splitlines() if "timeline.timezone" not in line]
    properties.write_text("\n".join([*lines, "hoodie.table.timeline.timezone=LOCAL", ""]))
    properties.with_name(".hoodie.properties.crc").unlink(missing_ok=True)
    lake.spec |= {"timelineTimeZone": "Asia/Tokyo"}
    if refuses:
        refused(lake, Service.CLEANING)
    else:
        assert lake.serve(Service.CLEANING).outcome is not Outcome.FAILED
        assert read(lake) == made["updated in a log"].rows
    with clock._generating_in(lake.spark, "UTC", "UTC"):
        pass  # the JVM forgets what it made nine hours ahead


@pytest.mark.parametrize(("change", "history"), [(truncated, "updated in a log"), (copied, "updated in a base file")])
def test_s3_gives_whole_seconds_and_new_times_to_copies(
    change: Any, history: str, made: dict[str, History], lake: Any, s3: Any
) -> None:
    """moto gives each object the time of its upload; of the compaction within a second that is set afterwards."""
    bucket = f"slices-{random.randrange(10**9)}"
    s3.create_bucket(Bucket=bucket)
    table = made[history].folder
    for path in sorted(table.rglob("*")):
        if path.is_file() and not path.name.endswith(".crc"):
            s3.upload_file(str(path), bucket, f"table/{path.relative_to(table)}")
    if change is truncated:
        set_times(bucket, made[history])
    ready(lake).use_store(bucket, s3.meta.endpoint_url)
    before = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix="table/")["Contents"]]
    result = lake.serve(Service.CLEANING)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.FILE_SLICES_UNCERTAIN), result
    after = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix="table/")["Contents"]]
    assert {key for key in before if ".hoodie/" not in key} == {key for key in after if ".hoodie/" not in key}


def test_write_waits_for_a_store_whose_clock_is_ahead(made: dict[str, History], lake: Any) -> None:
    placed(made["compacted"], ready(lake), ahead)
    before = data_files(lake)
    for result in (lake.drive(ingested(lake)), lake.serve(Service.CLEANING)):
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.CLOCK_BEHIND), result
    assert "clock of its store" in result.message
    assert data_files(lake) == before


def test_our_compaction_completes_after_the_second_of_its_request(
    made: dict[str, History], lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store with whole seconds is one whose time is up to a second behind."""
    placed(made["planned"], ready(lake), unchanged)
    instant = made["planned"].instants["compaction"]
    behind = datetime.fromtimestamp(at(instant) - 0.4, UTC)
    text = f"{behind:%Y%m%d%H%M%S}{behind.microsecond // 1000:03}"
    waited: list[float] = []
    monkeypatch.setattr(HudiTable, "times_of_pending", lambda *_: {instant: text})
    monkeypatch.setattr(time, "sleep", waited.append)
    assert lake.serve(Service.COMPACTION, instant=instant).outcome is Outcome.SUCCEEDED
    assert 0.4 <= waited[-1] <= 1.4


@IN_FULL
@pytest.mark.matrix
def test_0_15_0_cleans_the_doubt_away(lake: Any) -> None:
    """What the message advises: with one version of each file, no time decides anything."""
    table = Path(ready(lake).base_path)
    options = {
        **COMPACTED_ELSEWHERE,
        "hoodie.table.name": "flights",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.clean.automatic": "false",
    }
    one_version = {"policy": "KEEP_LATEST_FILE_VERSIONS", "fileversions.retained": "1"}
    columns = "id string, v int, ts long"
    rows = {f"k{number:02}": 0 for number in range(20)}
    with Writer("0.15.0") as writer:

        def write(value: int, keys: list[str]) -> None:
            writer.upsert(table, [(key, value, value) for key in keys], columns=columns, options=options)
            rows.update(dict.fromkeys(keys, value))

        write(1, [*rows])
        write(2, [*rows][:10])
        instant = str(writer.schedule(table, "compaction", options))
        writer.service(table, "compact", instant, options)
        write(3, [*rows][:6])
        os.utime(table / f".hoodie/{instant}.commit", (int(at(instant)), int(at(instant))))
        assert dict(writer.rows(table, "id", "v")) == rows
        wrong = read(lake)
        assert sum(wrong[key] != rows[key] for key in rows) == 6
        result = refused(lake, Service.CLEANING)
        assert all(f"hoodie.cleaner.{key}={value}" in result.message for key, value in one_version.items())

        told = {f"hoodie.cleaner.{key}": value for key, value in one_version.items()}
        writer.service(table, "clean", options={**options, **told})
        assert read(lake) == dict(writer.rows(table, "id", "v")) == rows
        for service in (Service.COMPACTION, Service.CLEANING):
            assert lake.serve(service).outcome is not Outcome.FAILED
            assert read(lake) == dict(writer.rows(table, "id", "v")) == rows


def test_dead_compaction_of_a_copy_is_finished_with_every_row(made: dict[str, History], lake: Any) -> None:
    """Hudi rolls an inflight compaction back by names before it begins anew."""
    history = made["planned"]
    placed(history, ready(lake), copied)
    Path(lake.base_path, ".hoodie", f"{history.instants['compaction']}.compaction.inflight").touch()
    result = lake.serve(Service.COMPACTION, instant=history.instants["compaction"])
    assert result.outcome is Outcome.SUCCEEDED, result
    assert read(lake) == history.rows
