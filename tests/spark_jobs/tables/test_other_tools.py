"""Beside another tool: what it is at work on is left alone by every service, and what it has left is dealt with.

The other tool is a write client of Hudi's own that is held between its steps, with no notes of the operator.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from tests.planning.world import OPERATOR, UID, active, job, observe, plan_for, run, status, table
from tests.spark_jobs.services.test_services import add, csv, fill, timeline

from hudi_jobs.contract import RUN_KEY, ConcurrencyMode, Location, Outcome, RunMode, Service, TableOwner, TaskResult
from hudi_jobs.spark.jvm import java_objects
from hudi_jobs.table_services.client import WriteClient, _method, write_client
from hudi_operator.api.status.timeline import TimelineStatus
from hudi_operator.control.snapshots.reading import NO_QUESTIONS, read_snapshot
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
"""Enough where all writers of a test are in one JVM."""
OPTIMISTIC = ConcurrencyMode.OPTIMISTIC
SMALL = {"clustering": {"plan": {"smallFileLimit": "100Mi", "targetFileSize": "200Mi"}}}


class Other:
    """A write client of another tool."""

    def __init__(self, lake: Any, client: WriteClient) -> None:
        self.lake = lake
        self.hudi = client._client
        self._client = client

    def plan(self, service: str) -> str:
        """Make a plan that names no run, and do nothing more."""
        schedule = {"clustering": self._client.schedule_clustering, "compaction": self._client.schedule_compaction}
        self.instant = str(schedule[service]({}))
        return self.instant

    def write_clustering(self) -> None:
        """Write the files of the plan, up to the moment before the commit."""
        self._written = self.hudi.cluster(self.instant, False)

    def commit_clustering(self) -> None:
        """Complete it, as the tool does when nothing has happened."""
        services = self.hudi.getTableServiceClient()
        arguments = java_objects(self.lake.spark, self._written, self._client._table(), self.instant)
        _method(services, "commitClustering").invoke(services, arguments)

    def plan_clean(self) -> str:
        services = self.hudi.getTableServiceClient()
        none = self.lake.spark._jvm.org.apache.hudi.common.util.Option.empty()
        arguments = java_objects(self.lake.spark, self._client._table(), none)
        return str(_method(services, "scheduleCleaning").invoke(services, arguments).get())


@pytest.fixture
def other(lake: Any) -> Iterator[Any]:
    """Start a client of another tool on the table as it is then."""
    with ExitStack() as stack:

        def start() -> Other:
            options = lake.service_request(Service.COMPACTION).tasks[0].hudi_options
            return Other(lake, stack.enter_context(write_client(lake.spark, lake.base_path, options)))

        yield start


def share(lake: Any) -> None:
    """Let others write to the table too, under a lock."""
    lake.spec |= {"concurrency": {"mode": "Optimistic"}}
    lake.options = LOCK


def serve(lake: Any, service: Service, *, abandoned: tuple[str, ...] = (), **changes: Any) -> TaskResult:
    result: TaskResult = lake.serve(service, concurrency=OPTIMISTIC, abandoned=abandoned, **changes)
    assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
    return result


def exact(lake: Any, rows: int) -> None:
    lake.spark.catalog.clearCache()
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    assert tuple(frame.selectExpr("count(*)", "count(DISTINCT id)").first()) == (rows, rows)


def names(lake: Any, instant: str) -> set[str]:
    return {path.name.partition(".")[2] for path in timeline(lake).glob(f"{instant}*") if path.name[0] != "."}


def test_a_clustering_that_another_tool_is_at_work_on_is_left_alone_by_every_service(lake: Any, other: Any) -> None:
    lake.spec |= SMALL
    add(lake, 3)
    share(lake)
    tool = other()
    tool.plan("clustering")
    tool.write_clustering()

    for service in (Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL):
        serve(lake, service)
        exact(lake, 300)
    asked = serve(lake, Service.CLUSTERING, mode=RunMode.EXECUTE, instant=tool.instant)
    removed = serve(lake, Service.CLUSTERING, mode=RunMode.ROLL_BACK, instant=tool.instant)
    assert {asked.outcome, removed.outcome} == {Outcome.NOTHING_TO_DO}
    assert "belongs to another tool, which may be at work" in asked.message
    assert names(lake, tool.instant) == {"clustering.requested", "clustering.inflight"}

    tool.commit_clustering()
    exact(lake, 300)
    assert list(timeline(lake).glob(f"{tool.instant}_*.replacecommit"))


@pytest.mark.parametrize("begun", [True, False])
def test_a_clustering_that_another_tool_has_left_is_replaced_and_can_never_complete(
    lake: Any, other: Any, *, begun: bool
) -> None:
    lake.spec |= SMALL
    add(lake, 3)
    share(lake)
    tool = other()
    tool.plan("clustering")
    if begun:
        tool.write_clustering()
    done = serve(lake, Service.CLUSTERING, mode=RunMode.EXECUTE, instant=tool.instant, abandoned=(tool.instant,))
    assert done.outcome is Outcome.SUCCEEDED
    assert done.instant != tool.instant
    assert f"The clustering {tool.instant} of another tool was rolled back." in done.message
    exact(lake, 300)
    with pytest.raises(Py4JJavaError):
        tool.commit_clustering() if begun else tool.write_clustering()
    exact(lake, 300)


def test_a_clustering_of_a_service_that_is_off_is_removed_and_no_other_is_planned(lake: Any) -> None:
    lake.spec |= SMALL
    add(lake, 3)
    planned = lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)
    removed = lake.serve(Service.CLUSTERING, mode=RunMode.ROLL_BACK, instant=planned.instant, abandoned=())
    assert removed.outcome is Outcome.NOTHING_TO_DO, removed
    assert "was rolled back, and no other was planned" in removed.message
    assert not list(timeline(lake).glob("*.clustering.*"))
    exact(lake, 300)
    lake.put("update.csv", csv(0, 100, 7), at=10)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    exact(lake, 300)


def test_a_compaction_that_another_tool_has_planned_is_executed_only_when_it_is_abandoned(
    lake: Any, other: Any
) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    share(lake)
    instant = other().plan("compaction")
    serve(lake, Service.COMPACTION)
    left = serve(lake, Service.COMPACTION, mode=RunMode.EXECUTE, instant=instant)
    assert left.outcome is Outcome.NOTHING_TO_DO
    assert names(lake, instant) == {"compaction.requested"}
    done = serve(lake, Service.COMPACTION, mode=RunMode.EXECUTE, instant=instant, abandoned=(instant,))
    assert (done.outcome, done.instant) == (Outcome.SUCCEEDED, instant)
    assert lake.rows("v") == [("2",)] * 100


def test_a_write_of_another_tool_is_rolled_back_only_when_it_is_abandoned_and_shows_no_heartbeat(
    lake: Any, other: Any
) -> None:
    lake.spec |= {"cleaning": {"retainCommits": 1}}
    fill(lake, 3)
    share(lake)
    tool = other()
    instant = str(tool.hudi.startCommit())
    beat = lake.folder / "table/.hoodie/.heartbeat" / instant
    assert beat.exists()

    assert serve(lake, Service.CLEANING).outcome is Outcome.SUCCEEDED
    assert serve(lake, Service.CLEANING, abandoned=(instant,)).outcome is Outcome.NOTHING_TO_DO
    assert names(lake, instant), "it shows a heartbeat"
    tool.hudi.getHeartbeatClient().stop(instant)
    assert not beat.exists()
    assert serve(lake, Service.CLEANING).outcome is Outcome.NOTHING_TO_DO
    assert names(lake, instant), "nobody has watched it for long enough"
    assert f"({instant})" in serve(lake, Service.CLEANING, abandoned=(instant,)).message
    assert not names(lake, instant)
    exact(lake, 100)


def test_a_clean_of_another_tool_is_left_alone_until_it_is_abandoned(lake: Any, other: Any) -> None:
    lake.spec |= {"cleaning": {"retainCommits": 1}}
    fill(lake, 3)
    share(lake)
    instant = other().plan_clean()
    left = serve(lake, Service.CLEANING)
    assert left.outcome is Outcome.NOTHING_TO_DO
    assert f"Another tool may be at work on the clean {instant}" in left.message
    assert names(lake, instant) == {"clean.requested"}
    done = serve(lake, Service.CLEANING, abandoned=(instant,))
    assert (done.outcome, done.instant) == (Outcome.SUCCEEDED, instant)
    exact(lake, 100)


def test_alone_no_run_writes_beside_what_nobody_known_has_begun(lake: Any, other: Any) -> None:
    fill(lake, 2)
    instant = str(other().hudi.startCommit())
    lake.put("more.csv", csv(0, 100, 9), at=10)
    before = lake.instants()

    def ingest(*abandoned: str) -> TaskResult:
        request = lake.request()
        (task,) = request.tasks
        result: TaskResult = lake.drive(request.copy_with(tasks=(task.copy_with(abandoned=abandoned),)))
        return result

    for refused in (ingest(), lake.serve(Service.CLEANING, abandoned=())):
        assert refused.outcome is Outcome.CONFLICT, refused
        assert instant in refused.message
    assert lake.instants() == before
    assert names(lake, instant)
    assert ingest(instant).outcome is Outcome.SUCCEEDED
    assert not names(lake, instant)
    assert lake.rows("v") == [("9",)] * 100


def snapshot_of(lake: Any) -> TimelineSnapshot:
    return read_snapshot(TimelineReader(LocalFileSystem()), Location.parse(lake.base_path), NO_QUESTIONS)


def test_service_of_hudi_inside_our_writer_is_not_another_writer(lake: Any) -> None:
    lake.owner = TableOwner(operator=OPERATOR, table_uid=UID, table="team-a/flights")
    lake.table = {"type": "MergeOnRead"}
    lake.options = {
        "hoodie.log.compaction.enable": "true",
        "hoodie.log.compaction.inline": "true",
        "hoodie.log.compaction.blocks.threshold": "1",
    }
    fill(lake, 4)
    found = snapshot_of(lake)
    operations = dict(found.operations)
    unmarked = {operations[one.time] for one in found.unmarked}
    assert "LOG_COMPACT" in unmarked, operations
    assert unmarked <= {"LOG_COMPACT", "CLUSTER", "COMPACT"}

    oldest = min(one.time for one in found.unmarked)
    known = TimelineStatus(verified_up_to=str(int(oldest) - 1))
    now = found.timeline and max(one.time for one in found.timeline.completed)
    running = active(started_at=f"{now[:4]}-{now[4:6]}-{now[6:8]}T00:00:00Z" if now else "")
    ours = tuple(run(job=name, instant=time) for name, time in found.runs)
    one = table(status=status(timeline=known, active_jobs=(running,), history=ours), type="MergeOnRead")
    assert plan_for(observe(one, snapshot=found, jobs=(job(),))).foreign == ()


def test_a_plan_that_hudi_makes_inside_our_writer_names_the_run(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    lake.spec |= {"compaction": {"mode": "Inline", "trigger": {"deltaCommits": 2}}}
    fill(lake, 3)
    reader = TimelineReader(LocalFileSystem())
    seen = reader.read(Location.parse(lake.base_path))
    (compaction,) = [one for one in seen.completed if one.action.value == "commit"]
    plan = reader.read_plan(Location.parse(lake.base_path), seen.properties, compaction)
    assert RUN_KEY in plan.extra_metadata, plan.extra_metadata
    path: Path = timeline(lake)
    next(path.glob(f"{compaction.time}_*.commit")).unlink()
    assert [one.instant.time for one in snapshot_of(lake).planned] == [compaction.time]
