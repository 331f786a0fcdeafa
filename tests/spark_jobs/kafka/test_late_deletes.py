"""Rows that were deleted long ago stay deleted in a real table, whatever comes late and wherever a driver dies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.formats.events import postgres
from tests.spark_jobs.kafka.test_kills import kill_at
from tests.spark_jobs.trials import IN_FULL, LEASE

from hudi_jobs.contract import Outcome, RunMode, Service
from hudi_jobs.ingestion import checkpoint
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.deleted import MOST_DELETED
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.spilled import FOLDER

pytestmark = [pytest.mark.spark, pytest.mark.streams, pytest.mark.slow]

ROWS = 3 * MOST_DELETED


@IN_FULL  # otherwise `formats/test_spilled_deletes.py` has few deletes that count as many
@pytest.mark.parametrize("table_type", ["MergeOnRead", "CopyOnWrite"])
def test_no_late_event_brings_back_one_of_thousands_of_rows_that_were_deleted(
    stream: Any, program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, table_type: str
) -> None:
    """A driver dies after it has written the file of deletes; later ones read late events of all of them, twice."""
    stream.lake.table, stream.lake.lease = {"type": table_type, "orderingFields": ["_event_lsn"]}, LEASE
    stream.lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}}
    stream.source["value"] = {"schemaDdl": "id BIGINT, note STRING", "envelope": "Debezium"}
    stream.create()

    def send(op: str, numbers: range, lsn: int, note: str | None) -> None:
        stream.send(postgres(op, {"id": one, "note": note}, lsn=lsn + one) for one in numbers)

    send("c", range(ROWS + 2), 0, "first")
    assert stream.ingest().outcome is Outcome.SUCCEEDED
    send("d", range(ROWS), 20_000, None)
    kill_at("recorded", stream, program, "Upsert")
    folder = Path(stream.lake.base_path.removeprefix("file:"), FOLDER)
    assert len(list(folder.iterdir())) == 1
    assert stream.ingest().outcome is Outcome.SUCCEEDED
    assert len(list(folder.iterdir())) == 2, "what the killed run wrote stays, and counts for nothing"
    left = [(ROWS, "first"), (ROWS + 1, "first")]
    assert stream.rows("id", "note") == left
    if table_type == "MergeOnRead":
        assert stream.lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE_AND_EXECUTE).outcome is Outcome.SUCCEEDED
    for lsn in (10_000, 15_000):
        send("u", range(ROWS), lsn, "late")
        result = stream.ingest()
        assert f"{ROWS:,} events skipped, older than the delete of their row" in result.message
        assert stream.rows("id", "note") == left
    monkeypatch.setattr(checkpoint, "SWEEP_EVERY", 1)
    monkeypatch.setattr(checkpoint, "KEEP_FOR_MILLISECONDS", -1)
    send("c", range(1), 50_000, "again")
    assert stream.ingest().outcome is Outcome.SUCCEEDED
    assert stream.rows("id", "note") == [(0, "again"), *left]
    assert len(list(folder.iterdir())) == 1, "a day later what no commit names is removed"
    send("u", range(1, ROWS), 15_000, "late")
    assert stream.ingest().outcome is Outcome.SUCCEEDED
    assert stream.rows("id", "note") == [(0, "again"), *left]
