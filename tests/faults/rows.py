"""Tables with rows under the operator of an arena: real drivers do its Jobs, in one JVM of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from tests.faults.arena import Arena
from tests.faults.node import Ended, Work

from hudi_jobs.contract import JobRequest, Outcome, encode_outcome
from hudi_jobs.driver import Driver
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from toolkit.small_table import SmallTable

Document = dict[str, Any]


def driving(spark: SparkSession) -> Work:
    """Return a container in which a driver carries its request out, one driver after the other."""
    turn = asyncio.Lock()

    async def work(pod: Document) -> Ended:
        request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
        async with turn:
            outcome = await asyncio.to_thread(Driver(request, lambda _: spark).run)
        has_failed = any(result.outcome is Outcome.FAILED for result in outcome.results)
        return Ended(exit_code=int(has_failed), message=encode_outcome(outcome))

    return work


@dataclass(frozen=True)
class RowTable:
    """A table of customers by their ids, whose source is a folder of CSV files or another table."""

    arena: Arena
    spark: SparkSession
    name: str

    @property
    def folder(self) -> Path:
        """The base path as a folder."""
        return self.arena.folder / "lake" / self.name

    @property
    def timeline(self) -> SmallTable:
        """What may be begun on its timeline beside the operator."""
        return SmallTable(self.folder)

    async def declare(self, *, source: Document | None = None, **spec: Any) -> None:
        """Create the resource, and wait for its first run; then it ingests only when it is asked to."""
        await self.create(source=source, **spec)
        await self.works(lambda status: bool(status.get("history")), what="the first run has ended")

    async def create(self, *, source: Document | None = None, every: str = "24h", **spec: Any) -> None:
        """Create the resource, which ingests at once and then so often."""
        files = {
            "path": f"file://{self.arena.folder}/landing/{self.name}",
            "format": "csv",
            "options": {"header": "true"},
            "columns": "id STRING, name STRING",
        }
        ingestion = {"source": source or {"files": files}, "operation": "Upsert", "schedule": {"every": every}}
        await self.arena.declare(self.name, **{"ingestion": ingestion, "metadataTable": {"enabled": False}} | spec)

    def deliver(self, file: str, rows: Mapping[str, str]) -> Path:
        """Put a file into the source, and return it."""
        landing = self.arena.folder / "landing" / self.name
        landing.mkdir(parents=True, exist_ok=True)
        unfinished = self.arena.folder / file  # a run may list the source meanwhile
        unfinished.write_text("".join(f"{key},{name}\n" for key, name in {"id": "name", **rows}.items()))
        return unfinished.rename(landing / file)

    async def patch(self, **spec: Any) -> None:
        """Change some fields of the spec."""
        await self.arena.patch(self.name, {"spec": spec})

    async def ask_for_run(self) -> str:
        """Ask for an ingestion, and return the request."""
        request = uuid4().hex
        annotations = {"hudi-operator.io/requested-at": request}
        await self.arena.patch(self.name, {"metadata": {"annotations": annotations}})
        return request

    async def ingest(self) -> None:
        """Have it ingest, and wait until that has succeeded."""
        await self.answered(await self.ask_for_run())

    async def answered(self, request: str) -> None:
        """Wait until the run that was asked for has succeeded."""

        def has_succeeded(status: Document) -> bool:
            last = status["services"]["ingestion"].get("lastRun") or {}
            return status.get("lastHandledReconcileAt") == request and last.get("outcome") == "Succeeded"

        await self.works(has_succeeded, what="the run that was asked for has succeeded")

    async def works(self, until: Callable[[Document], bool], *, what: str) -> Document:
        """Wait until the table is ready, at rest and like this, and return its status."""

        def is_at_rest(status: Document) -> bool:
            ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
            return ready and not status.get("activeJobs") and until(status)

        return await self.shows(is_at_rest, what=what)

    async def shows(self, until: Callable[[Document], bool], *, what: str) -> Document:
        """Wait until the status speaks of the present spec and is like this, and return it."""

        async def look() -> Document | None:
            table = await self.arena.get(self.name) or {}
            status: Document = table.get("status") or {}
            is_present = status.get("observedGeneration") == table.get("metadata", {}).get("generation")
            return status if status and is_present and until(status) else None

        status: Document = await self.arena.eventually(look, what=f"{self.name}: {what}")
        return status

    async def rows(self) -> list[tuple[str, str]]:
        """Return every row that a reader finds, in the order of the ids."""

        def read() -> list[tuple[str, str]]:
            frame = self.spark.newSession().read.format("hudi").load(f"file://{self.folder}")
            return sorted((str(row[0]), str(row[1])) for row in frame.select("id", "name").collect())

        return await asyncio.to_thread(read)

    def files_with(self, value: str) -> list[str]:
        """Return the Parquet files of every version that hold a value as a whole in a column."""

        def holds(path: Path) -> bool:
            return any(value in map(str, column.to_pylist()) for column in pq.read_table(path).columns)

        return sorted(path.name for path in self.folder.rglob("*.parquet") if holds(path))
