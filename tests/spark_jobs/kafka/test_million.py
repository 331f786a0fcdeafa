"""A million messages, and a continuous driver that is killed twenty times at random moments: every message once."""

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.continuous.test_continuous import QUICK
from tests.spark_jobs.continuous.test_continuous_kill import committed_by, said_by
from tests.spark_jobs.trials import ALL, LEASE
from tests.spark_jobs.writers.test_kill import unfinished

from hudi_jobs.contract import Outcome

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(4 * 3600),
    pytest.mark.skipif(not ALL, reason="test_kills.py kills a driver at a few moments"),
]

MESSAGES = int(os.environ.get("KAFKA_KILLS_MESSAGES", "1000000"))
KILLS = int(os.environ.get("KAFKA_KILLS", "20"))
SEED = int(os.environ.get("KAFKA_KILLS_SEED", random.randrange(2**32)))
PARTITIONS = 3
BATCHES_PER_KILL = 2
BATCHES_UNTIL_A_KILL = 3.0
"""A driver is killed at the latest when it could have written so many batches, by the time that the first one took."""


@pytest.mark.parametrize(
    ("operation", "table_type"), [("Upsert", "MergeOnRead"), ("Insert", "CopyOnWrite"), ("BulkInsert", "MergeOnRead")]
)
def test_every_message_is_in_the_table_once_after_kills_at_random_moments(
    stream: Any,
    program: Callable[..., Any],
    operation: str,
    table_type: str,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    lake, moments = stream.lake, random.Random(f"{SEED} {operation}")
    lake.table, lake.metadata_table, lake.lease = {"type": table_type}, True, LEASE
    stream.create(PARTITIONS)
    share = MESSAGES // KILLS
    bounded = {"operation": operation, "max_records": share // BATCHES_PER_KILL}
    begun, seconds = 0, 0.0
    for number in range(KILLS):
        stream.send(({"id": one, "v": operation} for one in range(number * share, (number + 1) * share)), key="id")
        running = program(stream.request(**bounded, continuous={**QUICK, "min_interval_seconds": 0.1}))
        running.wait_until(said_by(lake, f"run-{lake.runs}"))
        if not number:
            began = time.monotonic()
            running.wait_until(committed_by(lake, f"run-{lake.runs}"))
            seconds = time.monotonic() - began
        time.sleep(moments.uniform(0, BATCHES_UNTIL_A_KILL * seconds))
        running.kill()
        assert not running.outcome_file.exists()
        begun += bool(unfinished(lake))

    read = 0
    while (last := stream.ingest(**bounded)).outcome is Outcome.SUCCEEDED:
        read += last.rows_read or 0
    assert last.outcome is Outcome.NOTHING_TO_DO, last
    story = (
        f"{KILLS * share:,} messages, {KILLS} kills with the seed {SEED}, {begun} of them in a write; "
        f"{read:,} were left for the end"
    )
    record_testsuite_property(f"kills of {operation}", story)
    print(f"{operation}: {story}")  # noqa: T201 - what was tried
    found = lake.spark.read.format("hudi").load(lake.base_path)
    counted = found.selectExpr("count(*)", "count(DISTINCT id)", "min(id)", "max(id)").first()
    assert tuple(counted) == (KILLS * share, KILLS * share, 0, KILLS * share - 1), SEED
    assert not unfinished(lake)
    assert begun, "no kill met a write"
