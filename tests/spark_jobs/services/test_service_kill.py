"""A driver of a table service that dies at any moment: the next run finishes or rolls back, and no row is touched."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, IN_FULL

from hudi_jobs.contract import Outcome, Service
from hudi_jobs.table import HudiTable

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

PHASES = {"planned", "after-commit"}
EVERY_MOMENT = ("planned", "inflight", "writing", "committing", "after-commit")


@pytest.mark.parametrize(
    ("service", "moments"),
    [
        (Service.COMPACTION, EVERY_MOMENT if ALL else ("writing",)),
        pytest.param(Service.CLEANING, ("requested", "inflight", "after-commit"), marks=IN_FULL),
        pytest.param(Service.CLUSTERING, EVERY_MOMENT, marks=IN_FULL),
    ],
)
def test_the_next_run_settles_what_a_killed_driver_left(
    trial: Callable[[Service, str], Any], program: Callable[..., Any], service: Service, moments: tuple[str, ...]
) -> None:
    table = trial(service, "local")
    for number, moment in enumerate(moments):
        if number:
            table.write()
        kill_at(moment, table, program)

        result = table.lake.serve(service)

        expected = Outcome.NOTHING_TO_DO if moment == "after-commit" else Outcome.SUCCEEDED
        assert result.outcome is expected, (moment, result)
        assert table.found() == table.expected, moment
        assert len(table.completed()) == number + 1, moment
        assert table.lake.serve(service).outcome is Outcome.NOTHING_TO_DO


def kill_at(moment: str, table: Any, program: Callable[..., Any]) -> None:
    table.instant = ""
    if moment in PHASES:
        running = table.start(program, moment, HUDI_JOB_PAUSE_AT=moment)
        running.wait_until(running.has_stopped)
    else:
        if table.service is not Service.CLEANING:
            table.plan()
        before = len(table.names(".hoodie/timeline"))
        running = table.start(program, moment)
        running.wait_until(lambda: len(table.names(".hoodie/timeline")) > before and table.has_reached(moment))
    running.kill()


@IN_FULL
def test_a_killed_archival_is_finished_by_the_next(lake: Any, program: Callable[..., Any]) -> None:
    lake.spec = {"cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    commits = 12 if lake.metadata_table else 6  # nothing is archived that a metadata table has not taken in
    options = lake.hudi_options(Service.INGESTION)
    for number in range(commits):
        rows = lake.spark.sql(f"SELECT 'a' AS id, {number} AS v")
        rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    archive = lake.folder / "table/.hoodie/timeline/history"
    running = program(lake.service_request(Service.ARCHIVAL))
    running.wait_until(lambda: any(archive.glob("*.parquet")))
    running.kill()

    result = lake.serve(Service.ARCHIVAL)

    assert result.outcome is Outcome.SUCCEEDED, result
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    history = table.meta.getArchivedTimeline().getCommitsTimeline().filterCompletedInstants().getInstants()
    archived = [str(instant.requestedTime()) for instant in history]
    active = [commit.instant for commit in table.commits()]
    assert len(active) < commits
    assert sorted(archived + active) == sorted({*archived, *active})
    assert len(archived + active) == commits
    assert lake.rows("v") == [(commits - 1,)]


@IN_FULL
@pytest.mark.parametrize("service", [Service.COMPACTION, Service.CLUSTERING, Service.CLEANING])
def test_a_dead_write_is_rolled_back_before_a_service_runs(
    trial: Callable[[Service, str], Any], program: Callable[..., Any], service: Service
) -> None:
    table = trial(service, "local")
    lake = table.lake
    lake.put("big.csv", "id,v\n" + "".join(f"new{number},1\n" for number in range(5_000)))
    schema = {"files": {"schemaDdl": "id STRING, v INT"}}
    writer = program(lake.request(**schema))
    writer.wait_until(lambda: any(name.endswith("commit.inflight") for name in dead(table)) and half_written(table))
    writer.kill()

    result = lake.serve(service)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert table.found() == table.expected
    assert not dead(table)
    assert lake.ingest(**schema).outcome is Outcome.SUCCEEDED
    assert table.found()[0] == table.expected[0] + 5_000


def dead(table: Any) -> list[str]:
    """Files of writes that have begun and not completed."""
    names = table.names(".hoodie/timeline")
    done = {name.partition("_")[0] for name in names if "_" in name}
    writes = [name for name in names if name.endswith((".deltacommit.inflight", ".inflight")) and "_" not in name]
    return [f"{name.partition('.')[0]}.commit.inflight" for name in writes if name.partition(".")[0] not in done]


def half_written(table: Any) -> bool:
    time = dead(table)[0].partition(".")[0]
    return any(time in name for name in table.names(""))
