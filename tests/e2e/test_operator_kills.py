"""An operator that is killed: no run is lost, none is started twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable

import pytest
from tests.e2e.stage import WITHOUT_SERVICES, Stage

pytestmark = pytest.mark.e2e


def test_an_operator_killed_at_any_moment_loses_no_run_and_starts_none_twice(
    stage: Stage, record_testsuite_property: Callable[[str, object], None]
) -> None:
    seed = random.randrange(2**32)
    record_testsuite_property("seed of the operator's kills", seed)
    moments = random.Random(seed)
    table = stage.tenant("survivor").table("survivor", source={"maxFilesPerRun": 1}, **WITHOUT_SERVICES)
    for number in range(3):
        table.deliver(range(number * 10, number * 10 + 10))

    kills = 0
    while len(table.commits()) < 3 and kills < 30:
        time.sleep(moments.uniform(0, 8))
        stage.kill_operator()
        kills += 1

    status = table.wait_ready(runs=3)
    assert kills >= 3
    assert table.ids() == Counter(range(30))
    assert len(table.commits()) == 3
    assert [run["outcome"] for run in status["history"]] == ["Succeeded"] * 3
    assert len(table.jobs()) == 3
    assert {run["job"] for run in status["history"]} == {job["metadata"]["name"] for job in table.jobs()}
