"""Tables that read Kafka in the cluster: pods sign in by a Secret, are killed as they go on, and tell of a loss."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.e2e.operation import Operation
from tests.e2e.processes import DriverProcess, require_node
from tests.e2e.stage import WITHOUT_SERVICES, Document, Stage, Table, Tenant, condition_of, live_of
from tests.spark_jobs.trials import ALL, IN_FULL

from hudi_jobs.contract import FailureReason
from localcluster.settings import NODE_ADDRESS
from toolkit.cluster import CommandFailed
from toolkit.streams import DebeziumConnect, KafkaBroker, Listener, Postgres, SchemaRegistry, as_avro
from toolkit.streams.security import User

pytestmark = [pytest.mark.e2e, pytest.mark.streams]

CLASS = "e2e-streams"
LISTENER = Listener.SASL_SSL
MISSING = User("late-reader", "password-of-late-reader")
PRESENT = User("reader", "password-of-reader")
CONTINUOUS = {"minInterval": "2s", "progressDeadline": "5m"}

WITHIN_SECONDS = 120.0
"""It takes a few on a machine that is not busy."""


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """A broker on the node, where pods find it."""
    require_node()
    with KafkaBroker(listeners=[LISTENER], reachable_at=NODE_ADDRESS, users=[MISSING, PRESENT]) as broker:
        yield broker


def allowance(broker: KafkaBroker, **more: Any) -> Document:
    """What a class allows: the broker's topics of the namespace, and the Secrets that are for it."""
    return {
        "bootstrapServers": [broker.address(LISTENER, pods=True)],
        "topics": ["{namespace}.*"],
        "secretNames": ["authority", MISSING.name, PRESENT.name],
    } | more


@pytest.fixture(scope="module")
def tenant(stage: Stage, broker: KafkaBroker) -> Tenant:
    tenant = stage.tenant("streams")
    stage.make_class(
        CLASS,
        allowedKafka=[allowance(broker)],
        job={"drainTimeout": "1m"},
        operations={"allowed": ["Restore"]},
    )
    stage.cluster.apply(
        secret(tenant, "authority", {"ca.crt": broker.credentials.authority.read_text()}), credentials(tenant, PRESENT)
    )
    return tenant


@dataclass
class Stream:
    """A topic and the table that reads it."""

    broker: KafkaBroker
    table: Table

    @property
    def topic(self) -> str:
        return f"{self.table.namespace}.{self.table.name}"

    def send(self, ids: range) -> None:
        self.broker.produce(self.topic, [(b"%d" % one, b'{"id": %d, "value": "v%d"}' % (one, one)) for one in ids])

    def wait_for(self, *ranges: range) -> Document:
        """Wait until the table holds these ids, each once."""
        wanted = Counter(one for ids in ranges for one in ids)
        return self.table.wait(lambda _: self.table.ids() == wanted, what=f"{ranges}, each once")


@pytest.fixture(scope="module")
def orders(broker: KafkaBroker, tenant: Tenant) -> Iterator[Stream]:
    """A table whose Secret is missing at first; without its broker one driver after the other would fail."""
    stream = declare(broker, tenant, "orders", MISSING)
    yield stream
    stream.table.patch({"spec": {"suspend": True}})


@pytest.fixture(scope="module")
def losing(broker: KafkaBroker, tenant: Tenant) -> Stream:
    """A table whose topic loses messages later; it is set up beside the other one."""
    return declare(broker, tenant, "losing", PRESENT)


def declare(broker: KafkaBroker, tenant: Tenant, name: str, user: User) -> Stream:
    """Make a topic with ten messages in two partitions, and the table that reads it as a user."""
    stream = Stream(broker, Table(tenant.stage, tenant.name, name))
    broker.create_topic(stream.topic, partitions=2 if user is MISSING else 1)
    stream.send(range(10))
    source = source_of(broker, stream.topic, user, value={"format": "Json", "columns": "id INT, value STRING"})
    tenant.table(name, tableClassName=CLASS, ingestion={"source": source}, **WITHOUT_SERVICES)
    return stream


def source_of(broker: KafkaBroker, topic: str, user: User, **more: Any) -> Document:
    """A source that reads a topic as a user."""
    security = {
        "protocol": LISTENER.protocol,
        "mechanism": "SCRAM-SHA-512",
        "credentialsSecretName": user.name,
        "caSecretName": "authority",
    }
    told = {"bootstrapServers": [broker.address(LISTENER, pods=True)], "topics": [topic], "security": security}
    return {"kafka": told | more}


def secret(tenant: Tenant, name: str, content: dict[str, str]) -> Document:
    """A Secret of the tenant."""
    metadata = {"name": name, "namespace": tenant.name}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": content}


def credentials(tenant: Tenant, user: User) -> Document:
    """The Secret by which a user signs in."""
    return secret(tenant, user.name, {"username": user.name, "password": user.password})


def test_a_table_whose_secret_is_missing_says_so_and_goes_on_once_it_is_there(
    tenant: Tenant, orders: Stream, losing: Stream
) -> None:
    table = orders.table
    told = table.wait_reason("PodConfigurationError")
    assert MISSING.name in told["message"]

    tenant.stage.cluster.apply(credentials(tenant, MISSING))
    orders.wait_for(range(10))
    run = table.wait_ready()["services"]["ingestion"]["lastRun"]
    assert (run["outcome"], run["rowsRead"]) == ("Succeeded", 10)
    assert len(table.commits()) == len(table.jobs()) == 1
    losing.wait_for(range(10))


@IN_FULL  # otherwise `tests/spark_jobs/kafka` loses messages, without pods
def test_messages_that_are_gone_are_told_of_and_passed_over_only_when_that_is_declared(losing: Stream) -> None:
    table = losing.table
    table.wait_ready()
    losing.send(range(10, 20))
    losing.broker.delete_records(losing.topic, 0, 15)
    gone = f"{losing.topic}-0: 10..14"

    failed = table.ingest_now()
    assert (failed["outcome"], failed["reason"]) == ("Failed", FailureReason.INPUT_LOST)
    assert gone in failed["message"]
    assert gone in table.condition("Ready")["message"]
    assert table.ids() == Counter(range(10))

    table.patch({"spec": {"ingestion": {"source": {"kafka": {"onDataLoss": "Skip"}}}}})
    losing.wait_for(range(10), range(15, 20))
    status = table.wait_ready(runs=2)
    assert condition_of(status, "Healthy")["reason"] == "RecordsSkipped"
    ingestion = status["services"]["ingestion"]
    assert (ingestion["recordsSkipped"], ingestion["skipped"]) == (5, [gone])
    table.wait_event("Warning", "RecordsSkipped")


def test_a_driver_that_goes_on_shows_messages_within_seconds(orders: Stream) -> None:
    table = orders.table
    table.wait_ready()
    table.patch(
        {
            "spec": {
                "ingestion": {
                    "mode": "Continuous",
                    "continuous": CONTINUOUS,
                    "schedule": None,
                    "freshness": "1m",
                }
            }
        }
    )
    # Only then has its driver started and looked at the topic.
    table.wait_reason("Continuous")
    for batch in range(1, 4):
        orders.send(range(batch * 10, batch * 10 + 10))
        began = time.monotonic()
        orders.wait_for(range(batch * 10 + 10))
        assert time.monotonic() - began < WITHIN_SECONDS
    status = table.wait(lambda status: live_of(status).get("rowsRead") == 30, what="30 rows of one driver")
    assert 1 <= live_of(status)["batches"] <= 30
    table.wait(lambda status: condition_of(status, "Fresh").get("status") == "True", what="it is fresh")
    wide = table.kubectl("get", "ht", table.name, "-o", "wide").splitlines()
    column = wide[0].index("BEHIND")
    assert re.fullmatch(r"\d+s|\d+m(\d+s)?", wide[1][column:].split()[0])


@pytest.mark.skipif(not ALL, reason="tests/spark_jobs/kafka kills drivers, test_continuous.py those of a cluster")
def test_a_driver_that_goes_on_loses_no_message_when_it_is_killed(orders: Stream) -> None:
    table = orders.table
    driver = DriverProcess(table.stage, table)
    orders.send(range(40, 50))
    driver.kill()
    orders.send(range(50, 60))
    orders.wait_for(range(60))
    status = table.wait(live_of, what="another driver goes on")
    assert [run["reason"] for run in status["history"] if run["outcome"] == "Failed"] == ["DriverDied"]


@IN_FULL
def test_a_table_that_goes_back_reads_its_topic_again_unless_messages_are_gone(orders: Stream) -> None:
    table = orders.table
    before = table.ids()
    first, *_, target, _ = table.commits()
    operation = Operation(table, "back")
    operation.apply(restore={"instant": target})
    report = operation.wait("Succeeded")["report"]
    assert (report["target"], report["rowsBefore"], report["verified"]) == (target, before.total(), True)
    assert report["rowsAfter"] < before.total()
    orders.wait_for(range(before.total()))

    orders.broker.delete_records(orders.topic, 0, 12)
    refused = Operation(table, "too-late")
    refused.apply(restore={"instant": first})
    status = refused.wait("Failed")
    assert (refused.reason(status), status["begun"]) == ("OperationRefused", False)
    assert f"{orders.topic}-0" in status["message"]
    after = range(before.total(), before.total() + 10)
    orders.send(after)
    orders.wait_for(range(before.total()), after)


def test_no_password_is_in_anything_but_its_secret(stage: Stage, tenant: Tenant, orders: Stream) -> None:
    kinds = "huditables,jobs,pods,configmaps,events"
    shown = {kinds: stage.cluster.kubectl("get", kinds, "-n", tenant.name, "-o", "json")}
    shown["operator"] = stage.operator_log()
    pods = [pod["metadata"]["name"] for pod in orders.table.pods()]
    shown |= {name: log_of(orders.table, name) for name in pods}
    files = stage.store.files(f"{orders.table.folder}/.hoodie/timeline/")
    commits = [file for file in files if file.endswith(".commit")]
    shown |= {file: stage.store.get(f"lake/{file}").decode(errors="replace") for file in commits}

    assert orders.topic in shown[kinds]
    assert any(orders.topic in shown[name] for name in pods)
    assert all(orders.topic in shown[file] for file in commits)
    assert len(commits) > 1
    for place, text in shown.items():
        assert MISSING.password not in text, place
        assert PRESENT.password not in text, place


@pytest.mark.skipif(not ALL, reason="tests/spark_jobs/formats follows a database without a cluster")
def test_a_table_follows_a_database_by_debezium_and_a_registry(
    stage: Stage, tenant: Tenant, broker: KafkaBroker
) -> None:
    topic = f"{tenant.name}.public.customers"
    broker.create_topic(topic)
    with (
        Postgres() as database,
        SchemaRegistry(host=NODE_ADDRESS) as registry,
        DebeziumConnect(broker.bootstrap) as debezium,
    ):
        name = stage.make_class("e2e-followed", allowedKafka=[allowance(broker, registries=[{"url": registry.url}])])
        database.execute("CREATE TABLE customers (id BIGINT PRIMARY KEY, value TEXT)")
        database.execute("INSERT INTO customers SELECT n, 'first' FROM generate_series(1, 5) n")
        debezium.capture(tenant.name, database, ["public.customers"], converters=as_avro(registry))
        stage.eventually(lambda: len(broker.read(topic)) == 5, what="five rows are in the topic")
        value = {"format": "Avro", "envelope": "Debezium"}
        source = source_of(broker, topic, PRESENT, value=value, registry={"url": registry.url})
        table = tenant.table(
            "followed",
            tableClassName=name,
            orderingFields=["_event_lsn"],
            ingestion={"source": source, "operation": "Upsert"},
            **WITHOUT_SERVICES,
        )
        table.wait_ready()
        assert table.ids() == Counter(range(1, 6))

        database.execute("UPDATE customers SET value = 'second' WHERE id <= 2")
        database.execute("DELETE FROM customers WHERE id = 3")
        database.execute("INSERT INTO customers VALUES (6, 'first')")
        stage.eventually(lambda: len(broker.read(topic)) == 10, what="the changes and a tombstone are in the topic")
        assert table.ingest_now()["outcome"] == "Succeeded"
        assert table.ids() == Counter((1, 2, 4, 5, 6))
        assert table.values("value") == {"first": 3, "second": 2}


def log_of(table: Table, pod: str) -> str:
    """The log of a pod; empty where it is gone."""
    try:
        return table.kubectl("logs", pod)
    except CommandFailed:
        return ""
