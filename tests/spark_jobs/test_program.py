"""The driver as a program: its exit code, its outcome document, its log, and how it ends when it has to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import FailureReason, JobRequest, OtherSource, Outcome, RunUsage, Service
from hudi_jobs.driver import Driver
from hudi_jobs.spark.jvm import classes, hadoop_configuration

pytestmark = [pytest.mark.spark, pytest.mark.slow]

GOOD = "id,carrier\n1,AA\n2,UA\n"


def test_a_good_run_ends_with_zero_and_a_log_of_json_lines(lake: Any, program: Callable[..., Any]) -> None:
    lake.put("a.csv", GOOD)
    secret = "do-not-show-this-9f2"
    run = program(lake.request(conf={"spark.hadoop.fs.s3a.secret.key": secret}), AWS_SECRET_ACCESS_KEY="nor-this-4711")

    outcome = run.finish()

    assert (run.process.returncode, outcome.results[0].outcome) == (0, Outcome.SUCCEEDED)
    lines = [json.loads(line) for line in run.log.splitlines() if line.startswith("{")]
    assert [line["message"] for line in lines][:2] == ["task begins", "reading"]
    (logged,) = (line["outcome"] for line in lines if line["message"] == "outcome")
    assert logged["results"][0]["instant"] == outcome.results[0].instant
    assert outcome.usage is not None
    assert RunUsage.model_validate(lines[-1]["usage"]) == outcome.usage
    assert secret not in run.log
    assert "nor-this-4711" not in run.log


def test_a_request_that_cannot_be_read_is_answered(program: Callable[..., Any]) -> None:
    run = program('{"run": "r", "tasks": []}')
    outcome = run.finish()
    result = outcome.results[0]
    assert (run.process.returncode, result.reason) == (1, FailureReason.INVALID_REQUEST)
    assert "tasks" in result.message
    assert outcome.usage is not None
    assert outcome.usage.executors is None


def test_a_new_driver_may_begin_with_the_compaction_of_the_metadata_table(
    lake: Any, program: Callable[..., Any]
) -> None:
    def compactions() -> list[Path]:
        return list(lake.folder.glob("table/.hoodie/metadata/.hoodie/timeline/*.commit"))

    lake.metadata_table = True
    options = lake.hudi_options(Service.INGESTION)
    for number in range(8):
        rows = lake.spark.sql(f"SELECT '{number}' AS id, 'AA' AS carrier")
        rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    assert not compactions()
    lake.put("8.csv", "id,carrier\n8,AA\n")
    result = program(lake.request()).finish().results[0]
    assert result.outcome is Outcome.SUCCEEDED, result
    assert compactions()


def test_a_driver_that_runs_out_of_memory_says_so(lake: Any, program: Callable[..., Any]) -> None:
    lake.put("a.csv", GOOD)
    hungry = "SELECT id, repeat(carrier, 900000000) AS much FROM source"
    run = program(lake.request(transformSql=hungry))
    outcome = run.finish()
    result = outcome.results[0]
    assert (run.process.returncode, result.reason) == (1, FailureReason.OUT_OF_MEMORY), result
    assert "more" in result.message
    assert outcome.usage is not None
    assert (outcome.usage.driver is None, outcome.usage.bytes_read) == (False, None)
    assert lake.ingest().outcome is Outcome.SUCCEEDED


def test_a_driver_that_is_asked_to_end_writes_nothing_and_says_so(lake: Any, program: Callable[..., Any]) -> None:
    lake.put("a.csv", GOOD)
    endless = "SELECT source.id, count(*) AS n FROM source, range(1000000000000L) GROUP BY source.id"
    run = program(lake.request(transformSql=endless))
    run.wait_until(lambda: '"message": "reading"' in run.log)
    run.process.terminate()
    result = run.finish().results[0]
    assert (run.process.returncode, result.reason) == (1, FailureReason.INTERRUPTED), result
    assert not (lake.folder / "table" / ".hoodie").exists()
    assert lake.ingest().outcome is Outcome.SUCCEEDED


def test_a_failed_task_neither_fails_its_neighbours_nor_is_hidden_by_them(lake: Any) -> None:
    lake.put("a.csv", GOOD)
    good = lake.request().tasks[0]
    unknown = good.ingestion.copy_with(source=OtherSource(kind="unheard"))
    bad = good.copy_with(id="bad", ingestion=unknown)
    request = JobRequest(run="many", tasks=(bad, good, good.copy_with(id="again")))

    told = Driver(request, lambda _: lake.spark).run()

    assert len(told.results) == 3
    expected = {
        "bad": (Outcome.FAILED, FailureReason.INVALID_REQUEST),
        "flights": (Outcome.SUCCEEDED, None),
        "again": (Outcome.NOTHING_TO_DO, None),
    }
    for task, ended in expected.items():
        result = told.result_of(task)
        assert result is not None
        assert (result.id, result.outcome, result.reason) == (task, *ended)


def test_settings_sent_by_hadoop_with_every_stage_are_no_more_than_needed(lake: Any, s3: Any) -> None:
    s3.create_bucket(Bucket="used")
    lake.use_store("used", s3.meta.endpoint_url)
    settings = hadoop_configuration(lake.spark)
    root = classes(lake.spark).org.apache.hadoop.fs.Path(f"{lake.root}/")
    assert root.getFileSystem(settings).getFileStatus(root).isDirectory()
    assert settings.getPropertySources("fs.s3a.impl") is None
    assert settings.get("mapreduce.outputcommitter.factory.scheme.s3a")
    assert not settings.getPropsWithPrefix("yarn.")
