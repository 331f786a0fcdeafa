"""The whole demonstration, from nothing to a checked table: `make demo`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from demo.flights import SourceFile, read_flights, waves
from demo.screen import Screen
from toolkit.cluster import ROOT, Cluster, CommandFailed, Document
from toolkit.store import Store
from toolkit.zookeeper import ZooKeeper

NAMESPACE = "team-a"
TABLES = ("flights", "delays")
SERVICES = {"flights": ("compaction", "clustering", "cleaning"), "delays": ("clustering", "cleaning")}
LANDING = f"landing/{NAMESPACE}/flights"
DELIVERIES = 2
WAVE_SECONDS = 420
EXAMPLES = ROOT / "examples" / "demo"


class DemoFailed(Exception):
    """The demonstration did not show what it promises; the message says what failed."""


def main() -> None:
    """Run the demonstration; exit with 1 and the places to look at when it fails."""
    cluster = Cluster()
    screen = Screen()
    try:
        with ThreadPoolExecutor(max_workers=1) as reading:  # takes seconds, in which the cluster starts
            deliveries = reading.submit(lambda: list(waves(read_flights(), number=DELIVERIES)))
            prepare(cluster, screen)
        delivered = deliver(cluster, screen, deliveries.result())
        tell(cluster, screen)
        verify(cluster, screen)
    except (DemoFailed, CommandFailed) as error:
        screen.say(f"FAILED: {error}")
        print(where_to_look(), flush=True)
        sys.exit(1)
    print(what_next(delivered), flush=True)


def prepare(cluster: Cluster, screen: Screen) -> None:
    """Start an empty cluster and install the operator; what is downloaded comes while the cluster is compiled."""
    with in_background(("dev/images", "--bases"), (sys.executable, "-m", "toolkit.spark_home")):
        for command in (("dev/cluster", "up", "--fresh"), ("dev/images",)):
            if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
                raise DemoFailed(f"`{' '.join(command)}` failed; the lines above say why")
    screen.say("installing the chart, and a ZooKeeper for the lock of the table that others may write")
    cluster.install_operator(values={"operator": {"pollSeconds": 3}})
    cluster.make_tenant(NAMESPACE)
    ZooKeeper(cluster).start()


@contextmanager
def in_background(*commands: tuple[str, ...]) -> Iterator[None]:
    """Begin what is needed later; what fails there, or is not done in time, is done again when it is needed."""
    log = ROOT / ".dev" / "logs" / "downloads.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        running = [subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output) for command in commands]
        try:
            yield
        finally:
            for process in running:
                process.terminate()


def deliver(cluster: Cluster, screen: Screen, deliveries: list[list[SourceFile]]) -> int:
    """Bring the year's flights in deliveries, each when the tables have read the one before; return how many files.

    The last two wait for the services as well, so that the corrections come to tables that were serviced.
    """
    store = Store(cluster.s3)
    delivered = 0
    progress = Progress()
    with screen:
        for number, wave in enumerate(deliveries, start=1):
            for file in wave:
                store.put(f"{LANDING}/{file.name}", file.content)
            delivered += len(wave)
            rows = sum(file.rows for file in wave)
            screen.say(f"delivery {number}: {len(wave)} files with {rows:,} rows are in s3://{LANDING}")
            if number == 1:
                screen.say("applying examples/demo: one HudiTableClass, two HudiTables")
                cluster.apply(*(EXAMPLES / f"{name}.yaml" for name in ("class", *TABLES)))
            else:
                ask_for_a_run(cluster, number)
            await_tables(cluster, screen, delivered, progress, until=bool if number < DELIVERIES else at_rest)
    return delivered


def ask_for_a_run(cluster: Cluster, number: int) -> None:
    """Ask for ingestion now, as whatever delivers the files would; the schedule would find them a little later."""
    wish = f"hudi-operator.io/requestedAt=delivery-{number}"
    cluster.kubectl("annotate", "ht", "-n", NAMESPACE, *TABLES, wish, "--overwrite")


class Progress:
    """What the tables' runs have done so far, collected from statuses that remember only the newest."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, int]] = {name: {} for name in TABLES}

    def learn(self, name: str, status: Document) -> None:
        """Take in the runs that a status shows."""
        for run in status.get("history") or ():
            if run["service"] == "Ingestion" and run["outcome"] == "Succeeded":
                self._files[name][run["job"]] = run.get("filesRead", 0)

    def files(self, name: str) -> int:
        """Return how many source files a table has read."""
        return sum(self._files[name].values())


def await_tables(
    cluster: Cluster,
    screen: Screen,
    delivered: int,
    progress: Progress,
    until: Callable[[Document], bool],
) -> None:
    """Wait until both tables have read all files that were delivered, and their statuses are as they should be."""
    deadline = time.monotonic() + WAVE_SECONDS
    while time.monotonic() < deadline:
        documents = {name: cluster.get("huditable", name, namespace=NAMESPACE) or {} for name in TABLES}
        statuses = {name: document.get("status") or {} for name, document in documents.items()}
        for name, status in statuses.items():
            progress.learn(name, status)
            fail_if_stuck(name, status)
        screen.show([document for document in documents.values() if document])
        if all(progress.files(name) >= delivered and until(status) for name, status in statuses.items()):
            return
        time.sleep(1)
    read = {name: progress.files(name) for name in TABLES}
    raise DemoFailed(
        f"within {WAVE_SECONDS} s the tables have read {read} of {delivered} files, or have services to run"
    )


def at_rest(status: Document) -> bool:
    """Tell whether no Job runs and no service is due."""
    services = (status.get("services") or {}).values()
    return not status.get("activeJobs") and not any(service.get("due") for service in services)


def fail_if_stuck(name: str, status: Document) -> None:
    """Give up when the runs of a service keep failing."""
    for service, state in (status.get("services") or {}).items():
        if state.get("failures", 0) + state.get("infrastructureFailures", 0) >= 3:
            raise DemoFailed(f"{service} of {name} failed three times: {status.get('message')}")


def tell(cluster: Cluster, screen: Screen) -> None:
    """Tell the story of each table's instants, and check that every service has had its part."""
    for name in TABLES:
        status = (cluster.get("huditable", name, namespace=NAMESPACE) or {})["status"]
        screen.tell(name, status)
        for service in SERVICES[name]:
            last = status["services"][service].get("lastRun") or {}
            if last.get("outcome") not in {"Succeeded", "NothingToDo"}:
                raise DemoFailed(f"{service} of {name} has not run: {status['services'][service].get('message')}")


def verify(cluster: Cluster, screen: Screen) -> None:
    """Compare the tables with the original data."""
    screen.say("comparing the tables with the original data, every row and value")
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": cluster.s3.access_key,
        "AWS_SECRET_ACCESS_KEY": cluster.s3.secret_key,
        "AWS_REGION": cluster.s3.region,
    }
    log = ROOT / ".dev" / "logs" / "verify.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    tables = [f"s3a://lake/{NAMESPACE}/{name}" for name in TABLES]
    with log.open("w") as errors:
        done = subprocess.run(
            (sys.executable, str(Path(__file__).parent / "verify.py"), cluster.s3.endpoint, *tables),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            check=False,
        )
    if done.returncode != 0:
        raise DemoFailed(f"the tables could not be read; see {log}")
    results: dict[str, dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    for table, result in results.items():
        if result["missingRows"] or result["unexpectedRows"] or result["expectedRows"] != result["actualRows"]:
            raise DemoFailed(f"{table} does not hold the original data: {result}")
        screen.say(f"{table} holds exactly the {result['actualRows']:,} rows that it should, every value as corrected")


def where_to_look() -> str:
    """Return where the logs are."""
    return (
        "Where to look:\n"
        "  export KUBECONFIG=.dev/kubeconfig; kubectl is in `dev/cluster tools`\n"
        f"  kubectl describe ht -n {NAMESPACE} flights\n"
        "  kubectl logs -n hudi-operator -l app.kubernetes.io/component=operator --prefix\n"
        f"  kubectl logs -n {NAMESPACE} -l hudi-operator.io/role=driver --tail=50\n"
        "  .dev/logs holds the logs of the cluster itself"
    )


def what_next(delivered: int) -> str:
    """Return what a curious person may try now."""
    return f"""
{delivered} files went through the operator. The cluster is still running. Try:
  export KUBECONFIG=$PWD/.dev/kubeconfig PATH=$(dev/cluster tools):$PATH
  kubectl get ht -A -o wide
  kubectl describe ht -n {NAMESPACE} flights
  kubectl patch ht -n {NAMESPACE} flights --type merge -p '{{"spec": {{"suspend": true}}}}'
  kubectl patch ht -n {NAMESPACE} flights --type merge -p '{{"spec": {{"type": "CopyOnWrite"}}}}'   (refused, and why)
  make cluster-down   (when you have seen enough)"""


if __name__ == "__main__":
    main()
