"""Table services in Jobs of their own beside a continuous driver of an Optimistic table: no row is lost or doubled."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.continuous.test_continuous import has_committed
from tests.spark_jobs.trials import IN_FULL, LEASE
from tests.spark_jobs.writers.test_optimistic import zookeeper

from hudi_jobs.contract import ConcurrencyMode, Outcome, Service

__all__ = ["zookeeper"]

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

BATCHES = 5
KEYS = 50
CONTINUOUS = {"min_interval_seconds": 1, "recycle_after_seconds": 900, "drain_seconds": 120}


def csv(batch: int) -> str:
    """New keys, and the keys of the batch before with a later value."""
    keys = range(max(batch - 1, 0) * KEYS, (batch + 1) * KEYS)
    return "id,v\n" + "".join(f"{key},{batch}\n" for key in keys)


@IN_FULL  # otherwise `writers/test_optimistic.py` has services beside a writer
def test_services_beside_a_driver_that_goes_on_lose_and_double_nothing(
    lake: Any,
    program: Callable[..., Any],
    zookeeper: str,
) -> None:
    lake.table, lake.lease = {"type": "MergeOnRead", "orderingFields": ["v"]}, LEASE
    lock = {"zookeeper": {"connect": zookeeper, "basePath": "/hudi"}}
    lake.spec = {
        "concurrency": {"mode": "Optimistic", "lock": lock, "lockKey": "flights"},
        "cleaning": {"retainCommits": 2},
        "fileSizing": {"smallFileLimit": "0"},  # updates go to log files then
        "compaction": {"trigger": {"deltaCommits": 2}},
        "archival": {"mode": "Disabled"},
    }
    source = {"schemaDdl": "id INT, v INT"}
    lake.put("0.csv", csv(0), at=0)
    running = program(lake.request(files=source, continuous=CONTINUOUS))
    running.wait_until(has_committed(lake, 1))
    outcomes = []
    for batch in range(1, BATCHES):
        lake.put(f"{batch}.csv", csv(batch), at=batch)
        service = (Service.COMPACTION, Service.CLEANING)[batch % 2]
        served = lake.serve(service, concurrency=ConcurrencyMode.OPTIMISTIC, abandoned=())
        outcomes.append((service, served.outcome, served.reason))
        running.wait_until(has_committed(lake, batch + 1))
    result = running.end()

    assert (result.outcome, result.batches) == (Outcome.SUCCEEDED, BATCHES), result
    assert (Service.COMPACTION, Outcome.SUCCEEDED, None) in outcomes, outcomes
    assert not any(outcome in {Outcome.FAILED, Outcome.FENCED} for _, outcome, _ in outcomes), outcomes
    expected = [(key, min(key // KEYS + 1, BATCHES - 1)) for key in range(BATCHES * KEYS)]
    assert lake.rows("id", "v") == expected
