"""How many Jobs run per class and namespace."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import IMAGE, UID, active, class_spec, observe, table

from hudi_operator.api.resources import HudiTableClass, ObjectMetadata
from hudi_operator.control.jobs.running import MOST_OF_A_TABLE, RunningJobs
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.planning.model import PlaceHolders

FLIGHTS = table_key("team-a", "flights")
WEATHER = table_key("team-a", "weather")
ORDERS = table_key("team-b", "orders")


def running() -> RunningJobs:
    jobs = RunningJobs()
    jobs.record(FLIGHTS, class_name="standard", jobs=1)
    jobs.record(WEATHER, class_name="standard", jobs=1)
    jobs.record(ORDERS, class_name="standard", jobs=1)
    jobs.record(table_key("team-b", "clicks"), class_name="large", jobs=2)
    return jobs


def test_a_tables_own_jobs_do_not_count_against_it() -> None:
    assert running().in_class("standard", without=FLIGHTS) == 2
    assert running().in_namespace("standard", without=FLIGHTS) == 1
    assert running().in_class("standard", without=table_key("team-c", "new")) == 3
    assert running().in_namespace("standard", without=table_key("team-c", "new")) == 0


def test_classes_are_counted_apart() -> None:
    assert running().in_class("large", without=FLIGHTS) == 2
    assert running().in_namespace("large", without=ORDERS) == 2
    assert running().in_class("unknown", without=FLIGHTS) == 0


def test_ended_jobs_and_deleted_tables_do_not_count() -> None:
    jobs = running()
    jobs.record(WEATHER, class_name="standard", jobs=0)
    jobs.forget(ORDERS)
    jobs.forget(ORDERS)
    assert jobs.in_class("standard", without=FLIGHTS) == 0


def test_a_table_that_changes_its_class_is_counted_in_the_new_one() -> None:
    jobs = running()
    jobs.record(WEATHER, class_name="large", jobs=1)
    assert jobs.in_class("standard", without=FLIGHTS) == 1
    assert jobs.in_class("large", without=FLIGHTS) == 3


def left_by_an_earlier_process(key: TableKey, class_name: str, **status: object) -> dict[str, Any]:
    one = table(name=key.name, namespace=key.namespace, basePath=f"s3a://lake/{key.namespace}/t")
    classes = HudiTableClass(metadata=ObjectMetadata(name=class_name), spec=class_spec())
    manifest = build_manifest(observe(one, table_class=classes), active(), default_image=IMAGE)
    return {**manifest, "status": status}


@pytest.mark.parametrize("table_name", ["flights", "f" * 64, "f" * 253])
@pytest.mark.parametrize("class_name", ["standard", "s" * 64, "s" * 253])
def test_jobs_of_an_earlier_process_count_until_their_table_is_looked_at(table_name: str, class_name: str) -> None:
    jobs, key = RunningJobs(), table_key("team-a", table_name)
    jobs.seed(left_by_an_earlier_process(key, class_name), {UID: key})
    assert jobs.in_class(class_name, without=WEATHER) == 1
    assert jobs.in_namespace(class_name, without=WEATHER) == 1
    assert jobs.in_class(class_name, without=key) == 0

    jobs.record(key, class_name=class_name, jobs=0)
    assert jobs.in_class(class_name, without=WEATHER) == 0


@pytest.mark.parametrize(("condition", "counted"), [("Complete", 0), ("Failed", 0), ("FailureTarget", 1)])
def test_a_job_that_an_earlier_process_left_counts_until_it_has_ended(condition: str, counted: int) -> None:
    jobs = RunningJobs()
    jobs.seed(
        left_by_an_earlier_process(FLIGHTS, "standard", conditions=[{"type": condition, "status": "True"}]),
        {UID: FLIGHTS},
    )
    assert jobs.in_class("standard", without=WEATHER) == counted


def test_a_deletion_that_an_earlier_process_left_counts_from_the_first_reconcile_on() -> None:
    jobs = RunningJobs()
    unowned = left_by_an_earlier_process(FLIGHTS, "standard")
    del unowned["metadata"]["ownerReferences"]
    jobs.seed(unowned, {UID: FLIGHTS})
    assert jobs.in_class("standard", without=WEATHER) == 0


def test_jobs_seen_since_the_start_win_over_those_of_an_earlier_process() -> None:
    jobs = RunningJobs()
    jobs.record(FLIGHTS, class_name="large", jobs=1)
    jobs.seed(left_by_an_earlier_process(FLIGHTS, "standard"), {UID: FLIGHTS})
    assert jobs.in_class("standard", without=WEATHER) == 0
    assert jobs.in_class("large", without=WEATHER) == 1


def test_tables_that_wait_for_a_place_are_told_when_a_job_of_their_class_has_ended() -> None:
    told: list[TableKey] = []
    jobs = RunningJobs(wake=told.append)
    jobs.record(FLIGHTS, class_name="standard", jobs=1)
    waiting = [table_key("team-c", f"t{number}") for number in range(3)]
    for key in waiting:
        jobs.wait(key, class_name="standard")
    jobs.wait(ORDERS, class_name="large")
    jobs.record(FLIGHTS, class_name="standard", jobs=1)
    assert told == []
    jobs.record(FLIGHTS, class_name="standard", jobs=0)
    assert told == waiting[:1]
    jobs.record(WEATHER, class_name="standard", jobs=2)
    jobs.forget(WEATHER)
    assert told == waiting


class Places:
    """A class with ten places, all taken by tables of `many`; 290 more of them wait, and one of `one`."""

    def __init__(self) -> None:
        self.told: list[TableKey] = []
        self.time = 0.0
        self.jobs = RunningJobs(wake=self.told.append, now=lambda: self.time)
        self.many = [table_key("many", f"t{number}") for number in range(300)]
        self.one = table_key("one", "orders")
        for key in self.many[:10]:
            self.jobs.record(key, class_name="standard", jobs=1)
        for key in (*self.many[10:], self.one):
            self.jobs.wait(key, class_name="standard")

    def free(self, key: TableKey) -> int:
        """Return how many of the ten places a table may take."""
        return 10 - self.jobs.in_class("standard", without=key)

    def end(self, key: TableKey) -> None:
        self.jobs.record(key, class_name="standard", jobs=0)


def test_free_place_goes_to_the_namespace_with_the_fewest_jobs_and_to_no_other_meanwhile() -> None:
    places = Places()
    places.end(places.many[0])
    assert places.told == [places.one]
    assert (places.free(places.one), places.free(places.many[0]), places.free(places.many[50])) == (1, 0, 0)
    places.jobs.record(places.one, class_name="standard", jobs=1)
    places.end(places.many[1])
    assert places.told == [places.one, places.many[10]]


def test_table_with_a_backlog_leaves_the_place_of_its_ended_run_to_a_namespace_with_fewer_jobs() -> None:
    places = Places()
    assert places.free(places.many[0]) == 0
    places.end(places.many[0])
    places.jobs.record(places.one, class_name="standard", jobs=1)
    assert places.free(places.many[1]) == 1, "nobody with fewer jobs waits any more"


def test_place_that_the_woken_table_does_not_need_goes_to_the_next() -> None:
    places = Places()
    places.end(places.many[0])
    places.end(places.one)
    assert places.told == [places.one, places.many[10]]
    places.jobs.forget(places.many[10])
    assert places.told[2:] == [places.many[11]]


def test_place_is_kept_for_a_woken_table_for_ten_seconds_only() -> None:
    places = Places()
    places.end(places.many[0])
    places.time = 11
    assert places.free(places.many[50]) == 1
    places.end(places.one)
    assert places.told == [places.one], "what was promised long ago is not passed on"


def test_tables_that_can_use_no_place_are_not_woken_without_end() -> None:
    places = Places()
    places.end(places.many[0])
    woken = 0
    while woken < len(places.told) < 5000:
        key = places.told[woken]
        woken += 1
        places.time += 0.1
        places.end(key)
        places.jobs.wait(key, class_name="standard")
    assert woken <= 101


def test_table_that_is_forgotten_waits_for_no_place() -> None:
    places = Places()
    places.jobs.forget(places.one)
    places.end(places.many[0])
    assert places.told == [places.many[10]]


def test_a_table_counts_for_no_more_jobs_than_it_can_have() -> None:
    jobs = RunningJobs()
    jobs.record(FLIGHTS, class_name="standard", jobs=8)
    assert jobs.in_class("standard", without=ORDERS) == MOST_OF_A_TABLE


@pytest.mark.parametrize("left", ["no owner", "another table's", "no controller", "another kind's", "no such table's"])
def test_a_job_that_only_looks_like_one_of_a_table_takes_no_place_in_its_class(left: str) -> None:
    jobs, job = RunningJobs(), left_by_an_earlier_process(FLIGHTS, "standard")
    (owner,) = job["metadata"]["ownerReferences"]
    forged = {
        "no owner": [],
        "another table's": [{**owner, "uid": "another"}],
        "no controller": [{**owner, "controller": False}],
        "another kind's": [{**owner, "kind": "HudiTable", "apiVersion": "example.com/v1"}],
        "no such table's": [{**owner, "name": "made-up", "uid": "made-up"}],
    }
    jobs.seed({**job, "metadata": {**job["metadata"], "ownerReferences": forged[left]}}, {UID: FLIGHTS})
    assert jobs.in_class("standard", without=ORDERS) == 0


def test_holders_of_a_class_are_named_in_the_own_namespace_only() -> None:
    jobs = running()
    for namespace, name, class_name in (("team-a", "own", "a"), ("team-a", "trips", "a"), ("team-a", "other", "b")):
        jobs.record(table_key(namespace, name), class_name=class_name, jobs=1)
    own = table_key("team-a", "own")
    assert jobs.holders("a", without=own) == PlaceHolders(tables=("trips",))
    jobs.record(table_key("team-b", "secret"), class_name="a", jobs=1)
    assert jobs.holders("a", without=own) == PlaceHolders(tables=("trips",), elsewhere=True)
    assert jobs.holders("c", without=own) == PlaceHolders()
