"""The whole demonstration, from nothing to a checked table: `make demo`."""

import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from fnmatch import filter as matching

from demo import catalog
from demo.comparison import Comparison, ComparisonFailed, Found, rows_of
from demo.flights import FLIGHTS, SourceFile, deliveries, read_flights
from demo.screen import Screen, last_run
from demo.steps import NAMESPACE, REACH, REMOVE, DemoFailed, fail_if_stuck, refuse_remains, start_cluster, where_to_look
from localcluster.settings import CURRENT
from toolkit.cluster import ROOT, Cluster, CommandFailed, Document
from toolkit.store import Store
from toolkit.zookeeper import ZooKeeper

TABLES = ("flights", "delays")
SERVICES = {"flights": ("compaction", "clustering", "cleaning"), "delays": ()}
LANDING = f"landing/{NAMESPACE}/flights"
DELIVERY_SECONDS = 420
EXAMPLES = ROOT / "examples" / "demo"


def main() -> None:
    """Run the demonstration; exit with 1 and the places to look at when it fails."""
    cluster = Cluster()
    screen = Screen()
    try:
        catalog.require_node()
        # Start everything that needs no cluster before the cluster, and everything that needs no operator before the
        # operator.
        with Comparison(FLIGHTS) as comparison, ThreadPoolExecutor(max_workers=1) as beside:
            reading = beside.submit(lambda: deliveries(read_flights()))
            start_cluster()
            refuse_remains(cluster)
            store = Store(cluster.s3)
            landing = beside.submit(lambda: put(store, reading.result()[0]))
            install(cluster, screen)
            landing.result()
            checks: dict[str, Future[Found]] = {}

            def check(name: str) -> None:
                checks[name] = beside.submit(comparison.compare, cluster.s3, f"s3a://lake/{NAMESPACE}/{name}")

            delivered = deliver(cluster, store, screen, reading.result(), check)
            tell(cluster, screen)
            verify(checks, screen)
        if catalog.WANTED:
            catalog.read_by_name(cluster, screen, *TABLES)
    except (DemoFailed, ComparisonFailed, CommandFailed) as error:
        screen.say(f"FAILED: {error}")
        print(where_to_look("flights"), flush=True)
        sys.exit(1)
    print(what_next(delivered), flush=True)


def install(cluster: Cluster, screen: Screen) -> None:
    """Install the operator and what the tables need."""
    screen.say("installing the chart, and a ZooKeeper for the lock of the table that others may write")
    zookeeper = ZooKeeper(cluster)
    zookeeper.create()
    cluster.install_operator(values={"operator": {"pollSeconds": 3}})
    cluster.make_tenant(NAMESPACE)
    zookeeper.wait()


def put(store: Store, delivery: list[SourceFile]) -> None:
    """Write the files of a delivery where the tables look for them."""
    for file in delivery:
        store.put(f"{LANDING}/{file.name}", file.content)


def deliver(
    cluster: Cluster, store: Store, screen: Screen, files: list[list[SourceFile]], check: Callable[[str], None]
) -> int:
    """Deliver the year's flights, then their corrections, and return the number of files.

    The second table is declared with the corrections, when all its files are there. Each delivery is followed by a wait
    until it is ingested and no service is due. `check` is called with the name of each table as soon as the table is
    complete.
    """
    days, corrections = files
    progress = Progress()
    with screen:
        screen.say(f"the first delivery: {in_words(days)}")
        declare(cluster, screen, "class", "flights")
        await_tables(cluster, screen, days, progress)
        put(store, corrections)
        screen.say(f"the corrections: {in_words(corrections)}")
        ask_for_run(cluster, "flights")
        declare(cluster, screen, "delays")
        await_tables(cluster, screen, [*days, *corrections], progress, check)
    return len(days) + len(corrections)


def in_words(delivery: list[SourceFile]) -> str:
    """Return a delivery's size and place in words."""
    return f"{len(delivery)} files with {sum(file.rows for file in delivery):,} rows are in s3://{LANDING}"


def declare(cluster: Cluster, screen: Screen, *names: str) -> None:
    """Apply some of the examples."""
    files = [EXAMPLES / f"{name}.yaml" for name in names]
    screen.say(f"applying {' and '.join(str(file.relative_to(ROOT)) for file in files)}")
    cluster.apply(*files)


def ask_for_run(cluster: Cluster, table: str) -> None:
    """Request an ingestion now, like a delivering system; the schedule would find the files a little later."""
    request = "hudi-operator.io/requested-at=corrections"
    cluster.kubectl("annotate", "ht", "-n", NAMESPACE, table, request, "--overwrite")


class Progress:
    """The work of the tables' runs so far, collected from statuses that keep only the newest."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, int]] = {name: {} for name in TABLES}

    def learn(self, name: str, status: Document) -> None:
        """Add the last run that a status shows."""
        run = last_run(status, "ingestion")
        if run.get("outcome") == "Succeeded":
            self._files[name][run["job"]] = run.get("filesRead", 0)

    def files(self, name: str) -> int:
        """Return how many source files a table has read."""
        return sum(self._files[name].values())


def await_tables(
    cluster: Cluster,
    screen: Screen,
    delivered: list[SourceFile],
    progress: Progress,
    when_done: Callable[[str], None] = lambda _: None,
) -> None:
    """Wait until each declared table has read all its delivered files and has no service to run."""
    names = [file.name for file in delivered]
    done: set[str] = set()
    deadline = time.monotonic() + DELIVERY_SECONDS
    while time.monotonic() < deadline:
        documents = cluster.items("huditables", namespace=NAMESPACE)
        statuses = {document["metadata"]["name"]: document.get("status") or {} for document in documents}
        for name, status in statuses.items():
            progress.learn(name, status)
            fail_if_stuck(name, status)
        screen.show(documents)
        wanted = {document["metadata"]["name"]: len(matching(names, glob_of(document))) for document in documents}
        resting = {name for name in statuses if progress.files(name) >= wanted[name] and at_rest(statuses[name])}
        for name in sorted(resting - done):
            when_done(name)
        done |= resting
        if resting == set(statuses):
            return
        time.sleep(1)
    read = {name: progress.files(name) for name in wanted}
    raise DemoFailed(
        f"within {DELIVERY_SECONDS} s the tables have read {read} of {wanted} files, or have services to run"
    )


def glob_of(table: Document) -> str:
    """Return the name pattern of the files that a table reads."""
    return str(table["spec"]["ingestion"]["source"]["files"].get("pathGlob", "*"))


def at_rest(status: Document) -> bool:
    """Tell whether no Job runs and no service is due."""
    services = (status.get("services") or {}).values()
    return not status.get("jobs") and not any(service.get("due") for service in services)


def tell(cluster: Cluster, screen: Screen) -> None:
    """Print the history of each table's instants, and check that every service has run."""
    for name in TABLES:
        status = (cluster.get("huditables", name, namespace=NAMESPACE) or {})["status"]
        screen.tell(name, status)
        for service in SERVICES[name]:
            if last_run(status, service).get("outcome") not in {"Succeeded", "NothingToDo"}:
                raise DemoFailed(f"{service} of {name} has not run: {status['services'][service].get('message')}")


def verify(checks: Mapping[str, Future[Found]], screen: Screen) -> None:
    """Print how the tables compare with the original data."""
    screen.say("comparing the tables with the original data, every row and value")
    for table, check in checks.items():
        rows = rows_of(table, check.result())
        screen.say(f"{table} holds exactly the {rows:,} rows that it should, every value as corrected")


def what_next(delivered: int) -> str:
    """Return suggestions for what to try next."""
    return f"""
{delivered} files went through the operator. The cluster is still running. Try:
  {REACH}
  kubectl get ht -A -o wide
  kubectl describe ht -n {NAMESPACE} flights
  kubectl patch ht -n {NAMESPACE} flights --type merge -p '{{"spec": {{"suspend": true}}}}'
  kubectl patch ht -n {NAMESPACE} flights --type merge -p '{{"spec": {{"type": "CopyOnWrite"}}}}'   (refused, and why)
  {REMOVE if CURRENT else "make cluster-down"}   (when you have seen enough)"""


if __name__ == "__main__":
    main()
