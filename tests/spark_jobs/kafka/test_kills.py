"""A driver that dies at any moment: the next run leaves every message in the table exactly once."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, LEASE
from tests.spark_jobs.writers.test_kill import PHASES, appeared, unfinished

from hudi_jobs.contract import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.streams, pytest.mark.slow]

MESSAGES = 3_000
MOMENTS = (*PHASES, "writing", "committing")


def kill_at(moment: str, stream: Any, program: Callable[..., Any], operation: str) -> None:
    """Run the driver on what is new and kill it at its own phase, or when Hudi's files show the moment."""
    request = stream.request(operation=operation)
    running = program(request, **({"HUDI_JOB_PAUSE_AT": moment} if moment in PHASES else {}))
    before = unfinished(stream.lake)
    if moment in PHASES:
        running.wait_until(running.has_stopped)
    else:
        running.wait_until(lambda: appeared(moment, stream.lake) and unfinished(stream.lake) != before)
    running.kill()
    assert not running.outcome_file.exists()


@pytest.mark.parametrize(
    ("operation", "table_type", "moments"),
    [
        ("Insert", "CopyOnWrite", MOMENTS if ALL else ("writing",)),
        *((operation, "MergeOnRead", MOMENTS) for operation in ("BulkInsert", "Upsert") if ALL),
    ],
)
def test_every_message_is_in_the_table_once_after_a_kill_at_each_moment(
    stream: Any, program: Callable[..., Any], operation: str, table_type: str, moments: tuple[str, ...]
) -> None:
    stream.lake.table, stream.lake.metadata_table, stream.lake.lease = {"type": table_type}, True, LEASE
    stream.create(partitions=3)
    for number, moment in enumerate(moments):
        first = number * MESSAGES
        stream.send(({"id": one, "v": moment} for one in range(first, first + MESSAGES)), key="id")
        kill_at(moment, stream, program, operation)
        committed = moment in {"after-commit", "before-outcome"}
        assert (moment in {"writing", "committing"}) == bool(unfinished(stream.lake))

        # What comes meanwhile makes the batch longer, and no message of it is there twice.
        stream.send([{"id": -1 - number, "v": "meanwhile"}], key="id")
        recovered = stream.ingest(operation=operation)
        assert recovered.outcome is Outcome.SUCCEEDED, recovered
        assert recovered.rows_read == (1 if committed else MESSAGES + 1)
        frame = stream.lake.spark.read.format("hudi").load(stream.lake.base_path)
        found = frame.selectExpr("count(*)", "count(DISTINCT id)").first()
        assert tuple(found) == ((number + 1) * (MESSAGES + 1),) * 2, moment
        assert not unfinished(stream.lake)
    assert stream.ingest(operation=operation).outcome is Outcome.NOTHING_TO_DO
