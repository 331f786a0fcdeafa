"""A table goes from empty to ingested, in both execution modes, and says so."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import pytest
from tests.e2e.processes import DRIVER, ContainerCounts, find_process, require_node
from tests.e2e.read_table import read_with_spark
from tests.e2e.stage import METADATA_TABLE, Stage, Table, Tenant
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import RunUsage, decode_outcome

pytestmark = pytest.mark.e2e

FIRST = """carrier,flight,month,delay,seen
UA,1545,1,11,2013-01-01T05:15:00
AA,1141,1,33,2013-01-01T05:42:00
B6,725,2,NA,2013-02-01T05:40:00
"""
SECOND = """carrier,flight,month,delay,seen
AA,1141,1,35,2013-01-02T00:00:00
DL,461,2,-25,2013-02-02T00:00:00
UA,1545,1,99,2012-12-31T00:00:00
"""
THIRD = """carrier,flight,month,delay,seen
DL,461,2,7,2013-02-03T00:00:00
WN,4,3,1,2013-03-01T00:00:00
"""
TRANSFORM = "SELECT carrier, flight, month, delay, delay > 15 AS late, seen FROM source"
COLUMNS = "carrier STRING, flight INT, month INT, delay INT, seen TIMESTAMP"


@dataclass
class Flights:
    """The two tables of this file, declared together so that they are set up side by side."""

    merge_on_read: Table
    copy_on_write: Table


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    return stage.tenant("ingestion")


@pytest.fixture(scope="module")
def flights(stage: Stage, tenant: Tenant) -> Flights:
    """A MergeOnRead table in the driver's own pod, and a CopyOnWrite table with an executor."""
    stage.make_service_accounts(tenant.name)
    stage.make_class("e2e-plain", allowedSourcePaths=["s3a://landing/{namespace}", "s3a://lake/{namespace}"])
    shared = {
        "tableClassName": "e2e-plain",
        "recordKey": ["carrier", "flight"],
        "partitionBy": ["month"],
        "orderingFields": ["seen"],
    }
    source = {"columns": COLUMNS, "options": {"header": "true", "nullValue": "NA"}}
    tables = Flights(
        merge_on_read=tenant.table(
            "flights",
            type="MergeOnRead",
            metadataTable=METADATA_TABLE,
            source=source,
            ingestion={"transform": {"sql": TRANSFORM}, "operation": "Upsert"},
            **shared,
        ),
        copy_on_write=tenant.table(
            "flights-in-cluster",
            source=source,
            execution={
                "mode": "Cluster",
                "driver": {"cpu": "200m", "memory": "1536Mi"},
                "executor": {"instances": 1, "cpu": "200m", "memory": "1536Mi"},
            },
            **shared,
        ),
    )
    for table in (tables.merge_on_read, tables.copy_on_write):
        stage.store.put(f"{table.landing}/first.csv", FIRST.encode())
    return tables


def test_an_empty_table_is_filled_from_its_source(flights: Flights) -> None:
    status = flights.merge_on_read.wait_ready()

    document = flights.merge_on_read.document()
    assert status["observedGeneration"] == document["metadata"]["generation"]
    conditions = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    assert conditions == {"Ready": ("True", "Succeeded"), "Healthy": ("True", "NoFindings")}
    run = status["services"]["ingestion"]["lastRun"]
    assert (run["outcome"], run["filesRead"], run["rowsRead"], run["rowsQuarantined"]) == ("Succeeded", 1, 3, 0)
    assert status["history"][0] == run


def test_kubectl_wait_ends_when_the_table_is_ready(flights: Flights) -> None:
    said = flights.merge_on_read.kubectl("wait", "--for=condition=Ready", "ht/flights", "--timeout=300s")

    assert "condition met" in said


def test_the_status_shows_the_timeline_as_the_store_holds_it(flights: Flights) -> None:
    status = flights.merge_on_read.wait_ready()
    timeline = status["timeline"]

    commits = flights.merge_on_read.commits()
    assert [one["time"] for one in timeline["instants"]] == commits
    assert timeline["completedCommits"] == len(commits) == 1
    assert (timeline["instants"][-1]["action"], timeline["instants"][-1]["state"]) == ("deltacommit", "COMPLETED")
    assert (timeline["pendingCount"], status["table"]["version"]) == (0, 9)


def test_the_printer_columns_tell_the_state_at_a_glance(flights: Flights) -> None:
    flights.merge_on_read.wait_ready()
    narrow = flights.merge_on_read.kubectl("get", "ht", "flights").splitlines()
    wide = flights.merge_on_read.kubectl("get", "ht", "flights", "-o", "wide").splitlines()

    found = ["NAME", "TYPE", "READY", "REASON", "LAST", "COMMIT", "BEHIND", "FINDINGS", "AGE"]
    assert narrow[0].split() == found
    assert narrow[1].split()[:4] == ["flights", "MergeOnRead", "True", "Succeeded"]
    assert wide[0].split()[len(found) :] == ["VERSION", "COMMITS", "PENDING", "CLASS", "BASE", "PATH", "MESSAGE"]
    assert f"s3a://{flights.merge_on_read.folder}" in wide[1]


def test_new_files_make_the_next_commit(flights: Flights) -> None:
    table = flights.merge_on_read
    table.wait_ready()
    table.stage.store.put(f"{table.landing}/second.csv", SECOND.encode())
    run = table.ingest_now()

    assert (run["outcome"], run["filesRead"], run["rowsRead"]) == ("Succeeded", 1, 3)
    assert len(table.commits()) == 2
    assert table.condition("Ready")["status"] == "True"


def test_executors_are_pods_of_their_own_and_gone_afterwards(flights: Flights) -> None:
    table = flights.copy_on_write
    table.wait_ready()
    text = table.kubectl("get", "events", "--field-selector", "involvedObject.kind=Pod,reason=Started", "-o", "json")
    started = {event["involvedObject"]["name"] for event in json.loads(text)["items"]}

    driver = table.jobs()[0]["metadata"]["name"]
    executors = {name for name in started if name.startswith(f"{driver}-exec-")}
    assert executors == {f"{driver}-exec-1"}
    table.stage.eventually(
        lambda: not executors & {pod["metadata"]["name"] for pod in table.pods()},
        what="the executor is gone",
        explain=table.explain,
    )


def test_the_driver_may_touch_pods_of_its_namespace_and_nothing_else(stage: Stage, tenant: Tenant) -> None:
    flights_driver = f"--as=system:serviceaccount:{tenant.name}:hudi-driver"
    listed = stage.cluster.kubectl("auth", "can-i", "--list", flights_driver, "-n", tenant.name)
    rights = {line.split()[0] for line in listed.splitlines()[1:] if not line.startswith((" ", "selfsubject"))}

    assert "pods" in rights
    assert not rights & {"secrets", "configmaps", "jobs.batch", "*.*", "huditables.hudi-operator.io", "services"}


def test_the_events_tell_that_the_table_became_ready(flights: Flights) -> None:
    flights.merge_on_read.wait_ready()

    flights.merge_on_read.wait_event("Normal", "Succeeded")
    events = flights.merge_on_read.events()
    # A driver may wait for those of other tests, which share the node; the operator may see the table before its file.
    harmless = {("Warning", "Unschedulable"), ("Warning", "SourceNotFound")}
    assert {event for event in events if event[0] == "Warning"} <= harmless


def test_the_table_with_an_executor_holds_what_was_delivered(flights: Flights) -> None:
    flights.copy_on_write.wait_ready()
    assert flights.copy_on_write.values("flight") == Counter([1545, 1141, 725])


@IN_FULL  # otherwise `tests/spark_jobs/upstream` follows tables, without pods
def test_a_table_follows_another_one_with_every_commit_and_holds_what_that_holds(
    flights: Flights, tenant: Tenant
) -> None:
    upstream = flights.merge_on_read
    following = tenant.table(
        "flights-that-follow",
        tableClassName="e2e-plain",
        recordKey=["carrier", "flight"],
        orderingFields=["seen"],
        ingestion={
            "source": {"hudi": {"path": f"s3a://{upstream.folder}"}},
            "mode": "Continuous",
            "continuous": {"minInterval": "2s", "progressDeadline": "5m"},
            "operation": "Upsert",
            "schedule": None,
        },
    )
    first = Counter([725, 1141, 461, 1545])
    following.wait(lambda _status: following.values("flight") == first, what="the rows that are there first")

    upstream.stage.store.put(f"{upstream.landing}/third.csv", THIRD.encode())
    assert upstream.ingest_now()["outcome"] == "Succeeded"
    following.wait(lambda _status: 4 in following.values("flight"), what="the rows of the next commit")
    rows = [
        {"carrier": "AA", "flight": 1141, "delay": 35, "late": True, "month": 1},
        {"carrier": "B6", "flight": 725, "delay": None, "late": None, "month": 2},
        {"carrier": "DL", "flight": 461, "delay": 7, "late": False, "month": 2},
        {"carrier": "UA", "flight": 1545, "delay": 11, "late": False, "month": 1},
        {"carrier": "WN", "flight": 4, "delay": 1, "late": False, "month": 3},
    ]
    columns = ("carrier", "flight", "delay", "late", "month")
    assert read_with_spark([upstream, following], *columns) == [rows, rows]
    assert following.condition("Ready")["reason"] == "Continuous"
    assert not [event for event in following.events() if event[0] == "Warning" and event[1] != "Unschedulable"]
    following.patch({"spec": {"suspend": True}})
    following.wait(lambda status: not status.get("activeJobs"), what="nothing runs while it is suspended")


SLOW_SQL = "SELECT source.id, max(sha2(concat(value, n.id), 512)) AS value FROM source, range(2500000) n GROUP BY 1"
"""Two runs at once take a minute or two for it, where they have two processors to themselves."""


def counts_of(table: Table, role: str, *command: str) -> ContainerCounts:
    """What the kernel counts of the container of the table's pod in this role."""

    def process() -> int | None:
        pods = [pod for pod in table.pods() if pod["metadata"]["labels"]["hudi-operator.io/role"] == role]
        return next((pid for pod in pods if (pid := find_process(pod, *command))), None)

    return ContainerCounts(table.stage.eventually(process, what=f"the {role} runs", explain=table.explain))


def reported_usage(table: Table) -> RunUsage:
    """The usage in the termination message of the table's only run."""
    (driver,) = (pod for pod in table.pods() if pod["metadata"]["labels"]["hudi-operator.io/role"] == "driver")
    usage = decode_outcome(driver["status"]["containerStatuses"][0]["state"]["terminated"]["message"]).usage
    assert usage is not None
    return usage


@IN_FULL  # otherwise `tests/spark_jobs/test_usage.py` has a shorter run with an executor, without pods
def test_run_of_a_minute_reports_what_the_kernel_counted_of_its_containers(stage: Stage, tenant: Tenant) -> None:
    require_node()
    stage.make_service_accounts(tenant.name)
    pod = {"cpu": "200m", "memory": "1536Mi"}
    in_cluster = {"mode": "Cluster", "driver": pod, "executor": {"instances": 1, **pod}}
    counts: dict[str, ContainerCounts] = {}
    tables = []
    for name, execution in (("measured", {"mode": "Local", "driver": pod}), ("measured-in-cluster", in_cluster)):
        Table(stage, tenant.name, name).deliver(range(10))
        tables.append(tenant.table(name, execution=execution, ingestion={"transform": {"sql": SLOW_SQL}}))
    local, cluster = tables
    counts["local"] = counts_of(local, "driver", *DRIVER)
    counts["driver"] = counts_of(cluster, "driver", *DRIVER)
    counts["executor"] = counts_of(cluster, "executor", "java")
    for table in tables:
        table.wait(lambda status: status.get("history"), what="the long run has ended", seconds=900)
    for each in counts.values():
        each.join(timeout=60)
    alone, both = reported_usage(local), reported_usage(cluster)

    assert alone.executors is None
    assert both.executors is not None
    assert (both.executors.number, both.executors.reported) == (1, 1)
    reported = {"local": alone.driver, "driver": both.driver, "executor": both.executors}
    for name, found in reported.items():
        assert found is not None
        assert found.cpu_seconds == pytest.approx(counts[name].cpu_seconds, rel=0.05), name
        assert found.peak_memory_bytes == pytest.approx(counts[name].peak_bytes, rel=0.05), name
