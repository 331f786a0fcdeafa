"""No plan is executed twice: two drivers at once, and a driver that freezes, is overtaken, and continues.

A few trials run by default. `HUDI_JOBS_TRIALS=all` runs every moment, distance, service and store: half an hour.
"""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, IN_FULL

from hudi_jobs.contract import Outcome, Service

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

PLANNED = (Service.COMPACTION, Service.CLUSTERING)
MOMENTS = ("marked", "inflight", "writing", "committing")
GAVE_WAY = {Outcome.FENCED, Outcome.CONFLICT, Outcome.NOTHING_TO_DO}


def assert_exact(trial: Any, outcomes: list[Outcome]) -> None:
    assert outcomes.count(Outcome.SUCCEEDED) == 1, outcomes
    assert set(outcomes) - {Outcome.SUCCEEDED} <= GAVE_WAY, outcomes
    assert trial.found() == trial.expected
    assert len(trial.completed()) == 1


DISTANCES = [
    (service, distance, store) for service in PLANNED for distance in (0, 1, 5, 20) for store in ("local", "s3")
]


@IN_FULL  # otherwise `test_one_writer.py` has two at once
@pytest.mark.parametrize(("service", "distance", "store"), DISTANCES)
def test_only_one_of_two_drivers_executes_an_instant(
    trial: Callable[[Service, str], Any], program: Callable[..., Any], service: Service, distance: float, store: str
) -> None:
    table = trial(service, store)
    table.plan()
    first = table.start(program, "first")
    time.sleep(distance)
    second = table.start(program, "second")
    assert_exact(table, [each.finish().results[0].outcome for each in (first, second)])


FREEZES = [(service, moment, store) for service in PLANNED for moment in MOMENTS for store in ("local", "s3")]


@pytest.mark.parametrize(("service", "moment", "store"), FREEZES if ALL else [(Service.COMPACTION, "committing", "s3")])
def test_a_driver_that_was_frozen_and_overtaken_completes_nothing(
    trial: Callable[[Service, str], Any], program: Callable[..., Any], service: Service, moment: str, store: str
) -> None:
    table = trial(service, store)
    table.plan()
    if moment == "marked":
        frozen = table.start(program, "frozen", HUDI_JOB_PAUSE_AT=moment)
        frozen.wait_until(frozen.has_stopped)
    else:
        frozen = table.start(program, "frozen")
        frozen.wait_until(lambda: table.has_reached(moment))
    os.killpg(frozen.process.pid, signal.SIGSTOP)

    second = table.lake.drive(table.request("second"))
    assert second.outcome is Outcome.SUCCEEDED, second
    assert (second.instant == table.instant) == (service is Service.COMPACTION)
    assert table.found() == table.expected

    os.killpg(frozen.process.pid, signal.SIGCONT)
    first = frozen.finish().results[0]
    assert first.outcome is Outcome.FENCED, first
    assert_exact(table, [first.outcome, second.outcome])


@IN_FULL  # otherwise a whole driver stands still, in the test before
@pytest.mark.parametrize("service", PLANNED)
def test_a_driver_whose_jvm_stands_still_keeps_the_table(
    trial: Callable[[Service, str], Any], program: Callable[..., Any], service: Service
) -> None:
    table = trial(service, "local")
    table.plan()
    slow = table.start(program, "slow")
    slow.wait_until(lambda: table.has_reached("inflight"))
    os.killpg(slow.process.pid, signal.SIGSTOP)
    os.kill(slow.process.pid, signal.SIGCONT)

    second = table.lake.drive(table.request("second"))
    assert second.outcome is Outcome.FENCED, second
    assert "the run slow on" in second.message

    os.killpg(slow.process.pid, signal.SIGCONT)
    assert_exact(table, [slow.finish().results[0].outcome, second.outcome])
