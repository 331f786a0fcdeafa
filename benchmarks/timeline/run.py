"""Measures one read of a timeline: this reader, Hudi's Java meta client, hudi-rs and bare listings, in one run.

    .venv/bin/python benchmarks/timeline/run.py [--sizes 250 2000 10000] [--reads 30] [--without java s3 hudi-rs]

Prints a table in Markdown and writes `results.json` beside this file. Needs a JDK for the Java part. The S3 server is
the versitygw of `make cluster-up` where it has been built, else moto's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "fixtures" / "timeline" / "generator")]

from make_fixtures import ORACLE, cache  # noqa: E402 - the generator knows the jars and interpreters
from object_store import ObjectStore, running_store  # noqa: E402
from synthetic import late_delta_commit, real_contents, synthetic_files, write_locally  # noqa: E402

from hudi_operator.storage import open_filesystem  # noqa: E402
from hudi_operator.timeline import ContentCache, TimelineReader  # noqa: E402

Row = dict[str, Any]
HUDI_RS = "0.5.0"


def median_of(read: Callable[[], object], reads: int, before_each: Callable[[], object] | None = None) -> float:
    """Run once to warm up, then return the median milliseconds."""
    read()
    times = []
    for _ in range(reads):
        if before_each:
            before_each()
        started = time.perf_counter()
        read()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def our_reader(url: str, reads: int, store: ObjectStore | None, put: Callable[[dict[str, bytes]], object]) -> Row:
    """Measure reads of an unknown table, of a known table with a new instant, and of an unchanged one.

    `put` writes files of the table; a delta commit completes before every read of the table that moves.
    """
    filesystem, path = open_filesystem(url, store.options if store else None)
    known = TimelineReader(filesystem)
    moments = iter(range(10_000))

    def unknown() -> object:
        return TimelineReader(filesystem, ContentCache()).read(path)

    def read() -> object:
        return known.read(path)

    def move() -> object:
        return put(late_delta_commit(next(moments)))

    row: Row = {}
    for name, what, before_each in (
        ("unknown table", unknown, None),
        ("unmoved table", read, None),
        ("moved table", read, move),
    ):
        before = store.requests() if store else 0
        row[name] = median_of(what, reads, before_each)
        if store:
            # The first reads warm up; three uploads move the table.
            uploads = 3 * reads if before_each else 0
            row[f"{name}, requests"] = round((store.requests() - before - uploads) / (reads + 1), 1)
    return row


def bare_listings(url: str, reads: int, store: ObjectStore | None) -> Row:
    """Measure a listing alone."""
    if store is None:
        folder = f"{url}/.hoodie/timeline"
        local = pafs.LocalFileSystem()
        return {
            "os.scandir": median_of(lambda: [entry.name for entry in os.scandir(folder)], reads),
            "pyarrow listing": median_of(lambda: local.get_file_info(pafs.FileSelector(folder)), reads),
        }
    remote = pafs.S3FileSystem(
        endpoint_override=store.options.endpoint.removeprefix("http://"),
        scheme="http",
        access_key=store.options.access_key,
        secret_key=store.options.secret_key,
        region="us-east-1",
    )
    folder = f"{url.removeprefix('s3a://')}/.hoodie/timeline"
    filesystem, path = open_filesystem(url, store.options)
    row: Row = {}
    for name, read in (
        ("pyarrow listing", lambda: remote.get_file_info(pafs.FileSelector(folder))),
        ("obstore listing", lambda: filesystem.list_directory((path / ".hoodie/timeline").path)),
    ):
        row[name] = median_of(read, reads)
        before = store.requests()
        read()
        row[f"{name}, requests"] = store.requests() - before
    return row


def java(url: str, reads: int, store: ObjectStore | None, classes: Path) -> Row:
    """Measure `HoodieTableMetaClient` in its own JVM: the whole process, reloads, reloads with counting."""
    settings = []
    if store:
        settings = [
            f"fs.s3a.endpoint={store.options.endpoint}",
            f"fs.s3a.access.key={store.options.access_key}",
            f"fs.s3a.secret.key={store.options.secret_key}",
            "fs.s3a.path.style.access=true",
            "fs.s3a.connection.ssl.enabled=false",
        ]
    command = ["java", "-cp", java_classpath(classes), "JavaMetaClient", url, str(reads), *settings]
    before = store.requests() if store else 0
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1200).stdout
    found = dict(line.split() for line in printed.splitlines() if len(line.split()) == 2)
    row: Row = {
        "Java reload": float(found["reloaded"]),
        "Java reload and count": float(found["counted"]),
    }
    if store:
        # The warm-up and the measured reads of both kinds, and the first read, which asks for somewhat more.
        row["Java reload, requests"] = round((store.requests() - before) / (4 * reads + 1), 1)
    command[command.index(str(reads))] = "1"
    started = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, timeout=1200)
    row["Java, whole process"] = (time.perf_counter() - started) * 1000
    return row


def java_classpath(classes: Path) -> str:
    """Return the class path of the Java part: Hudi, Spark's Hadoop, and Hadoop's S3 client."""
    find = "import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent / 'jars')"
    hadoop = Path(subprocess.check_output([ORACLE.python, "-c", find], text=True).strip())
    s3 = [cache() / "jars" / name for name in ("hadoop-aws-3.3.4.jar", "aws-java-sdk-bundle-1.12.262.jar")]
    return ":".join(map(str, [classes, ORACLE.jar, *(jar for jar in s3 if jar.exists()), hadoop / "*"]))


def compile_java(target: Path) -> Path:
    """Compile the Java part."""
    source = HERE / "JavaMetaClient.java"
    subprocess.run(["javac", "-d", target, "-cp", java_classpath(target), source], check=True, capture_output=True)
    return target


def hudi_rs(url: str, reads: int, store: ObjectStore | None) -> Row:
    """Measure hudi-rs, which lists completed instants of three actions only."""
    venv = cache() / "venvs" / f"hudi-rs-{HUDI_RS}"
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"hudi=={HUDI_RS}"], check=True)
    options = {}
    if store:
        options = {
            "aws_endpoint": store.options.endpoint,
            "aws_access_key_id": store.options.access_key,
            "aws_secret_access_key": store.options.secret_key,
            "aws_region": "us-east-1",
            "aws_allow_http": "true",
        }
    before = store.requests() if store else 0
    command = [python, HERE / "hudi_rs.py", url, str(reads), json.dumps(options)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1200).stdout
    row: Row = {"hudi-rs": json.loads(printed)["median"]}
    if store:
        row["hudi-rs, requests"] = round((store.requests() - before) / (reads + 1), 1)
    return row


def command_line(url: str, reads: int) -> Row:
    """Measure the whole command, from its start to its end."""
    program = "import sys; from hudi_operator.cli.main import run; sys.argv = sys.argv[1:]; run()"
    command = [sys.executable, "-c", program, "hudi-operator", "timeline", "-o", "json", url]
    return {
        "command, whole process": median_of(lambda: subprocess.run(command, check=True, capture_output=True), reads)
    }


def measure(sizes: list[int], reads: int, without: set[str]) -> dict[str, dict[str, Row]]:
    """Measure everything on every size, locally and on S3."""
    results: dict[str, dict[str, Row]] = {"local": {}, "S3": {}}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        classes = compile_java(work / "classes") if "java" not in without else work
        with tarfile.open(ROOT / "tests/fixtures/timeline/tables/1.2.0-mor-compaction.tar.gz") as archive:
            archive.extractall(work / "real", filter="data")
        contents = real_contents(work / "real")
        for size in sizes:
            files = synthetic_files(contents, size)
            base = work / str(size)
            write_locally(files, base)
            url = str(base)
            row = {
                **our_reader(url, reads, None, partial(write_locally, base=base)),
                **command_line(url, 5),
                **bare_listings(url, reads, None),
            }
            row |= {} if "hudi-rs" in without else hudi_rs(url, reads, None)
            row |= {} if "java" in without else java(url, reads, None, classes)
            results["local"][str(len(files) - 1)] = row
            print(f"local {size}: {row}", file=sys.stderr, flush=True)
        if "s3" not in without:
            with running_store(work) as store:
                for size in sizes:
                    files = synthetic_files(contents, size)
                    url = store.upload(files, f"bench/{size}")
                    few = max(5, reads // 3)
                    row = {
                        **our_reader(url, few, store, partial(store.upload, prefix=f"bench/{size}")),
                        **bare_listings(url, few, store),
                    }
                    row |= {} if "hudi-rs" in without else hudi_rs(url, few, store)
                    row |= {} if "java" in without else java(url, few, store, classes)
                    results["S3"][str(len(files) - 1)] = row
                    print(f"S3 {size}: {row}", file=sys.stderr, flush=True)
    return results


def as_markdown(results: dict[str, dict[str, Row]]) -> str:
    """Format the results as tables: one column per size, one row per kind of read."""
    lines = []
    for place, columns in results.items():
        if not columns:
            continue
        kinds = list(dict.fromkeys(kind for row in columns.values() for kind in row))
        lines += ["", f"| {place}, median ms | " + " | ".join(f"{size} files" for size in columns) + " |"]
        lines += ["| --- |" + " ---: |" * len(columns)]
        for kind in kinds:
            if kind.endswith(", requests"):
                continue
            cells = []
            for row in columns.values():
                requests = row.get(f"{kind}, requests")
                cells.append(f"{row[kind]:.2f}" + (f" ({requests} requests)" if requests is not None else ""))
            lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines).strip()


def main() -> int:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 2000, 10000])
    parser.add_argument("--reads", type=int, default=30)
    parser.add_argument("--without", nargs="*", choices=["java", "hudi-rs", "s3"], default=[])
    arguments = parser.parse_args()
    results = measure(arguments.sizes, arguments.reads, set(arguments.without))
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "reads": arguments.reads}
    (HERE / "results.json").write_text(json.dumps({"machine": machine, **results}, indent=1) + "\n")
    print(as_markdown(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
