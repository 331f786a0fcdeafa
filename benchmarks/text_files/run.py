"""Compares the processor time of text file ingestions by the drivers of two checkouts: the ratio of the medians.

    python benchmarks/text_files/run.py OTHER_CHECKOUT [--pairs 8] [--rows 200000]

A checkout has its own `.venv`. Each ingestion is one process with a JVM below it, into a new table; the seconds are
those of all its processes. The first pair warms up and does not count. The goal is a ratio of at most 1.05.
"""

import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dev"))

from toolkit.spark_home import spark_home

HERE = Path(__file__).resolve().parents[2]
COLUMNS = (
    "id BIGINT, carrier STRING, flight INT, origin STRING, delay DOUBLE, at TIMESTAMP, day DATE, price DECIMAL(10,2), "
    "late BOOLEAN, month INT"
)
NAMES = [column.split()[0] for column in COLUMNS.split(", ")]
SMALL_FILES = 1_000
_PR_SET_CHILD_SUBREAPER = 36
INPUTS = ("csv", "json", "small")


def main() -> None:
    arguments = parse_arguments()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphaned JVMs become children of this process
    work = Path(tempfile.mkdtemp(prefix="bench-text-files-"))
    checkouts = {"this": HERE, "other": arguments.other.resolve()}
    try:
        write_inputs(work, arguments.rows)
        for name in arguments.inputs:
            compare(work, name, checkouts, arguments.pairs)
    finally:
        shutil.rmtree(work)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--inputs", nargs="+", choices=INPUTS, default=INPUTS)
    return parser.parse_args()


def compare(work: Path, name: str, checkouts: dict[str, Path], pairs: int) -> None:
    seconds: dict[str, list[float]] = {which: [] for which in checkouts}
    for pair in range(pairs + 1):
        for which in ("this", "other") if pair % 2 else ("other", "this"):
            spent = ingested(work, name, checkouts[which])
            print(f"{name:6} {which:6} {spent:6.1f} s{'' if pair else '  (warm-up, not counted)'}", flush=True)
            if pair:
                seconds[which].append(spent)
    middle = {which: statistics.median(values) for which, values in seconds.items()}
    ratio = middle["this"] / middle["other"]
    print(f"{name}: this {middle['this']:.1f} s, other {middle['other']:.1f} s, ratio {ratio:.3f}", flush=True)


def write_inputs(work: Path, rows: int) -> None:
    for name in INPUTS:
        (work / name).mkdir()
    numbers = random.Random(1)
    made = [row(numbers, key) for key in range(rows)]
    for part in range(4):
        mine = made[part * rows // 4 : (part + 1) * rows // 4]
        write_csv(work / "csv" / f"{part}.csv", mine)
        lines = (json.dumps(dict(zip(NAMES, values, strict=True))) + "\n" for values in mine)
        (work / "json" / f"{part}.json").write_text("".join(lines))
    for part in range(SMALL_FILES):
        write_csv(work / "small" / f"{part}.csv", made[part * 5 : part * 5 + 5])


def row(numbers: random.Random, key: int) -> tuple[object, ...]:
    day = f"2013-{key % 12 + 1:02}-{key % 28 + 1:02}"
    at, price = f"{day}T{key % 24:02}:{key % 60:02}:00Z", f"{numbers.randint(1, 999)}.{numbers.randint(10, 99)}"
    carrier, delay = numbers.choice(["AA", "UA", "DL"]), numbers.randint(-20, 300) + 0.5
    return key, carrier, numbers.randint(1, 6000), "JFK", delay, at, day, price, bool(key % 2), key % 12 + 1


def write_csv(path: Path, rows: list[tuple[object, ...]]) -> None:
    lines = (",".join(str(value).lower() if isinstance(value, bool) else str(value) for value in each) for each in rows)
    path.write_text("\n".join([",".join(NAMES), *lines]) + "\n")


def ingested(work: Path, name: str, checkout: Path) -> float:
    folder = Path(tempfile.mkdtemp(dir=work))
    (folder / "request.json").write_text(request_of(work / name, folder, checkout))
    home = {"SPARK_HOME": str(spark_home())}
    files = {"HUDI_JOB_REQUEST": folder / "request.json", "HUDI_JOB_OUTCOME": folder / "outcome.json"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "log.txt").open("w") as log:
        command = [str(checkout / ".venv/bin/python"), "-m", "hudi_jobs"]
        environment = {**os.environ, **home, **{key: str(path) for key, path in files.items()}}
        done = subprocess.run(command, env=environment, stdout=log, stderr=log, check=False, cwd=checkout)
    wait_for_jvm()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (result,) = json.loads((folder / "outcome.json").read_text())["results"]
    if done.returncode or result.get("rowsQuarantined"):
        sys.exit(f"{result}\n{(folder / 'log.txt').read_text()[-2_000:]}")
    shutil.rmtree(folder)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wait_for_jvm() -> None:
    """Wait for the JVM, which outlives its driver: only waited-for processes are counted."""
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def request_of(source: Path, folder: Path, checkout: Path) -> str:
    """Return the request that a checkout's operator would write."""
    script = Path(__file__).with_name("request.py")
    file_format = "json" if source.name == "json" else "csv"
    arguments = [str(source), file_format, str(folder / "table"), COLUMNS]
    command = [str(checkout / ".venv/bin/python"), str(script), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, cwd=checkout).stdout


if __name__ == "__main__":
    main()
