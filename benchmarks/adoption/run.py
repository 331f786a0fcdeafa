"""Adopts ten tables of five Hudi releases on a cluster by the steps of docs/guides/adopt.md alone, and times each step.

Every table is written on this machine by its release, copied to the S3 server, adopted, observed, managed until its
takeover is complete, and copied back; then its own release and Hudi 1.2.0 compare every row, and its own release writes
and restores once more.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.stage import Stage, condition_of
from tests.matrix.cases import Case
from tests.matrix.foreign import Foreign
from tests.whole_status import whole

from toolkit.cluster import Cluster
from toolkit.store import Store
from toolkit.writers import Writer

CASES = (
    Case("0.14.0", "CopyOnWrite", "dataframe", "UTC", "nothing", metadata_table=True),
    Case("0.14.0", "MergeOnRead", "hive", "UTC", "compaction", metadata_table=False),
    Case("0.15.0", "MergeOnRead", "dataframe", "UTC", "compaction", metadata_table=False),
    Case("0.15.0", "CopyOnWrite", "sql", "UTC", "nothing", metadata_table=True),
    Case("1.0.2", "CopyOnWrite", "encoded", "UTC", "savepoint", metadata_table=True),
    Case("1.0.2", "MergeOnRead", "hive", "UTC", "nothing", metadata_table=True),
    Case("1.1.1", "MergeOnRead", "unpartitioned", "UTC", "nothing", metadata_table=True),
    Case("1.1.1", "CopyOnWrite", "dataframe", "Asia/Tokyo", "nothing", metadata_table=True),
    Case("1.2.0", "MergeOnRead", "sql", "UTC", "compaction", metadata_table=True),
    Case("1.2.0", "CopyOnWrite", "no-meta-fields", "UTC", "nothing", metadata_table=False),
)
_PATIENCE = 1200.0


class Lake:
    """The tables of one namespace, on this machine and in the store."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.tenant = stage.tenant("adoption")
        self.root = f"lake/{self.tenant.name}"
        self.tables: dict[str, Foreign] = {}
        self.late: dict[str, list[tuple[Any, ...]]] = {}
        self._folder = folder

    def make(self) -> None:
        """Write each release's tables, one release at a time, and copy them to the store."""
        for foreign in self.with_writers(make=True):
            foreign.make()
            label = label_of(foreign.case)
            self.tables[label] = foreign
            self.late[label] = foreign.late_rows()
            files = [path for path in foreign.path.rglob("*") if path.is_file() and path.suffix != ".crc"]
            for file in files:
                self.stage.store.put(f"{self.root}/{label}/{file.relative_to(foreign.path)}", file.read_bytes())

    def fetch(self) -> None:
        """Copy the tables back to the paths that their tools know."""
        for label, foreign in self.tables.items():
            subprocess.run(("rm", "-rf", str(foreign.path)), check=True)
            prefix = f"{self.root.partition('/')[2]}/{label}/"
            for key in self.stage.store.files(f"{self.root}/{label}"):
                target = foreign.path / key.removeprefix(prefix)
                # The server lists the markers of folders too, but has no content for them.
                with suppress(FileNotFoundError):
                    content = self.stage.store.get(f"lake/{key}")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)

    def with_writers(self, *, make: bool = False) -> Iterator[Foreign]:
        """Yield each table with a process of its release and zone."""
        for version, zone in dict.fromkeys((case.version, case.zone) for case in CASES):
            with Writer(version, zone=zone) as writer:
                cases = [case for case in CASES if (case.version, case.zone) == (version, zone)]
                for case in cases:
                    if make:
                        yield Foreign(case, writer, self._folder / label_of(case) / "lake" / "flights")
                    else:
                        foreign = self.tables[label_of(case)]
                        foreign.writer = writer
                        if case.style == "sql":
                            writer.sql(f"CREATE TABLE {foreign.name} USING hudi LOCATION '{foreign.path}'")
                        yield foreign

    def compare(self, phase: str) -> None:
        """Compare every row as each table's own release reads it, before and after that release writes and restores."""
        for foreign in self.with_writers():
            label = label_of(foreign.case)
            self._same(foreign, label, phase)
            foreign.work_again()
            self._same(foreign, label, f"{phase}, then its own upsert, clean and restore")

    def compare_with_newest(self) -> None:
        """Compare every row as Hudi 1.2.0 reads it, with the metadata table and without."""
        with Writer("1.2.0") as writer:
            for label, foreign in self.tables.items():
                for metadata_table in (True, False):
                    found = writer.rows(foreign.path, "id", "word", metadata_table=metadata_table)
                    self._expect(label, found, f"1.2.0, metadata table {metadata_table}")

    def _same(self, foreign: Foreign, label: str, phase: str) -> None:
        self._expect(label, foreign.read(), phase)
        self._expect(label, foreign.writer.rows(foreign.path, "id", "word", metadata_table=False), phase)

    def _expect(self, label: str, found: list[tuple[Any, ...]], phase: str) -> None:
        expected = sorted({**self.tables[label].rows, **dict(self.late[label])}.items())
        if found != expected:
            sys.exit(f"{label}, {phase}: {found} instead of {expected}")


def label_of(case: Case) -> str:
    """Return a folder name that is valid in SQL too."""
    return "by-" + str(case).replace(".", "").lower()


def main() -> None:
    """Follow the guide and print the time of each step."""
    cluster = Cluster()
    cluster.install_operator(values={"operator": {"pollSeconds": 3, "maxPollSeconds": 10, "resyncSeconds": 60}})
    stage = Stage(cluster, Store(cluster.s3))
    stage.make_class(stage.class_name, takeover={"quietFor": "30s"})
    try:
        with tempfile.TemporaryDirectory() as folder:
            adopt_all(stage, Lake(stage, Path(folder)))
    finally:
        stage.clear()


def adopt_all(stage: Stage, lake: Lake) -> None:
    """Take the tables over, step by step."""
    with timed("ten tables written and copied"):
        lake.make()
    with timed("1. resources written"):
        documents = adopt(stage, lake)
    print(f"   {len(documents)} resources")
    for document in documents:
        decide(document)
    names = {document["metadata"]["name"] for document in documents}
    if len(names) != len(CASES):
        sys.exit(f"{len(names)} of {len(CASES)} tables can be managed")
    with timed("3. applied and observed without drift"):
        stage.cluster.apply(*documents)
        wait(stage, lake, names, lambda status: is_ready(status) and not status.get("findings"))
    with timed("4. quiet"):
        wait(stage, lake, names, lambda status: (status.get("takeover") or {}).get("phase") == "Quiet")
    with timed("5. managed until the first cycle is over"):
        for name in sorted(names):
            patch = '{"spec": {"managementPolicy": "Manage"}}'
            stage.cluster.kubectl("-n", lake.tenant.name, "patch", "ht", name, "--type", "merge", "-p", patch)
        wait(stage, lake, names, is_over)
    for name in sorted(names):
        table = stage.cluster.get("huditables", name, namespace=lake.tenant.name) or {}
        history = [f"{run['service']} {run['outcome']}" for run in reversed(whole(table)["history"])]
        print(f"   {table['spec']['basePath'].rpartition('/')[2]}: {', '.join(history)}")
    with timed("rows compared by every release, which then writes and restores"):
        lake.fetch()
        lake.compare_with_newest()
        lake.compare("after the first cycle")
        lake.compare_with_newest()


def adopt(stage: Stage, lake: Lake) -> list[dict[str, Any]]:
    """Run the command of the guide."""
    access = stage.cluster.s3
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": access.access_key,
        "AWS_SECRET_ACCESS_KEY": access.secret_key,
    }
    command = [str(Path(sys.executable).parent / "hudi-operator"), "adopt", f"s3a://{lake.root}"]
    command += ["--namespace", lake.tenant.name, "--class", stage.class_name]
    command += ["--s3-endpoint", access.endpoint, "--s3-region", access.region]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{done.stderr}")
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def decide(document: dict[str, Any]) -> None:
    """Make a person's decisions: the time zone of a copy, and the services to enable."""
    spec = document["spec"]
    if "tokyo" in spec["basePath"]:
        spec["timelineTimeZone"] = "Asia/Tokyo"
    spec["cleaning"] = {"retainCommits": 1, "trigger": {"commits": 1}}
    spec["archival"] = {"minCommits": 2, "maxCommits": 3}
    spec["clustering"] = {"mode": "Async", "trigger": {"commits": 1}, "plan": {"smallFileLimit": "100Mi"}}
    if spec["type"] == "MergeOnRead":
        spec["compaction"] = {"mode": "Async", "trigger": {"deltaCommits": 1}}


def is_ready(status: dict[str, Any]) -> bool:
    """Tell whether a table is ready and nothing of it runs."""
    return bool(condition_of(status, "Ready").get("status") == "True" and not status.get("jobs"))


def is_over(status: dict[str, Any]) -> bool:
    """Tell whether a takeover is complete: its savepoint is gone and nothing is due."""
    takeover = status.get("takeover") or {}
    services = (status.get("services") or {}).values()
    return (
        is_ready(status)
        and takeover.get("phase") == "Done"
        and takeover.get("protection") == "Over"
        and not any(service.get("due") for service in services if isinstance(service, dict))
    )


def wait(stage: Stage, lake: Lake, names: set[str], until: Callable[[dict[str, Any]], bool]) -> None:
    """Wait for all tables; print the reason for those that are not there yet."""
    deadline = time.monotonic() + _PATIENCE
    left = set(names)
    while left:
        for name in sorted(left):
            table = stage.cluster.get("huditables", name, namespace=lake.tenant.name) or {}
            status = table.get("status") or {}
            if status and until(status):
                left.discard(name)
            elif time.monotonic() > deadline:
                sys.exit(f"{name}: {yaml.safe_dump(status)}")
        time.sleep(1)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long a step took."""
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
