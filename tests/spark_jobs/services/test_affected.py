"""What runs do to instants that they did not begin is in their results, whoever did it: the driver or Hudi itself."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.spark_jobs.services.test_services import add, csv, fill
from tests.spark_jobs.tables.test_other_tools import OPTIMISTIC, SMALL, Other, exact, serve, share

from hudi_jobs.contract import Outcome, Service, TaskResult
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

Tool = Callable[[], Other]


@pytest.fixture
def tool(lake: Any) -> Iterator[Tool]:
    """Start a client of another tool on the table as it is then."""
    with ExitStack() as stack:

        def start() -> Other:
            options = lake.service_request(Service.COMPACTION).tasks[0].hudi_options
            return Other(lake, stack.enter_context(write_client(lake.spark, lake.base_path, options)))

        yield start


def affected(result: TaskResult) -> list[tuple[str, str, str]]:
    return [(one.effect.value, one.action, one.instant) for one in result.affected]


def dead_write(other: Other) -> str:
    instant = str(other.hudi.startCommit())
    other.hudi.getHeartbeatClient().stop(instant)
    return instant


def test_a_table_service_tells_what_it_rolled_back_and_planned_anew(lake: Any, tool: Tool) -> None:
    lake.spec |= SMALL
    add(lake, 3)
    other = tool()
    plan = other.plan("clustering")
    other.write_clustering()
    dead = dead_write(tool())
    done = lake.serve(Service.CLUSTERING)
    assert done.outcome is Outcome.SUCCEEDED, done
    assert affected(done) == [("Replanned", "clustering", plan), ("RolledBack", "commit", dead)]
    exact(lake, 300)


def test_an_ingestion_tells_what_it_rolled_back_before_it_wrote(lake: Any, tool: Tool) -> None:
    fill(lake, 2)
    dead = dead_write(tool())
    lake.put("more.csv", csv(0, 100, 9), at=10)
    done = lake.ingest()
    assert done.outcome is Outcome.SUCCEEDED, done
    assert affected(done) == [("RolledBack", "commit", dead)]
    assert affected(lake.ingest()) == []


def test_finished_instant_is_reported_with_the_run_that_had_planned_it(lake: Any, tool: Tool) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    plan = tool().plan("compaction")
    assert affected(lake.serve(Service.COMPACTION)) == [("Finished", "compaction", plan)]
    fill(lake, 3, first=10)
    own = lake.serve(Service.COMPACTION, run="compact-1", mode="Schedule").instant
    (one,) = lake.serve(Service.COMPACTION).affected
    assert (one.effect, one.instant, one.run) == ("Finished", own, "compact-1")


def test_a_pending_clean_of_another_tool_that_is_finished_is_reported(lake: Any, tool: Tool) -> None:
    lake.spec |= {"cleaning": {"retainCommits": 1}}
    fill(lake, 3)
    clean = tool().plan_clean()
    assert affected(lake.serve(Service.CLEANING)) == [("Finished", "clean", clean)]


def test_a_run_that_fails_tells_what_it_did_before(lake: Any, tool: Tool) -> None:
    fill(lake, 2)
    dead = dead_write(tool())
    lake.put("more.csv", csv(0, 100, 9), at=10)
    failed = lake.drive(_with_options(lake, {"hoodie.upsert.shuffle.parallelism": "many"}))
    assert failed.outcome is Outcome.FAILED, failed
    assert affected(failed) == [("RolledBack", "commit", dead)]


def _with_options(lake: Any, options: dict[str, str]) -> Any:
    request = lake.request()
    (task,) = request.tasks
    changed = task.copy_with(hudi_options=task.hudi_options | options)
    return request.copy_with(tasks=(changed,))


def test_beside_others_only_what_was_abandoned_is_reported(lake: Any, tool: Tool) -> None:
    """What another tool ends itself in the meantime is its own doing."""
    lake.spec |= SMALL
    add(lake, 3)
    share(lake)
    plan = tool().plan("clustering")
    dead = dead_write(tool())
    assert affected(serve(lake, Service.CLUSTERING)) == []
    done = lake.serve(Service.CLUSTERING, concurrency=OPTIMISTIC, mode="Execute", instant=plan, abandoned=(plan, dead))
    assert affected(done) == [("Replanned", "clustering", plan), ("RolledBack", "commit", dead)]
    exact(lake, 300)
