"""An Optimistic table that another tool writes too: nobody loses a row, whatever becomes of the lock."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from tests.e2e.operation import Operation
from tests.e2e.processes import find_process
from tests.e2e.shared_writer import ForeignWriter
from tests.e2e.stage import METADATA_TABLE, PATIENCE, Document, Stage, Table, condition_of
from tests.e2e.time_travel import NOW, read_at
from tests.spark_jobs.trials import IN_FULL
from tests.spark_jobs.writers.foreign_writer import KEYS, Report, rows_after

from toolkit.zookeeper import ADDRESS, ZooKeeper

pytestmark = pytest.mark.e2e

SECONDS = float(os.environ.get("HUDI_JOBS_WRITER_SECONDS", "30"))
"""How long the writer writes at least, from its first batch on."""

SERVICES = ("Compaction", "Clustering", "Cleaning")
FIRST = ("first", 0)
"""The row that the operator's own ingestion brings."""


@pytest.fixture(scope="module")
def zookeeper(stage: Stage) -> Iterator[ZooKeeper]:
    """A ZooKeeper that does not run yet."""
    server = ZooKeeper(stage.cluster)
    server.remove()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def table(stage: Stage, zookeeper: ZooKeeper) -> Table:  # noqa: ARG001 - it must not run yet
    """A table with every service, and a file for its own ingestion."""
    name = stage.make_class(
        "e2e-shared",
        operations={"allowed": ["Restore", "Erase"], "reportPath": "s3a://landing/{namespace}/reports"},
    )
    table = stage.tenant("shared").table(
        "shared",
        tableClassName=name,
        type="MergeOnRead",
        metadataTable=METADATA_TABLE,
        partitionBy=["part"],
        source={"columns": "id STRING, v INT, part STRING"},
        ingestion={"operation": "Upsert"},
        concurrency={"mode": "Optimistic", "lock": {"zookeeper": {"connect": ADDRESS}}, "lockKey": "shared"},
        compaction={"trigger": {"deltaCommits": 3}},
        clustering={
            "mode": "Async",
            "trigger": {"commits": 4},
            # Of the partition that is written to all the time a clustering would lose nearly each time.
            "plan": {"strategy": "RecentDays", "partitions": {"skipLatest": 1}},
            "updates": "Allow",
        },
        cleaning={"trigger": {"commits": 3}, "retainCommits": 3},
    )
    stage.store.put(f"{table.landing}/first.csv", b"id,v,part\nfirst,0,p000\n")
    return table


@IN_FULL  # otherwise `tests/spark_jobs/services/test_service_bad_input.py` reaches no lock
def test_a_lock_that_nobody_answers_for_is_reported_and_taken_once_it_is_there(
    table: Table, zookeeper: ZooKeeper
) -> None:
    ready = table.wait_reason("LockUnavailable")
    assert ready["status"] == "False"
    assert ADDRESS in ready["message"]
    assert "Check that it runs" in ready["message"]
    table.wait_event("Warning", "LockUnavailable")
    failed = table.wait(lambda status: _ingestion(status).get("nextAttemptAt"), what="says when it is tried again")
    assert _ingestion(failed)["infrastructureFailures"] >= 1
    assert not _ingestion(failed).get("failures")
    assert table.commits() == []

    zookeeper.start()
    status = table.wait_ready()
    assert not condition_of(status, "Stalled")
    assert not condition_of(status, "Reconciling")
    assert _ingestion(status)["lastRun"]["outcome"] == "Succeeded"
    lost = [run for run in status["history"] if run["outcome"] != "Succeeded"]
    assert {run["reason"] for run in lost} == {"LockUnavailable"}
    assert len(table.jobs()) == len(status["history"]), "one Job for each attempt that status knows of"


@IN_FULL  # otherwise `tests/spark_jobs/writers/test_optimistic.py` has such a writer, without pods
def test_a_writer_of_another_tool_loses_no_row_beside_the_services(
    stage: Stage, table: Table, zookeeper: ZooKeeper, record_testsuite_property: Callable[[str, object], None]
) -> None:
    zookeeper.start()
    table.wait_ready()
    writer = ForeignWriter(table, ADDRESS)
    writer.await_batches(1)
    begun = time.monotonic()
    restart(stage, zookeeper)
    runs: dict[str, Document] = {}

    def has_served() -> bool:
        runs.update({run["job"]: run for run in table.status()["history"]})
        done = {run["service"] for run in runs.values() if run["outcome"] == "Succeeded"}
        return time.monotonic() - begun > SECONDS and done.issuperset(SERVICES)

    def explain() -> str:
        return f"{table.explain()}\n---\n{writer.explain()}"

    stage.eventually(has_served, what="every service has run", seconds=SECONDS + 2 * PATIENCE, pause=2, explain=explain)
    reports = writer.end()
    table.patch({"spec": {"suspend": True}})
    status = table.wait(is_still(table.document()["metadata"]["generation"]), what="nothing runs any more")
    runs.update({run["job"]: run for run in status["history"]})
    found = read_at(table, table.commits(), "id", "v")

    story = tell(reports, runs.values(), read=len(found) - 1)
    record_testsuite_property("a writer beside the services", story)
    print(story)  # noqa: T201 - how often each side lost
    assert not condition_of(status, "Stalled")
    assert {run["reason"] for run in runs.values() if run["outcome"] == "Failed"} <= {"LockUnavailable"}
    assert [report.wrong for report in reports] == [0] * len(reports), "after each commit of the writer"
    assert_exact_at_every_instant(found, reports)


@IN_FULL
def test_shared_table_is_restored_once_its_owner_confirms_that_nobody_else_writes(table: Table) -> None:
    target = table.commits()[-2]
    reference = read_at(table, [target], "id", "v")
    restore = {"instant": target, "newerSavepoints": "Remove"}
    unsaid, back, forget = (Operation(table, name) for name in ("unsaid", "back", "forget"))
    unsaid.apply(restore=restore)
    assert unsaid.wait("Failed")["reason"] == "OtherWriters"
    assert read_at(table, [], "id", "v")[NOW] == reference[NOW]

    back.apply(restore=restore, acceptOtherWriters=True)
    assert back.wait("Succeeded")["report"]["verified"] is True
    rows = read_at(table, [], "id", "v")[NOW]
    assert rows == reference[target]

    (gone,) = {row for row in rows if row[0] == "7"}
    forget.apply(erase={"keys": [{"id": gone[0]}]}, acceptOtherWriters=True)
    assert forget.wait("Succeeded")["report"]["verified"] is True
    assert read_at(table, [], "id", "v")[NOW] == rows - Counter([gone])

    table.stage.store.put(f"{table.landing}/second.csv", b"id,v,part\nsecond,0,p000\n")
    table.patch({"spec": {"suspend": False}})
    assert table.ingest_now()["outcome"] == "Succeeded"
    assert read_at(table, [], "id", "v")[NOW] == rows - Counter([gone]) + Counter([("second", 0)])


def is_still(generation: int) -> Callable[[Document], bool]:
    """Whether nothing runs, and the operator has seen this generation of the spec, which lets nothing start."""
    return lambda status: status["observedGeneration"] == generation and not status.get("activeJobs")


def restart(stage: Stage, zookeeper: ZooKeeper) -> None:
    """Kill the server's process; Kubernetes starts it again, with what it had written."""
    pod = zookeeper.pod()
    process = find_process(pod, "java")
    if process is None:
        return  # the pod runs on another machine
    os.kill(process, signal.SIGKILL)
    before = pod["status"]["containerStatuses"][0]["restartCount"]
    stage.eventually(
        lambda: zookeeper.pod()["status"]["containerStatuses"][0]["restartCount"] > before,
        what="ZooKeeper is started again",
    )


def assert_exact_at_every_instant(found: dict[str, Counter[tuple[Any, ...]]], reports: list[Report]) -> None:
    """Each row that was acknowledged by an instant is there at that instant, once, with its value of then."""
    assert found.pop(NOW) == rows_after(len(reports)) + Counter([FIRST])
    for instant, rows in found.items():
        acknowledged = sum(report.instant <= instant for report in reports)
        # One more where a write that failed, and was made again, had committed before.
        batches = len(rows) // KEYS
        assert acknowledged <= batches <= acknowledged + 1, instant
        assert rows == rows_after(batches) + Counter([FIRST]), instant
    # A write that failed stays in the timeline until its heartbeat is over, and Hudi reads as of no instant after it.
    assert found or reports[-1].failures


def tell(reports: list[Report], runs: Iterable[Document], *, read: int) -> str:
    """How often each side won and lost, and as of how many instants the table could be read."""
    ended = Counter(" ".join(filter(None, (run["service"], run["outcome"], run.get("reason")))) for run in runs)
    writer = {"batches": len(reports), "failed writes": reports[-1].failures}
    return json.dumps(writer | {"runs": ended, "instants read": read})


def _ingestion(status: Document) -> Document:
    return dict(status["services"]["ingestion"])
