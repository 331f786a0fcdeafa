"""What a run reports of its use: processor time, memory, and the bytes that its driver and executors moved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from hudi_jobs.contract import DriverUsage, ExecutorsUsage, Outcome, RunUsage
from hudi_jobs.usage.run_usage import run_usage, with_counts, with_usage_plugin
from toolkit.spark_home import java_options

pytestmark = pytest.mark.spark

ROWS = "".join(f"{number},{number:030}\n" for number in range(5_000))
ALONE = RunUsage(driver=DriverUsage(cpu_seconds=2.5, peak_memory_bytes=1000))


def test_driver_without_executors_adds_the_bytes_of_its_jvm() -> None:
    assert with_counts(ALONE, lambda: ("10 20", None)) == ALONE.copy_with(bytes_read=10, bytes_written=20)
    assert with_counts(None, lambda: ("10 20", None)) == RunUsage(bytes_read=10, bytes_written=20)


@pytest.mark.parametrize(("peak", "expected"), [(700, 700), (-1, None)])
def test_bytes_of_driver_and_executors_are_added(peak: int, expected: int | None) -> None:
    executors = ExecutorsUsage(number=3, reported=2, cpu_seconds=61.235, peak_memory_bytes=expected)
    found = with_counts(ALONE, lambda: ("10 20", f"3 2 61234567890 {peak} 100 200"))
    assert found == ALONE.copy_with(executors=executors, bytes_read=110, bytes_written=220)


@pytest.mark.parametrize(
    "counted",
    [("10", None), ("-1 20", None), (f"{2**61} 0", None), ("10 20", "1 2 0 0 0 0"), ("10 20", "1 1"), ("10 20", "")],
)
def test_counts_of_the_jvm_that_cannot_be_right_leave_the_driver_alone(counted: tuple[str, str | None]) -> None:
    assert with_counts(ALONE, lambda: counted) == ALONE


def test_jvm_that_does_not_answer_leaves_the_driver_alone() -> None:
    def counted() -> tuple[str, str | None]:
        raise Py4JNetworkError("the JVM has ended")

    assert with_counts(ALONE, counted) == ALONE
    assert with_counts(None, counted) is None


@pytest.mark.parametrize("master", ["local", "local[4]", None])
def test_session_without_executors_has_no_plugin(master: str | None) -> None:
    settings = {} if master is None else {"spark.master": master}
    assert with_usage_plugin(settings) == settings


def test_plugins_of_a_class_stay_beside_that_of_the_usage() -> None:
    settings = {"spark.master": "k8s://https://kubernetes.default.svc"}
    ours = "io.hudioperator.usage.UsagePlugin"
    assert with_usage_plugin(settings) == settings | {"spark.plugins": ours}
    assert with_usage_plugin(settings | {"spark.plugins": "a.B"})["spark.plugins"] == f"{ours},a.B"


def test_session_without_executors_counts_the_bytes_of_its_jvm(lake: Any) -> None:
    before = run_usage(lake.spark)
    lake.put("a.csv", f"id,carrier\n{ROWS}")
    lake.spark.read.csv(lake.source).count()
    after = run_usage(lake.spark)
    assert before is not None
    assert after is not None
    assert before.executors is after.executors is None
    assert before.bytes_read is not None
    assert after.bytes_read is not None
    assert after.bytes_read - before.bytes_read >= len(ROWS)


@pytest.mark.slow
def test_run_with_an_executor_reports_what_both_used(
    lake: Any, s3: Any, program: Callable[..., Any], tmp_path: Path, installed_spark: Path
) -> None:
    s3.create_bucket(Bucket="usage")
    conf = lake.use_store("usage", s3.meta.endpoint_url)
    s3.put_object(Bucket="usage", Key="in/a.csv", Body=f"id,carrier\n{ROWS}".encode())
    conf |= {"spark.master": "local-cluster[1,1,700]", "spark.executor.memory": "700m"}
    conf |= {"spark.executor.extraJavaOptions": java_options(installed_spark)}
    # Executors of a local cluster write their logs below Spark's home.
    home = tmp_path / "home"
    home.mkdir()
    for part in ("bin", "jars", "lib", "python"):
        (home / part).symlink_to(installed_spark / part)

    run = program(lake.request(conf=conf), SPARK_HOME=str(home))
    outcome = run.finish()

    assert outcome.results[0].outcome is Outcome.SUCCEEDED, outcome
    usage = outcome.usage
    assert usage is not None
    assert usage.driver is not None
    assert usage.executors is not None
    assert (usage.executors.number, usage.executors.reported) == (1, 1)
    assert 1 < usage.executors.cpu_seconds < usage.driver.cpu_seconds < 200, "the executor is a child of the driver"
    for peak in (usage.driver.peak_memory_bytes, usage.executors.peak_memory_bytes):
        assert peak is not None
        assert 2**27 < peak < 2**34
    objects = s3.list_objects_v2(Bucket="usage", Prefix="table/")["Contents"]
    stored = sum(one["Size"] for one in objects if ".hudi-operator/" not in one["Key"])
    assert usage.bytes_read is not None
    assert usage.bytes_written is not None
    assert len(ROWS) <= usage.bytes_read < 3 * len(ROWS)
    assert stored <= usage.bytes_written < 1.5 * stored
    assert f'"cpuSeconds": {usage.executors.cpu_seconds}' in run.log
