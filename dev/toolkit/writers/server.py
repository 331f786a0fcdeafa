"""A Spark session with one Hudi release: `server.py JAR ZONE` reads a JSON command per line and writes a reply.

The server runs on the release's PySpark and imports nothing else. A command is `{"call": NAME, ...}` with the arguments
of a function below; a reply is `{"value": ...}` or `{"error": ...}`. Spark's output goes to stderr.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, DecimalType, StringType, StructField, StructType, TimestampType

# Hudi measures records with JOL, which attaches a debugger and stops the JVM for seconds.
_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m -XX:+UseSerialGC "
    "-Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true"
)
_AS_TEXT = (DateType, TimestampType, DecimalType)
_VALIDATOR = "hoodie.precommit.validators"
_CALLS: dict[str, Callable[..., Any]] = {}


def call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function as a command under its name."""
    _CALLS[function.__name__] = function
    return function


class Writes(dict[str, threading.Thread]):
    """Writes waiting at their gate, by the gate's file name."""

    failures: dict[str, str]

    def __init__(self) -> None:
        super().__init__()
        self.failures = {}


SPARK: SparkSession
BEGUN = Writes()


def open_session(jar: str, zone: str) -> SparkSession:
    """Start a JVM in a time zone; nothing is downloaded, because the jar holds all of Hudi."""
    settings = {
        "spark.driver.extraClassPath": jar,
        "spark.driver.extraJavaOptions": f"{_JAVA} -Duser.timezone={zone}",
        "spark.driver.memory": "900m",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.warehouse.dir": f"{Path.cwd()}/warehouse",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    # Two threads, because a write waiting at its gate occupies one.
    builder = SparkSession.builder.master("local[2]").appName("writer")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.udf.register("pass_gate", _pass_gate, "boolean")
    return session


def _pass_gate(gate: str) -> bool:
    """Wait until the gate file says whether the write continues."""
    Path(f"{gate}.reached").touch()
    while not (said := Path(gate).read_text().strip() if Path(gate).exists() else ""):
        time.sleep(0.05)
    if said != "go":
        raise RuntimeError("this write was told to fail")
    return True


def _frame(columns: str, rows: Sequence[Sequence[Any]]) -> DataFrame:
    """Return JSON rows as a frame; values of types that JSON lacks come as text."""
    wanted = SPARK.createDataFrame([], columns).schema
    read = [
        StructField(one.name, StringType() if isinstance(one.dataType, _AS_TEXT) else one.dataType) for one in wanted
    ]
    frame = SPARK.createDataFrame([tuple(row) for row in rows], StructType(read)).coalesce(1)
    return frame.select(*(frame[one.name].cast(one.dataType) for one in wanted))


@call
def write(path: str, columns: str, rows: Sequence[Sequence[Any]], options: dict[str, str], mode: str) -> None:
    """Write a DataFrame."""
    _frame(columns, rows).write.format("hudi").options(**options).mode(mode).save(path)


@call
def begin(path: str, columns: str, rows: Sequence[Sequence[Any]], options: dict[str, str], gate: str) -> None:
    """Write a DataFrame until all files exist and nothing is committed, and wait there.

    Hudi validates a commit at that moment with a given SQL query.
    """
    validated = {
        _VALIDATOR: "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator",
        f"{_VALIDATOR}.single.value.sql.queries": f"SELECT pass_gate('{gate}')#true",
    }

    def run() -> None:
        try:
            write(path, columns, rows, {**options, **validated}, "append")
        except Exception as error:  # noqa: BLE001 - told by `finish`
            BEGUN.failures[gate] = str(error)

    BEGUN[gate] = threading.Thread(target=run, daemon=True)
    BEGUN[gate].start()
    while not Path(f"{gate}.reached").exists():
        if not BEGUN[gate].is_alive():
            raise RuntimeError(f"the write did not come to its gate: {BEGUN.failures.get(gate, 'it committed')}")
        time.sleep(0.05)


@call
def finish(gate: str, *, go: bool) -> str | None:
    """Let a write continue, or fail at its gate, and return its error."""
    unfinished = Path(f"{gate}.unfinished")
    unfinished.write_text("go" if go else "fail")
    unfinished.rename(gate)
    BEGUN.pop(gate).join()
    return BEGUN.failures.pop(gate, None)


@call
def sql(statement: str) -> list[list[Any]]:
    """Run a statement and return its rows."""
    return [[str(value) for value in row] for row in SPARK.sql(statement).collect()]


@call
def read(path: str, columns: Sequence[str], options: dict[str, str]) -> list[list[Any]]:
    """Return the rows of a table in order."""
    frame = SPARK.read.format("hudi").options(**options).load(path)
    names = columns or [name for name in frame.columns if not name.startswith("_hoodie_")]
    return sorted(list(row) for row in frame.select(*names).collect())


@call
def service(path: str, name: str, instant: str | None, options: dict[str, str]) -> Any:
    """Run one call of Hudi's write client, and return its result."""
    jvm = _jvm()
    settings = jvm.java.util.HashMap()
    for key, value in options.items():
        settings.put(key, value)
    client = jvm.org.apache.hudi.HoodieCLIUtils.createHoodieWriteClient(
        SPARK._jsparkSession, path, jvm.PythonUtils.toScalaMap(settings), jvm.scala.Option.apply(None)
    )
    try:
        return _SERVICES[name](client, instant)
    finally:
        client.close()


def _schedule(what: str) -> Callable[[Any, str | None], str | None]:
    def schedule(client: Any, _: str | None) -> str | None:
        planned = getattr(client, f"schedule{what}")(_nothing())
        return str(planned.get()) if planned.isPresent() else None

    return schedule


def _compact(client: Any, instant: str | None) -> None:
    metadata = client.compact(instant)
    # Since 1.1 it takes the whole write metadata instead of the commit metadata inside.
    method = next(one for one in client.getClass().getMethods() if one.getName() == "commitCompaction")
    whole = method.getParameterTypes()[1].getSimpleName() == "HoodieWriteMetadata"
    client.commitCompaction(instant, metadata if whole else metadata.getCommitMetadata().get(), _nothing())


def _clean(client: Any, _: str | None) -> int:
    metadata = client.clean()
    return int(metadata.getTotalFilesDeleted()) if metadata is not None else 0


_SERVICES: dict[str, Callable[[Any, str | None], Any]] = {
    "schedule compaction": _schedule("Compaction"),
    "schedule clustering": _schedule("Clustering"),
    "compact": _compact,
    "cluster": lambda client, instant: client.cluster(instant, True) and None,  # noqa: FBT003 - Java's parameters have no names
    "clean": _clean,
    "archive": lambda client, _: client.archive(),
    "savepoint": lambda client, instant: client.savepoint(instant, "writer", "by hand"),
    "delete savepoint": lambda client, instant: client.deleteSavepoint(instant),
    "restore": lambda client, instant: client.restoreToSavepoint(instant),
    "rollback": lambda client, instant: bool(client.rollback(instant)),
}


def _jvm() -> Any:
    return SPARK._jvm


def _nothing() -> Any:
    return _jvm().org.apache.hudi.common.util.Option.empty()


@call
def timeline(path: str) -> list[list[str]]:
    """Return the active timeline as this release reads it: time, action and state of each instant."""
    jvm, configuration = _jvm(), SPARK._jsc.hadoopConfiguration()
    builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
    try:
        storage = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(configuration)
    except TypeError:  # 0.14 has no storage abstraction
        storage = configuration
    meta = builder.setConf(storage).setBasePath(path).setLoadActiveTimelineOnLoad(True).build()
    instants = meta.getActiveTimeline().getInstants()
    return [[_time(one), str(one.getAction()), str(one.getState())] for one in instants]


def _time(instant: Any) -> str:
    try:
        return str(instant.requestedTime())
    except Exception:  # noqa: BLE001 - 1.x renamed the getter
        return str(instant.getTimestamp())


def answer(command: dict[str, Any]) -> dict[str, Any]:
    """Run a command and return its reply."""
    try:
        return {"value": _CALLS[command.pop("call")](**command)}
    except Exception as error:  # noqa: BLE001 - whoever asked decides
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    SPARK = open_session(sys.argv[1], sys.argv[2])
    print(json.dumps({"value": SPARK.version}), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=replies, flush=True)
