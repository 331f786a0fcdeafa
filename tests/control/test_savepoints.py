"""Savepoints against a cluster in memory: the resource, its table and the Job between them, from beginning to end."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from tests.control.process import RestingTable
from tests.control.test_reconciler import KEY
from tests.planning.savepoints.savepoints import savepoint
from tests.planning.world import IMAGE, NOW, active, done, minutes, observe, status, table
from tests.whole_status import whole

from hudi_jobs.contract import Outcome
from hudi_operator.api.resources import SAVEPOINT_FINALIZER, HudiTable, parse_table
from hudi_operator.api.status.savepoints import SAVEPOINTS_SHOWN
from hudi_operator.control.observation.observer import _questions
from hudi_operator.control.savepoints import SAVEPOINTS
from hudi_operator.jobs.decided_job import JobRefused, build_manifest
from hudi_operator.jobs.resources import build_savepoint
from hudi_operator.kube.keys import savepoint_key
from hudi_operator.planning.model.observation import MOST_RELATED
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.outcome.status.savepoint_status import decide_savepoint

Document = dict[str, Any]
DAILY = savepoint_key("team-a", "daily")
FILES = tuple(done("commit", number) for number in (30, 20, 10))
NEWEST = FILES[-1].partition("_")[0]


class Process(RestingTable):
    """Its table has three commits."""

    def __init__(self, **spec: Any) -> None:
        super().__init__(SAVEPOINTS, **spec)
        self.savepoints = self.resources
        self.holds()

    def holds(self, *more: str) -> None:
        """What the store holds beside the commits."""
        self.shows(*FILES, *more)

    def declare(self, name: str = "daily", **spec: Any) -> None:
        which = {} if "instant" in spec else {"latest": True}
        self.create(name, {"keepForever": True, "comment": "why", **which, **spec})

    async def end_job(self, outcome: Outcome | None = Outcome.SUCCEEDED) -> None:
        """Let the Job begin and end, and the operator see it."""
        self.cluster.kubelet()
        self.cluster.outcome = outcome
        self.cluster.kubelet()
        await self.look()

    def ready(self, name: str = "daily") -> tuple[str, str]:
        (found,) = [one for one in self.savepoints[name]["status"]["conditions"] if one["type"] == "Ready"]
        return found["status"], found["reason"]

    @property
    def requests(self) -> list[Document]:
        """What the Jobs were asked to do."""
        return self.asked("namedSavepoint")


async def test_a_savepoint_is_held_made_told_of_removed_and_let_go() -> None:
    process = Process()
    process.declare()
    await process.work()
    assert process.savepoints["daily"]["metadata"]["finalizers"] == ["hudi-operator.io/savepoint"]
    (made,) = process.requests
    assert made == {
        "work": "Make",
        "instant": NEWEST,
        "resource": "team-a/daily",
        "uid": "uid-of-daily",
        "comment": "why",
        "adopted": False,
    }
    assert process.savepoints["daily"]["status"]["instant"] == NEWEST
    assert process.ready() == ("False", "Running")

    process.holds(f"{NEWEST}_{FILES[-1][18:35]}.savepoint")
    await process.end_job()
    assert process.ready() == ("True", "Kept")
    told = process.savepoints["daily"]["status"]
    assert (told["adopted"], "completedAt" in told, "blocks" in told) == (False, True, True)

    process.cluster.outcome = None
    process.delete("daily")
    await process.work()
    assert [one["work"] for one in process.requests] == ["Make", "Remove"]
    assert "daily" in process.savepoints
    process.holds()
    await process.end_job()
    assert "daily" not in process.savepoints
    assert process.cluster.events[-1][:2] == ("Normal", "SavepointRemoved")


async def test_a_driver_that_dies_does_not_make_the_next_one_keep_another_commit() -> None:
    process = Process()
    process.declare()
    await process.work()
    process.cluster.kubelet()
    (pod,) = process.cluster.pods.values()
    (job,) = process.cluster.jobs.values()
    pod["status"] = {
        "phase": "Failed",
        "containerStatuses": [{"name": "driver", "state": {"terminated": {"exitCode": 137}}}],
    }
    job["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    process.holds(done("commit", 1))
    await process.look()
    process.pass_minutes(2)
    await process.look()
    assert [one["instant"] for one in process.requests] == [NEWEST, NEWEST]


async def test_savepoint_seen_before_its_finalizer_is_made_once_it_has_the_finalizer() -> None:
    process = Process()
    process.declare()
    process.queue.discard(DAILY)  # as where the finalizer is refused at first
    await process.work()
    assert [one["work"] for one in process.requests] == ["Make"]


async def test_existing_savepoint_is_adopted_and_stays_when_its_resource_goes() -> None:
    process = Process()
    process.holds(f"{NEWEST}_{FILES[-1][18:35]}.savepoint")
    process.declare(instant=NEWEST)
    await process.work()
    assert (process.ready(), process.requests) == (("True", "Kept"), [])
    process.delete("daily")
    await process.work()
    assert ("daily" in process.savepoints, process.requests) == (False, [])
    assert process.cluster.events[-1][:2] == ("Normal", "SavepointRetained"), "it was asked for"


async def test_retained_savepoint_is_reported_as_staying() -> None:
    process = Process()
    process.declare(deletionPolicy="Retain")
    await process.work()
    process.delete("daily")
    await process.work()
    assert "daily" not in process.savepoints
    assert process.cluster.events[-1][:2] == ("Normal", "SavepointRetained")


async def test_a_table_that_is_gone_or_goes_does_not_hold_a_savepoint() -> None:
    process = Process()
    process.declare("nowhere", tableRef={"name": "other"})
    await process.work()
    assert process.ready("nowhere") == ("False", "TableNotFound")
    process.delete("nowhere")
    await process.work()
    assert "nowhere" not in process.savepoints
    assert process.cluster.events[-1][:2] == ("Warning", "SavepointRetained")

    process.declare()
    await process.work()
    process.cluster.tables["flights"]["metadata"]["deletionTimestamp"] = format_time(process.cluster.now())
    process.delete("daily")
    process.queue.discard(KEY)
    await process.work()
    assert "daily" not in process.savepoints


async def test_a_suspended_table_holds_it_for_ten_minutes() -> None:
    process = Process()
    process.declare()
    await process.work()
    process.holds(f"{NEWEST}_{FILES[-1][18:35]}.savepoint")
    await process.end_job()
    process.cluster.tables["flights"]["spec"]["suspend"] = True
    process.delete("daily")
    await process.work()
    assert "daily" in process.savepoints
    process.pass_minutes(11)
    await process.look()
    assert "daily" not in process.savepoints
    assert process.cluster.events[-1][:2] == ("Warning", "SavepointRetained")


async def test_unreadable_savepoint_is_reported_and_released() -> None:
    process = Process()
    process.declare(expiresAfter="soon")
    await process.work()
    assert process.ready() == ("False", "InvalidSpec")
    process.savepoints["daily"]["status"] |= {"instant": NEWEST, "completedAt": "2026-03-10T12:00:00Z", "adopted": True}
    process.queue.add(DAILY)
    await process.work()
    kept = process.savepoints["daily"]["status"]
    assert (kept["instant"], kept["completedAt"], kept["adopted"]) == (NEWEST, "2026-03-10T12:00:00Z", True)
    process.savepoints["daily"]["metadata"]["finalizers"] = ["hudi-operator.io/savepoint"]
    process.delete("daily")
    await process.work()
    assert "daily" not in process.savepoints


async def test_a_poisoned_status_of_a_savepoint_is_written_anew() -> None:
    process = Process()
    process.declare()
    process.savepoints["daily"]["status"] = {"conditions": [3, {"type": "x" * 9000}], "instant": ["no"], "blocks": 7}
    await process.work()
    assert process.savepoints["daily"]["status"]["instant"] == NEWEST


@pytest.mark.parametrize("named", [None, {"instant": "abc"}, {"instant": "../../../etc/passwd"}])
def test_no_job_is_built_for_what_the_status_does_not_say_or_makes_no_sense(named: Document | None) -> None:
    whole = None if named is None else {"work": "Remove", "resource": "daily", "uid": "uid-of-daily", **named}
    job = active(service="Savepoint", named_savepoint=whole)
    with pytest.raises(JobRefused, match="savepoint"):
        build_manifest(observe(), job, default_image=IMAGE)


def test_savepoint_that_waits_long_for_a_table_is_looked_at_less_often() -> None:
    waits = [decide_savepoint(savepoint(created=NOW - minutes(age)), None, now=NOW).requeue for age in (0, 1, 10, 600)]
    assert waits == [30, 30, 60, 300]
    goes = [decide_savepoint(savepoint(deleted=NOW - minutes(age)), table(), now=NOW).requeue for age in (0, 1, 5)]
    assert goes == [5, 6, 30]


@pytest.mark.parametrize(("service", "whole"), [("Savepoint", True), ("Cleaning", False)])
def test_the_timeline_is_listed_whole_while_a_job_is_at_work_on_a_savepoint(service: str, whole: bool) -> None:
    seen = observe(table(status=status(active_jobs=(active(service=service),))))
    assert _questions(seen.table.spec, seen.table.status, now=NOW).live is whole


async def test_the_end_of_one_that_was_never_made_warns_of_nothing() -> None:
    process = Process(suspend=True)
    process.declare()
    await process.work()
    process.delete("daily")
    await process.work()
    assert "daily" not in process.savepoints
    assert process.cluster.events[-1][:2] == ("Normal", "SavepointRemoved")


async def test_of_very_many_resources_fifty_are_read_beside_those_that_are_remembered_and_over() -> None:
    process = Process(suspend=True)
    for number in range(90):
        process.declare(f"s{number:03}", instant=NEWEST)
    process.declare("going", instant=NEWEST)
    process.savepoints["going"]["metadata"]["finalizers"] = [SAVEPOINT_FINALIZER]
    kept = {"resource": "going", "uid": "uid-of-going", "instant": NEWEST, "since": "2026-03-10T11:00:00Z"}
    over = [
        {"resource": f"s{number:03}", "uid": f"uid-of-s{number:03}", "state": "Lost", "since": "2026-03-10T11:00:00Z"}
        for number in range(20)
    ]
    process.cluster.tables["flights"]["status"] = {"savepoints": [*over, kept]}
    for one in over:
        told: Document = {"type": "Ready", "status": "False", "reason": "SavepointLost", "message": "It is gone."}
        told |= {"observedGeneration": 1, "lastTransitionTime": "2026-03-10T11:00:00Z"}
        process.savepoints[one["resource"]]["status"] = {"observedGeneration": 1, "conditions": [told]}
        process.event("MODIFIED", one["resource"])
    process.delete("going")
    process.cluster.calls.clear()
    await process.reconcile(KEY)
    assert process.cluster.calls.count("get HudiSavepoint") == MOST_RELATED + len(over)
    assert "list HudiSavepoint" not in process.cluster.calls
    names = [one["resource"] for one in whole(process.cluster.tables["flights"])["savepoints"]]
    assert (len(names), names[0]) == (SAVEPOINTS_SHOWN, "going")
    assert set(names) >= {f"s{number:03}" for number in range(20, 69)}, "what is over gives its place to these"
    await process.reconcile(KEY)
    settled = deepcopy(process.cluster.tables["flights"]["status"])
    await process.reconcile(KEY)
    assert process.cluster.tables["flights"]["status"] == settled


async def test_an_object_that_has_gone_or_names_another_table_by_now_is_not_seen_with_it() -> None:
    process = Process(suspend=True)
    for name in ("stays", "goes", "moves"):
        process.declare(name)
    del process.savepoints["goes"]
    process.savepoints["moves"]["spec"]["tableRef"]["name"] = "other"
    await process.reconcile(KEY)
    names = [one["resource"] for one in whole(process.cluster.tables["flights"])["savepoints"]]
    assert names == ["stays"]


async def test_a_schedule_creates_the_savepoint_of_its_moment_once_and_the_table_keeps_it() -> None:
    process = Process(savepoints={"schedule": {"every": "1h"}, "keepLast": 1})
    uid = process.cluster.tables["flights"]["metadata"]["uid"]
    await process.reconcile(KEY)
    (name,) = process.savepoints
    assert process.savepoints[name]["metadata"]["ownerReferences"][0]["uid"] == uid
    await process.reconcile(KEY)
    assert list(process.savepoints) == [name], "also where no event has told of it"
    process.event("ADDED", name)
    await process.work()
    (made,) = process.requests
    assert (made["resource"], made["instant"], made["work"]) == (f"team-a/{name}", NEWEST, "Make")


async def test_savepoint_outside_the_schedule_is_deleted() -> None:
    process = Process(savepoints={"schedule": {"every": "1h"}, "keepLast": 1})
    table = parse_table(process.cluster.tables["flights"])
    assert isinstance(table, HudiTable)
    for number, instant in enumerate((FILES[0], FILES[-1])):
        name, commit = f"s{number}", instant.partition("_")[0]
        process.declare(name, deletionPolicy="Delete")
        metadata = build_savepoint(table, name)["metadata"]
        created = format_time(process.cluster.now() - timedelta(hours=1 - number))
        process.savepoints[name]["metadata"] |= {**metadata, "creationTimestamp": created, "finalizers": ["held"]}
        process.savepoints[name]["status"] = {"instant": commit, "completedAt": created}
    process.holds(*(f"{one.partition('_')[0]}_{one[18:35]}.savepoint" for one in (FILES[0], FILES[-1])))
    await process.reconcile(KEY)
    assert list(process.savepoints) == ["s1"]


async def test_refused_savepoint_of_a_schedule_is_reported_and_stops_nothing() -> None:
    process = Process(savepoints={"schedule": {"every": "1h"}, "keepLast": 1})
    process.cluster.refusal = "exceeded quota"
    await process.reconcile(KEY)
    process.cluster.refusal = None
    process.declare()
    await process.work()
    assert ("Warning", "SavepointScheduleRefused") in {one[:2] for one in process.cluster.events}
    assert [one["resource"] for one in process.requests] == ["team-a/daily"]
