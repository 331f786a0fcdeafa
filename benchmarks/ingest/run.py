"""Compares the operator's driver with a bare spark-submit of the same Hudi write: one ratio of wall times.

    uv run --frozen python benchmarks/ingest/run.py [--rows 400000] [--repetitions 5] [--master 'local[2]']

Both read the same CSV files with the same schema into a new table with the same Hudi options and Spark settings, each
in its own process, by turns. The driver does more: it lists, reads the checkpoint, looks for bad rows and keys,
checks the schema, and confirms the commit. The goal is a ratio of medians of at most 1.05.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark

from hudi_jobs.contract import (
    FileFormat,
    FileSource,
    IngestionTableTask,
    IngestionTask,
    JobRequest,
    TableDefinition,
    TableType,
    WriteOperation,
    decode_outcome,
)
from hudi_jobs.spark.session import spark_settings
from hudi_operator.api.resources import HudiTable
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options
from hudi_operator.jobs.settings.spark_conf import JAVA_OPTIONS, SMALL_JVM

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dev"))

from toolkit.jars import fetch_jars
from toolkit.spark_home import OUR_JAR, spark_home

SCHEMA = "id BIGINT, carrier STRING, flight INT, origin STRING, delay DOUBLE, at TIMESTAMP, month INT, observed BIGINT"
READER = {"header": "true"}


def main() -> None:
    arguments = parse_arguments()
    work = Path(tempfile.mkdtemp(prefix="bench-ingest-"))
    try:
        source = write_input(work / "in", arguments.rows)
        conf = settings(arguments.master)
        times: dict[str, list[float]] = {"driver": [], "bare": []}
        for turn in range(arguments.repetitions + 1):
            for name in ("driver", "bare") if turn % 2 else ("bare", "driver"):
                run = run_driver if name == "driver" else run_bare
                folder = work / f"{name}-{turn}"
                folder.mkdir()
                seconds = run(folder, source, conf, arguments.rows)
                shutil.rmtree(folder)
                warm = turn > 0
                print(f"{name:7} {seconds:6.1f} s{'' if warm else '  (warm-up, not counted)'}", flush=True)
                if warm:
                    times[name].append(seconds)
        report(times)
    finally:
        shutil.rmtree(work)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--master", default="local[2]")
    return parser.parse_args()


def write_input(folder: Path, rows: int, files: int = 4) -> Path:
    folder.mkdir()
    numbers = random.Random(1)
    for part in range(files):
        with (folder / f"{part}.csv").open("w") as file:
            file.write("id,carrier,flight,origin,delay,at,month,observed\n")
            for key in range(part * rows // files, (part + 1) * rows // files):
                carrier, origin = numbers.choice(["AA", "UA", "DL", "B6"]), numbers.choice(["JFK", "LGA", "EWR"])
                delay, month = numbers.randint(-20, 300), key % 3 + 1
                moment = f"2013-{month:02}-{key % 28 + 1:02}T{key % 24:02}:{key % 60:02}:00Z"
                file.write(f"{key},{carrier},{numbers.randint(1, 6000)},{origin},{delay}.5,{moment},{month},{key}\n")
    return folder


def settings(master: str) -> dict[str, str]:
    return {
        "spark.master": master,
        "spark.driver.memory": "2g",
        "spark.driver.extraClassPath": ":".join(map(str, (spark_home() / "lib" / OUR_JAR, *fetch_jars()))),
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {SMALL_JVM} -Xms2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
    }


def definition(folder: Path) -> TableDefinition:
    return TableDefinition(
        name="flights",
        base_path=str(folder / "table"),
        type=TableType.COPY_ON_WRITE,
        record_key=("id",),
        partition_by=("month",),
        ordering_fields=("observed",),
    )


def hudi_options(table: TableDefinition) -> dict[str, str]:
    spec = {
        "basePath": "s3a://lake/flights",
        "type": table.type,
        "recordKey": table.record_key,
        "partitionBy": table.partition_by,
        "orderingFields": table.ordering_fields,
        "tableName": table.name,
    }
    return owned_hudi_options(
        HudiTable.model_validate({"metadata": {"name": "flights", "namespace": "a"}, "spec": spec})
    )


def run_driver(folder: Path, source: Path, conf: dict[str, str], rows: int) -> float:
    table = definition(folder)
    files = FileSource(path=str(source), format=FileFormat.CSV, options=READER, schema_ddl=SCHEMA)
    task = IngestionTableTask(
        id="flights",
        table=table,
        hudi_options=hudi_options(table),
        ingestion=IngestionTask(source=files, operation=WriteOperation.UPSERT),
    )
    request = JobRequest(run=folder.name, spark_conf=conf, tasks=(task,))
    (folder / "request.json").write_text(request.model_dump_json(by_alias=True))
    variables = {"HUDI_JOB_REQUEST": str(folder / "request.json"), "HUDI_JOB_OUTCOME": str(folder / "outcome.json")}
    seconds = timed(folder, [sys.executable, "-m", "hudi_jobs"], variables)
    result = decode_outcome((folder / "outcome.json").read_text()).result_of(task.id)
    if result is None or result.rows_read != rows:
        sys.exit(f"the driver did not do the work: {result}")
    return seconds


def run_bare(folder: Path, source: Path, conf: dict[str, str], rows: int) -> float:
    del rows
    table = definition(folder)
    options = {**hudi_options(table), "hoodie.datasource.write.operation": "upsert"}
    document = {"schema": SCHEMA, "reader": READER, "source": str(source), "options": options, "table": table.base_path}
    (folder / "settings.json").write_text(json.dumps(document))
    submit = [str(Path(pyspark.__file__).parent / "bin/spark-submit")]
    for key, value in spark_settings(conf).items():
        submit += ["--conf", f"{key}={value}"]
    variables = {"PYSPARK_PYTHON": sys.executable}
    return timed(folder, [*submit, str(Path(__file__).parent / "bare.py"), str(folder / "settings.json")], variables)


def timed(folder: Path, command: list[str], variables: dict[str, str]) -> float:
    with (folder / "log.txt").open("w") as log:
        began = time.monotonic()
        done = subprocess.run(command, env={**os.environ, **variables}, stdout=log, stderr=log, check=False)
        seconds = time.monotonic() - began
    if done.returncode:
        sys.exit((folder / "log.txt").read_text())
    return seconds


def report(times: dict[str, list[float]]) -> None:
    middle = {name: statistics.median(values) for name, values in times.items()}
    least = {name: min(values) for name, values in times.items()}
    print(f"medians: driver {middle['driver']:.1f} s, bare {middle['bare']:.1f} s")
    print(f"ratio of medians {middle['driver'] / middle['bare']:.3f}, of minima {least['driver'] / least['bare']:.3f}")
    # Both runs of a turn see the same machine, whose speed may change between turns.
    ratios = [driver / bare for driver, bare in zip(times["driver"], times["bare"], strict=True)]
    each = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    print(f"ratios of the turns {each}; median {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
