"""PostgreSQL, Debezium and Kafka into a continuous table, while everything between them is killed again and again."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest
from tests.e2e.followed import Observed
from tests.e2e.processes import DRIVER, find_process, require_node
from tests.e2e.stage import WITHOUT_SERVICES, Document, Stage, Tenant, live_of
from tests.e2e.time_travel import NOW, read_at
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import OPERATOR_FOLDER, PROGRESS_FILE, decode_progress
from localcluster.settings import NODE_ADDRESS
from toolkit.streams import DebeziumConnect, KafkaBroker, Listener, Postgres, SchemaRegistry, as_avro
from toolkit.streams.changes import Workload
from toolkit.zookeeper import ADDRESS, ZooKeeper

SECONDS = float(os.environ.get("STREAMS_CHAOS_SECONDS", "600" if ALL else "0"))
SEED = int(os.environ.get("STREAMS_CHAOS_SEED", random.randrange(2**32)))

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.streams,
    pytest.mark.timeout(SECONDS + 3600),
    pytest.mark.skipif(not SECONDS, reason="a long trial: STREAMS_CHAOS_SECONDS=n, or HUDI_JOBS_TRIALS=all"),
]

CLASS = "e2e-streams-chaos"
LISTENER = Listener.PLAINTEXT
SERVICES = {"Compaction", "Clustering"}
PAUSE_SECONDS = (5.0, 25.0)
"""Between two kills: some meet a driver that starts, and others one that has committed."""
SETTLING_SECONDS = 900.0


@dataclass
class Servers:
    """What stands between the database and the table."""

    database: Postgres
    broker: KafkaBroker
    registry: SchemaRegistry
    debezium: DebeziumConnect


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """All of them, on the node, where pods find what they need."""
    require_node()
    with (
        Postgres() as database,
        KafkaBroker(listeners=[LISTENER], reachable_at=NODE_ADDRESS) as broker,
        SchemaRegistry(host=NODE_ADDRESS) as registry,
        DebeziumConnect(broker.bootstrap) as debezium,
    ):
        yield Servers(database, broker, registry, debezium)


class Followed:
    """A table of the database, the Hudi table that follows it, and what is killed meanwhile."""

    def __init__(self, stage: Stage, tenant: Tenant, servers: Servers, mode: str) -> None:
        self.stage, self.servers, self.tenant = stage, servers, tenant
        self.name = mode.lower()
        self.topic = f"{tenant.name}.public.{self.name}"
        self.moments = random.Random(f"{SEED} {mode}")
        self.workload = Workload(servers.database, self.name, SEED)
        self.kills: Counter[str] = Counter()
        self.runs: dict[str, Document] = {}
        self.restarts = 0

    def declare(self, concurrency: Document) -> None:
        """Follow the database, and declare the table, with all services that can be beside it."""
        servers = self.servers
        servers.broker.create_topic(self.topic)
        self.workload.create()
        servers.debezium.capture(
            self.tenant.name, servers.database, [f"public.{self.name}"], converters=as_avro(servers.registry)
        )
        kafka = {
            "bootstrapServers": [servers.broker.address(LISTENER, pods=True)],
            "topics": [self.topic],
            "value": {"format": "Avro", "envelope": "Debezium"},
            "registry": {"url": servers.registry.url},
        }
        updates = {"updates": "Allow"} if concurrency["mode"] == "Optimistic" else {}
        self.table = self.tenant.table(
            self.name,
            tableClassName=CLASS,
            type="MergeOnRead",
            metadataTable={"enabled": True},
            orderingFields=["_event_lsn"],
            concurrency=concurrency,
            # Else each batch with an insert writes the small base file anew, and nothing is left for a compaction.
            fileSizing={"smallFileLimit": "0"},
            ingestion={
                "mode": "Continuous",
                "continuous": {"minInterval": "2s", "serviceInterval": "1m", "progressDeadline": "5m"},
                "source": {"kafka": kafka},
                "operation": "Upsert",
                "schedule": None,
            },
            # Without a cleaning each instant can be read in the end.
            **WITHOUT_SERVICES
            | {
                "compaction": {"trigger": {"deltaCommits": 5}},
                "clustering": {"mode": "Async", "trigger": {"commits": 6}} | updates,
            },
        )

    def kill(self, victim: str) -> None:
        """End one of them at once; a server is down for some seconds."""
        servers = {"broker": self.servers.broker, "registry": self.servers.registry}
        if victim == "operator":
            self.stage.kill_operator()
        elif victim == "driver":
            if (pid := self._driver()) is None:
                return
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        else:
            servers[victim].kill()
            time.sleep(self.moments.uniform(0.5, 8))
            servers[victim].start()
        self.kills[victim] += 1

    def look(self) -> None:
        """Note the runs that have ended, and start the tasks of Debezium again that have failed, as its owner would."""
        self.runs |= {run["job"]: run for run in self.table.status().get("history") or ()}
        with suppress(OSError):
            if any(task["state"] == "FAILED" for task in self.servers.debezium.tasks(self.tenant.name)):
                path = f"/connectors/{self.tenant.name}/restart?includeTasks=true&onlyFailed=true"
                self.servers.debezium.call("POST", path)
                self.restarts += 1

    def _driver(self) -> int | None:
        """A driver of any service that runs now."""
        found = [find_process(pod, *DRIVER) for pod in self.table.pods()]
        return next((pid for pid in found if pid is not None), None)

    def await_services(self) -> None:
        """Wait until each of the services has succeeded, while the database goes on changing."""

        def served(_: Document) -> bool:
            self.look()
            return {run["service"] for run in self.runs.values() if run["outcome"] == "Succeeded"} >= SERVICES

        self.table.wait(served, what="compaction and clustering have succeeded", seconds=SETTLING_SECONDS)

    def settle(self) -> None:
        """Wait until the table has read all that the database has written."""
        last = self.workload.last.encode()

        def sent() -> bool:
            self.look()
            return any(message.value and last in message.value for message in self.servers.broker.read(self.topic))

        self.stage.eventually(sent, what="the last change is in the topic", seconds=SETTLING_SECONDS, pause=2)
        end = sum(self.servers.broker.end_offsets(self.topic).values())

        def read(_: Document) -> bool:
            self.look()
            said = decode_progress(self.stage.store.get(f"{self.table.folder}/{OPERATOR_FOLDER}/{PROGRESS_FILE}"))
            return said is not None and end in numbers(said.checkpoint)

        self.table.wait(read, what=f"it has read up to the offset {end}", seconds=SETTLING_SECONDS)
        self.table.patch({"spec": {"suspend": True}})
        self.table.wait(lambda status: not status.get("activeJobs"), what="nothing runs any more")
        self.look()

    def tell(self) -> str:
        """What happened."""
        done = Counter(f"{run['service']} {run.get('reason') or run['outcome']}" for run in self.runs.values())
        return (
            f"{self.name}: seed {SEED}, {self.workload.statements:,} changes, kills {dict(self.kills)}, "
            f"runs {dict(done)}, tasks of Debezium started again {self.restarts}"
        )


def numbers(text: str | None) -> set[int]:
    """The numbers of a text, such as offsets of a checkpoint that is for people."""
    return {int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text or "")}


@pytest.fixture
def follow(stage: Stage, servers: Servers) -> Iterator[Callable[[str], Followed]]:
    """Makes the table of a mode; the driver ends with the test."""
    made: list[Followed] = []
    zookeeper = ZooKeeper(stage.cluster)

    def one(mode: str) -> Followed:
        allowed = {
            "bootstrapServers": [servers.broker.address(LISTENER, pods=True)],
            "topics": ["{namespace}.*"],
            "registries": [{"url": servers.registry.url}],
        }
        attempts = {"maxAttempts": 1000, "maxInfrastructureAttempts": 1000}
        retry = {"initialDelay": "2s", "maxDelay": "8s"} | attempts
        stage.make_class(CLASS, allowedKafka=[allowed], job={"drainTimeout": "1m"}, retry=retry)
        concurrency: Document = {"mode": mode}
        if mode == "Optimistic":
            zookeeper.start()
            concurrency |= {"lock": {"zookeeper": {"connect": ADDRESS}}, "lockKey": "chaos"}
        made.append(Followed(stage, stage.tenant(f"chaos-{mode.lower()[:3]}"), servers, mode))
        made[-1].declare(concurrency)
        return made[-1]

    yield one
    for followed in made:
        followed.table.patch({"spec": {"suspend": True}})
        followed.servers.debezium.remove(followed.tenant.name)
    zookeeper.remove()


@pytest.mark.parametrize("mode", ["Optimistic", "Serialized"])
def test_the_table_is_the_databases_at_the_end_and_was_so_for_each_key_at_every_instant(
    follow: Callable[[str], Followed], mode: str, record_testsuite_property: Callable[[str, object], None]
) -> None:
    followed = follow(mode)
    table, workload = followed.table, followed.workload
    table.wait(live_of, what="a driver works")
    workload.start()
    until = time.monotonic() + SECONDS
    victims = ("driver", "driver", "operator", "broker", "registry")
    while time.monotonic() < until or followed.kills.keys() != {*victims}:
        time.sleep(followed.moments.uniform(*PAUSE_SECONDS))
        missed = [one for one in victims if one not in followed.kills]
        followed.kill(followed.moments.choice(missed or victims))
        followed.look()
    followed.await_services()
    workload.end()
    followed.settle()

    instants = table.commits()
    found = read_at(table, instants, "id", "value")
    observed = Observed(workload.history)
    for instant in instants:
        observed.look(instant, found[instant].elements())
    story = f"{followed.tell()}, {len(instants)} instants, {len(observed.back)} states that came back"
    record_testsuite_property(f"chaos of {mode}", story)
    print(story)  # noqa: T201 - what was tried
    assert found[NOW] == Counter(workload.rows.items())
    assert not observed.unknown
    # Only what Debezium sends again can bring a state back that was over.
    assert not observed.back or followed.restarts
