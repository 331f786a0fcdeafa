"""The whole demonstration, from nothing to a checked table: `make demo`."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from demo.flights import read_flights, waves
from demo.screen import Screen
from toolkit.cluster import ROOT, Cluster, CommandFailed, Document
from toolkit.store import Store

NAMESPACE, NAME = "team-a", "flights"
LANDING = f"landing/{NAMESPACE}/{NAME}"
DELIVERIES = 4
WAVE_SECONDS = 300
EXAMPLES = ROOT / "examples" / "demo"


class DemoFailed(Exception):
    """The demonstration did not show what it promises; the message says what failed."""


def main() -> None:
    """Run the demonstration; exit with 1 and the places to look at when it fails."""
    cluster = Cluster()
    screen = Screen()
    try:
        prepare(cluster, screen)
        delivered = deliver(cluster, screen)
        verify(cluster, screen)
    except (DemoFailed, CommandFailed) as error:
        screen.say(f"FAILED: {error}")
        print(where_to_look(), flush=True)
        sys.exit(1)
    print(what_next(delivered), flush=True)


def prepare(cluster: Cluster, screen: Screen) -> None:
    """Start an empty cluster and install the operator, the class and the table."""
    for command in (("dev/cluster", "up", "--fresh"), ("dev/images",)):
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            raise DemoFailed(f"`{' '.join(command)}` failed; the lines above say why")
    screen.say("installing the chart")
    cluster.install_operator(values={"operator": {"pollSeconds": 5}})
    cluster.make_tenant(NAMESPACE)
    screen.say("applying examples/demo: one HudiTableClass, one HudiTable")
    cluster.apply(EXAMPLES / "class.yaml", EXAMPLES / "flights.yaml")


def deliver(cluster: Cluster, screen: Screen) -> int:
    """Bring the year's flights in deliveries, and wait for each to be in the table; return the number of files."""
    store = Store(cluster.s3)
    screen.say("reading the flights of 2013")
    flights = read_flights()
    delivered = 0
    read: dict[str, int] = {}
    with screen:
        for number, wave in enumerate(waves(flights, number=DELIVERIES), start=1):
            for file in wave:
                store.put(f"{LANDING}/{file.name}", file.content)
            delivered += len(wave)
            rows = sum(file.rows for file in wave)
            screen.say(f"delivery {number}: {len(wave)} files with {rows:,} rows are in s3://{LANDING}")
            await_files(cluster, screen, delivered, read)
    return delivered


def await_files(cluster: Cluster, screen: Screen, delivered: int, read: dict[str, int]) -> None:
    """Wait until the table's runs have read all files that were delivered."""
    deadline = time.monotonic() + WAVE_SECONDS
    while time.monotonic() < deadline:
        table = cluster.get("huditable", NAME, namespace=NAMESPACE) or {}
        status = table.get("status") or {}
        for run in status.get("history") or ():
            if run["outcome"] == "Succeeded":
                read[run["job"]] = run.get("filesRead", 0)
        screen.show(table)
        if sum(read.values()) >= delivered:
            return
        fail_if_stuck(status)
        time.sleep(1)
    raise DemoFailed(f"{sum(read.values())} of {delivered} files were read within {WAVE_SECONDS} s")


def fail_if_stuck(status: Document) -> None:
    """Give up when runs keep failing."""
    ingestion = (status.get("services") or {}).get("ingestion") or {}
    if ingestion.get("failures", 0) >= 3:
        raise DemoFailed(f"ingestion failed three times: {status.get('message')}")


def verify(cluster: Cluster, screen: Screen) -> None:
    """Compare the table with the original data."""
    screen.say("comparing the table with the original data, every row and value")
    jars = fetch_jars()
    environment = {
        **os.environ,
        "AWS_ACCESS_KEY_ID": cluster.s3.access_key,
        "AWS_SECRET_ACCESS_KEY": cluster.s3.secret_key,
        "AWS_REGION": cluster.s3.region,
    }
    log = ROOT / ".dev" / "logs" / "verify.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    table = f"s3a://lake/{NAMESPACE}/{NAME}"
    with log.open("w") as errors:
        done = subprocess.run(
            (sys.executable, str(Path(__file__).parent / "verify.py"), table, cluster.s3.endpoint, jars),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            check=False,
        )
    if done.returncode != 0:
        raise DemoFailed(f"the table could not be read; see {log}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if result["missingRows"] or result["unexpectedRows"] or result["expectedRows"] != result["actualRows"]:
        raise DemoFailed(f"the table does not hold the original data: {result}")
    screen.say(f"the table holds exactly the {result['actualRows']:,} original rows, every value as corrected")


def fetch_jars() -> str:
    """Return the jars of the Spark image, comma-separated, fetching those that are not there yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    jars = Path(os.environ.get("HUDI_OPERATOR_CACHE") or Path(base) / "hudi-operator") / "jars"
    repository = os.environ.get("MAVEN_REPOSITORY", "https://repo1.maven.org/maven2")
    image = ROOT / "dev" / "image"
    listing = image / "jars.txt"
    subprocess.run((sys.executable, str(image / "fetch_jars.py"), str(listing), str(jars), repository), check=True)
    paths = [line.split()[1] for line in listing.read_text().splitlines() if line and not line.startswith("#")]
    return ",".join(str(jars / Path(path).name) for path in paths)


def where_to_look() -> str:
    """Return where the logs are."""
    return (
        "Where to look:\n"
        "  export KUBECONFIG=.dev/kubeconfig; kubectl is in `dev/cluster tools`\n"
        f"  kubectl describe ht -n {NAMESPACE} {NAME}\n"
        "  kubectl logs -n hudi-operator deploy/hudi-operator\n"
        f"  kubectl logs -n {NAMESPACE} -l hudi-operator.io/role=driver --tail=50\n"
        "  .dev/logs holds the logs of the cluster itself"
    )


def what_next(delivered: int) -> str:
    """Return what a curious person may try now."""
    return f"""
{delivered} files went through the operator. The cluster is still running. Try:
  export KUBECONFIG=$PWD/.dev/kubeconfig PATH=$(dev/cluster tools):$PATH
  kubectl get ht -A -o wide
  kubectl describe ht -n {NAMESPACE} {NAME}
  kubectl patch ht -n {NAMESPACE} {NAME} --type merge -p '{{"spec": {{"suspend": true}}}}'
  kubectl patch ht -n {NAMESPACE} {NAME} --type merge -p '{{"spec": {{"type": "CopyOnWrite"}}}}'   (refused, and why)
  make cluster-down   (when you have seen enough)"""


if __name__ == "__main__":
    main()
