"""Prints the metrics page of an operator after a recorded run: a table that is ingested, and one in trouble.

Runs in a process of its own, because the metrics of a process are one object.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.control.test_reconciler import LANDING, Operator, living_table
from tests.planning.world import run
from tests.telemetry.test_table_metrics import figures

from hudi_operator.api.status.cost import RunCost
from hudi_operator.api.status.findings import Severity
from hudi_operator.api.status.table_parts import StatisticsStatus
from hudi_operator.telemetry.logs import configure_logging
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.telemetry.table_series import TableFigures

TROUBLE = figures(
    "False",
    "HudiError",
    "ForeignWriter",
    severity=Severity.CRITICAL,
    class_name="standard",
    complete_up_to=datetime(2026, 3, 10, 12, 0, tzinfo=UTC),
    backlog_records=12,
    backlog_bytes=4096,
    target=timedelta(minutes=10),
    quarantined_rows=5,
)


async def ingest() -> None:
    """Let an operator ingest a table until it rests."""
    cluster = living_table(ingestion={**LANDING, "schedule": {"every": "1h"}, "freshness": "2h"})
    cluster.complete_up_to = "2026-03-10T12:00:00Z"
    operator = Operator(cluster)
    await operator.settle()
    with metrics.reconcile():
        await operator.reconcile()


def measured() -> TableFigures:
    """Return the figures of the table in trouble, with the statistics of its files."""
    exact = {"base_bytes": 10_000, "log_bytes": 500, "partitions": 2, "rows": 70}
    found = {"as_of": "20260310120000000", "files": 4, "small_files": 1, "exact": exact}
    status = TROUBLE.status.copy_with(statistics=StatisticsStatus.model_validate(found))
    return replace(TROUBLE, status=status)


def page() -> bytes:
    """Return the page after the run."""
    asyncio.run(ingest())
    cost = RunCost(since="2026-03-10T12:00:00Z", cpu_milliseconds=90_000, bytes_read=7, bytes_written=5)
    metrics.run_cost("team-b", "broken", run(cost=cost), class_name="standard")
    metrics.set_table("team-b", "broken", measured())
    metrics.set_active_jobs("team-b/broken", ["Ingestion"])
    metrics.observe_tables(lambda: 2)
    metrics.observe_leader(lambda: True)
    metrics.observe_queue(depth=lambda: 1, oldest_seconds=lambda: 400)
    metrics.observe_resync(age_seconds=lambda: 5000)
    for result in ("success", "StorageUnavailable"):
        metrics.timeline_read(result=result, seconds=0.2)
    metrics.store_requests(lists=2, reads=3, stats=1)
    return metrics.exposition()


if __name__ == "__main__":
    configure_logging(stream=sys.stderr)
    sys.stdout.buffer.write(page())
