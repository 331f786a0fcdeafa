"""A Hudi table that another one follows, written by a plain Spark program, and the table that follows it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from hudi_jobs.frames import local_frame
from hudi_jobs.table import HudiTable

COLUMNS = "id INT, day STRING, v STRING, at INT"
SOURCE = {"kind": "hudi"}

_SERVICES_OFF = {
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}


@dataclass
class Followed:
    """The upstream table; `lake` has the one that follows it."""

    lake: Any
    path: str
    kind: str = "COPY_ON_WRITE"
    ordered_by: str = "at"
    metadata_table: bool = ALL

    @property
    def timeline(self) -> Path:
        return Path(self.path) / ".hoodie/timeline"

    def write(self, rows: Iterable[tuple[Any, ...]], operation: str = "upsert", **options: str) -> str:
        """Write rows of id, day, v and at in one commit, and return its instant."""
        return self.write_frame(local_frame(self.lake.spark, rows, COLUMNS), operation, **options)

    def write_frame(self, frame: DataFrame, operation: str = "upsert", **options: str) -> str:
        settings = {
            "hoodie.table.name": "orders",
            "hoodie.datasource.write.table.type": self.kind,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "day",
            "hoodie.datasource.write.operation": operation,
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.embed.timeline.server": "false",
            "hoodie.metadata.enable": str(self.metadata_table).lower(),
            **({"hoodie.table.ordering.fields": self.ordered_by} if self.ordered_by else {}),
            **_SERVICES_OFF,
            **{key.replace("__", "."): value for key, value in options.items()},
        }
        frame.write.format("hudi").options(**settings).mode("append").save(self.path)
        return self.instants()[-1]

    def instants(self) -> list[str]:
        """The completed commits, in the order of their instants."""
        actions = {".commit", ".deltacommit", ".replacecommit"}
        return sorted(one.name.partition("_")[0] for one in self.timeline.glob("*_*") if one.suffix in actions)

    def client(self, **options: str) -> Any:
        """A write client of Hudi, as a tool of somebody else has it."""
        jvm = self.lake.spark._jvm
        meta = HudiTable.at(self.lake.spark, self.path).meta
        names = {key.replace("__", "."): value for key, value in options.items()}
        settings = jvm.java.util.HashMap()
        off = {**_SERVICES_OFF, "hoodie.metadata.enable": str(self.metadata_table).lower()}
        for key, value in {**off, "hoodie.table.timeline.timezone": "UTC", **names}.items():
            settings.put(key, value)
        builder = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(self.path)
        schema = jvm.org.apache.hudi.common.table.TableSchemaResolver(meta).getTableSchema().toString()
        builder = builder.forTable("orders").withSchema(schema).withEmbeddedTimelineServerEnabled(False)
        config = builder.withProperties(self.properties(settings)).build()
        context = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(self.lake.spark._jsc)
        return jvm.org.apache.hudi.client.SparkRDDWriteClient(context, config)

    def properties(self, settings: Any) -> Any:
        found = self.lake.spark._jvm.java.util.Properties()
        found.putAll(settings)
        return found

    def follow(self, **changes: Any) -> TaskResult:
        """One run of the table that follows; changes are those of the source or of the task."""
        result: TaskResult = self.lake.ingest(**self.task(**changes))
        return result

    def task(self, **changes: Any) -> dict[str, Any]:
        """The ingestion of such a run."""
        names = {"starting_commit", "on_removed_rows"}
        source = {**SOURCE, "path": self.path, **{key: value for key, value in changes.items() if key in names}}
        return {"source": source, **{key: value for key, value in changes.items() if key not in names}}

    def refused(self, reason: FailureReason, **changes: Any) -> str:
        """One run that ends with this reason and writes nothing; return its message."""
        before = self.lake.instants()
        result = self.follow(**changes)
        assert (result.outcome, result.reason) == (Outcome.FAILED, reason), result
        assert self.lake.instants() == before
        return result.message

    def rows(self) -> list[tuple[Any, ...]]:
        """What a reader of the upstream table sees."""
        frame = self.lake.spark.read.format("hudi").load(self.path)
        return sorted(tuple(row) for row in frame.select("id", "day", "v", "at").collect())

    def followed(self) -> list[tuple[Any, ...]]:
        """What a reader of the table that follows sees."""
        found: list[tuple[Any, ...]] = self.lake.rows("id", "day", "v", "at")
        return found


KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")


def sampled(kind: str) -> pytest.MarkDecorator:
    """Make the table `either` of this type alone by default, and of both in full."""
    return pytest.mark.parametrize("either", KINDS if ALL else [kind], indirect=True)


@pytest.fixture(params=KINDS if ALL else KINDS[1:])
def either(request: pytest.FixtureRequest, upstream: Followed) -> Followed:
    """An upstream table of either type."""
    upstream.kind = request.param
    return upstream


@pytest.fixture
def upstream(lake: Any) -> Followed:
    """An upstream table that does not exist yet, and no table that follows it."""
    lake.table = {"recordKey": ["id"], "partitionBy": ["day"]}
    lake.metadata_table = False
    return Followed(lake, f"{lake.root}/orders")
