"""Runs the two compared programs as processes: the operator's continuous driver and a bare Structured Streaming job."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hudi_jobs.contract import (
    ContinuousTask,
    IngestionTableTask,
    IngestionTask,
    JobRequest,
    KafkaSource,
    TableDefinition,
    TableType,
    WriteOperation,
)
from hudi_jobs.spark.session import spark_settings
from hudi_operator.api.resources import HudiTable
from hudi_operator.jobs.settings.hudi_options import owned_hudi_options
from hudi_operator.jobs.settings.spark_conf import SMALL_LASTING_JVM

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dev"))

from toolkit.spark_home import java_options, spark_home

SCHEMA = "id BIGINT, sent BIGINT, carrier STRING, flight INT, origin STRING, delay DOUBLE, month INT, note STRING"
MEMORY = "2g"


@dataclass(frozen=True)
class Stream:
    """The shared input and output settings."""

    bootstrap: str
    topic: str
    batch: int
    interval: float
    table_type: TableType
    master: str
    events: Path | None = None
    """Folder of Spark's event logs, which show the jobs, stages and tasks of a batch."""

    def conf(self) -> dict[str, str]:
        """Spark's settings, with the JVM options of a small continuous driver."""
        events = (
            {} if self.events is None else {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(self.events)}
        )
        return events | {
            "spark.master": self.master,
            "spark.driver.memory": MEMORY,
            "spark.driver.extraJavaOptions": f"{java_options(spark_home(), SMALL_LASTING_JVM)} -Xms{MEMORY}",
            "spark.sql.shuffle.partitions": "2",
            "spark.log.level": "ERROR",
        }

    def definition(self, folder: Path) -> TableDefinition:
        return TableDefinition(
            name="flights",
            base_path=str(folder / "table"),
            type=self.table_type,
            record_key=("id",),
            ordering_fields=("sent",),
        )

    def hudi_options(self) -> dict[str, str]:
        spec = {
            "basePath": "s3a://lake/flights",
            "type": self.table_type,
            "recordKey": ["id"],
            "orderingFields": ["sent"],
            "tableName": "flights",
        }
        resource = HudiTable.model_validate({"metadata": {"name": "flights", "namespace": "a"}, "spec": spec})
        return owned_hudi_options(resource)


class Job:
    """A process group that runs until it is stopped; its processor time is that of all its processes."""

    def __init__(self, folder: Path, command: list[str], **variables: str) -> None:
        self.table = folder / "table"
        self._log = folder / "log.txt"
        environment = {**os.environ, "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable, **variables}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def require_running(self) -> None:
        if self._process.poll() is not None:
            sys.exit(f"it has ended:\n{self._log.read_text()[-5000:]}")

    def stop(self) -> None:
        """Kill the group at once: the time after its last commit is not measured."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def processor_seconds(self) -> float:
        """Return the processor seconds of the group, including ended children."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self._process.pid:
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")


def start_driver(stream: Stream, folder: Path) -> Job:
    source = KafkaSource.model_validate(
        {"bootstrapServers": stream.bootstrap, "topics": [stream.topic], "value": {"schemaDdl": SCHEMA}}
    )
    ingestion = IngestionTask(
        source=source,
        operation=WriteOperation.UPSERT,
        max_records=stream.batch,
        continuous=ContinuousTask(min_interval_seconds=stream.interval),
    )
    task = IngestionTableTask(
        id="flights",
        table=stream.definition(folder),
        hudi_options=stream.hudi_options(),
        ingestion=ingestion,
    )
    request = JobRequest(run=folder.name, spark_conf=stream.conf(), tasks=(task,))
    (folder / "request.json").write_text(request.model_dump_json(by_alias=True))
    variables = {"HUDI_JOB_REQUEST": str(folder / "request.json"), "HUDI_JOB_OUTCOME": str(folder / "outcome.json")}
    return Job(folder, [sys.executable, "-m", "hudi_jobs"], **variables)


def start_bare(stream: Stream, folder: Path) -> Job:
    reader = {
        "kafka.bootstrap.servers": stream.bootstrap,
        "subscribe": stream.topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(stream.batch),
    }
    options = {
        **stream.hudi_options(),
        "hoodie.datasource.write.operation": "upsert",
        # The other program runs its services elsewhere, too.
        "hoodie.datasource.compaction.async.enable": "false",
        "hoodie.datasource.clustering.async.enable": "false",
        "checkpointLocation": str(folder / "checkpoints"),
    }
    document = {
        "conf": spark_settings(stream.conf()),
        "reader": reader,
        "schema": SCHEMA,
        "options": options,
        "interval": f"{round(stream.interval * 1000)} milliseconds",
        "table": str(folder / "table"),
    }
    (folder / "settings.json").write_text(json.dumps(document))
    return Job(folder, [sys.executable, str(Path(__file__).parent / "bare.py"), str(folder / "settings.json")])


STARTS = {"driver": start_driver, "bare": start_bare}
