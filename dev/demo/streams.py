"""A database that a table follows, from nothing to a checked table: `make demo-streams`."""

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from string import Template

from demo.comparison import Comparison, ComparisonFailed, rows_of
from demo.screen import Screen, last_run
from demo.steps import NAMESPACE, REACH, DemoFailed, fail_if_stuck, refuse_remains, start_cluster, where_to_look
from localcluster.settings import CURRENT, NODE_ADDRESS
from toolkit.cluster import ROOT, Cluster, CommandFailed, Document
from toolkit.streams import DebeziumConnect, KafkaBroker, Listener, Postgres, SchemaRegistry, as_avro
from toolkit.streams.changes import Workload

TABLE = "accounts"
TOPIC = f"{NAMESPACE}.public.{TABLE}"
MANIFEST = ROOT / "dev" / "manifests" / "streams-demo.yaml"
WATCHED_SECONDS = 120.0
"""Least time to watch the table while the database changes."""
PATIENCE_SECONDS = 600.0
SHOWN_EVERY_SECONDS = 10.0
SERVICES = ("compaction", "cleaning")


def main() -> None:
    """Run the demonstration; exit with 1 and the places to look at when it fails."""
    cluster, screen = Cluster(), Screen()
    try:
        require_node()
        with Comparison() as comparison, ExitStack() as servers:
            start_cluster()
            refuse_remains(cluster)
            install(cluster, screen)
            changes, broker = follow(cluster, screen, servers)
            watch(cluster, screen, changes)
            settle(cluster, screen, changes, broker)
            verify(cluster, screen, changes, comparison)
            cluster.kubectl("patch", "ht", "-n", NAMESPACE, TABLE, "--type=merge", '-p={"spec": {"suspend": true}}')
    except (DemoFailed, ComparisonFailed, CommandFailed) as error:
        screen.say(f"FAILED: {error}")
        print(where_to_look(TABLE), flush=True)
        sys.exit(1)
    print(what_next(), flush=True)


def require_node() -> None:
    """Raise `DemoFailed` when pods could not reach the servers on this machine."""
    if CURRENT:
        raise DemoFailed("pods find the servers of this demonstration only on the machine of the local cluster")


def install(cluster: Cluster, screen: Screen) -> None:
    """Install the operator, and make the namespace of the table."""
    screen.say("installing the chart")
    cluster.install_operator(values={"operator": {"pollSeconds": 3}})
    cluster.make_tenant(NAMESPACE)


def follow(cluster: Cluster, screen: Screen, servers: ExitStack) -> tuple[Workload, KafkaBroker]:
    """Start the database and the servers that carry its changes, and declare the table that follows it."""
    screen.say("starting PostgreSQL, Kafka, a schema registry and Debezium on this machine")
    database = servers.enter_context(Postgres())
    broker = servers.enter_context(KafkaBroker(listeners=[Listener.PLAINTEXT], reachable_at=NODE_ADDRESS))
    registry = servers.enter_context(SchemaRegistry(host=NODE_ADDRESS))
    debezium = servers.enter_context(DebeziumConnect(broker.bootstrap))
    changes = Workload(database, TABLE, seed=1)
    changes.create()
    broker.create_topic(TOPIC)
    debezium.capture(NAMESPACE, database, [f"public.{TABLE}"], converters=as_avro(registry))
    addresses = {"KAFKA": broker.address(Listener.PLAINTEXT, pods=True), "REGISTRY": registry.url}
    screen.say(f"applying {MANIFEST.relative_to(ROOT)}: the table {TABLE} follows {TOPIC}")
    cluster.apply(Template(MANIFEST.read_text()).substitute(addresses))
    return changes, broker


def watch(cluster: Cluster, screen: Screen, changes: Workload) -> None:
    """Change the database and show the table's progress until every service has run beside the driver."""
    await_table(cluster, screen, lambda table: bool(freshness_of(table)), "follows the database")
    screen.say("from now on rows are inserted, updated and deleted, and keys change, some twenty times a second")
    changes.start()
    until = time.monotonic() + WATCHED_SECONDS
    await_table(
        cluster,
        screen,
        lambda table: time.monotonic() > until and all(has_run(table, service) for service in SERVICES),
        "is served beside its driver",
        lambda: f"the database has seen {changes.statements:,} changes",
    )


def settle(cluster: Cluster, screen: Screen, changes: Workload, broker: KafkaBroker) -> None:
    """End the changes, and wait until the table reports that it is complete up to the end."""
    changes.end()
    screen.say(f"the database rests after {changes.statements:,} changes")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not any(message.value and changes.last.encode() in message.value for message in broker.read(TOPIC)):
        if time.monotonic() > deadline:
            raise DemoFailed(f"Debezium has not written the last change to {TOPIC}")
        time.sleep(1)
    ended = datetime.now(UTC)

    def complete(table: Document) -> bool:
        told = freshness_of(table).get("completeUpTo")
        return told is not None and datetime.fromisoformat(told) > ended

    await_table(cluster, screen, complete, "is complete up to the last change")


def verify(cluster: Cluster, screen: Screen, changes: Workload, comparison: Comparison) -> None:
    """Compare the table with the database, row by row."""
    screen.say("comparing the table with the database, every row and value")
    wanted = [{"id": str(key), "value": value} for key, value in changes.rows.items()]
    found = comparison.compare(cluster.s3, f"s3a://lake/{NAMESPACE}/{TABLE}", wanted)
    rows = rows_of(TABLE, found)
    screen.say(f"{TABLE} holds exactly the {rows:,} rows of the database, every value as it is there")


def await_table(
    cluster: Cluster,
    screen: Screen,
    happened: Callable[[Document], bool],
    what: str,
    remark: Callable[[], str] = str,
) -> None:
    """Wait for the condition, and show the table meanwhile as `kubectl get` does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    shown = 0.0
    while True:
        table = cluster.get("huditables", TABLE, namespace=NAMESPACE) or {}
        fail_if_stuck(TABLE, table.get("status") or {})
        done = happened(table)
        if done or time.monotonic() - shown > SHOWN_EVERY_SECONDS:
            shown = time.monotonic()
            if said := remark():
                screen.say(said)
            screen.say(
                "kubectl get ht -o wide\n" + cluster.kubectl("get", "ht", "-n", NAMESPACE, "-o", "wide").rstrip()
            )
        if done:
            return
        if time.monotonic() > deadline:
            raise DemoFailed(f"within {PATIENCE_SECONDS:.0f} s there is no moment at which the table {what}")
        time.sleep(1)


def freshness_of(table: Document) -> Document:
    """Return the table's freshness; empty before it is known."""
    services = (table.get("status") or {}).get("services") or {}
    return dict((services.get("ingestion") or {}).get("freshness") or {})


def has_run(table: Document, service: str) -> bool:
    """Tell whether a service has run, or found nothing to do."""
    return last_run(table.get("status") or {}, service).get("outcome") in {"Succeeded", "NothingToDo"}


def what_next() -> str:
    """Return suggestions for what to try next."""
    return f"""
The servers of the stream have ended with this program; the table is suspended, and the cluster is still running. Try:
  {REACH}
  kubectl describe ht -n {NAMESPACE} {TABLE}
  make cluster-down   (when you have seen enough)"""


if __name__ == "__main__":
    main()
