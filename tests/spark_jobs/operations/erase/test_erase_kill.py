"""A driver that dies at any moment of an erasure: the next run finishes it, and no key is left anywhere."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, pending, rows
from tests.spark_jobs.operations.erase.erasing import INDEXES, customer, erase, erased, holding, request, upsert
from tests.spark_jobs.trials import ALL, IN_FULL, LEASE, crossed

from hudi_jobs.contract import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.slow, IN_FULL, pytest.mark.timeout(1800)]

MOMENTS = ("recorded", "prepared", "erased", "planned", "cleaned", "after-commit", "verified", "before-outcome")
FEW = {"CopyOnWrite": ("cleaned",), "MergeOnRead": ("erased",)}


@crossed(("kind", ["CopyOnWrite", "MergeOnRead"]), ("named", [False, True]))
def test_the_next_run_finishes_what_a_killed_one_has_begun(
    lake: Any, program: Callable[..., Any], kind: str, named: bool
) -> None:
    lake.table, lake.metadata_table, lake.lease, lake.options = {"type": kind}, True, LEASE, INDEXES
    moments = MOMENTS if ALL else FEW[kind]
    for number, moment in enumerate(moments):
        if moment == "planned" and kind == "CopyOnWrite":
            continue  # nothing is compacted
        for commit in range(2):
            upsert(lake, 2 * number + commit)
        before, key, uid = rows(lake), customer(7), f"uid-{moment}"
        asked: dict[str, Any] = {"uid": uid, **({"ids": (key,)} if named else {"where": f"id = '{key}'"})}
        running = program(request(lake, **asked, run=f"killed-{moment}"), HUDI_JOB_PAUSE_AT=moment)
        running.wait_until(running.has_stopped)
        running.kill()
        assert key not in running.log

        report, proof = erased(erase(lake, **asked))

        expected = [row for row in before if row[0] != key]
        assert rows(lake) == rows(lake, metadata=True) == expected, moment
        assert holding(lake.folder / "table", key) == [], moment
        assert pending(lake) == [], moment
        assert (proof.keys, proof.rows, report.rows_after) == (1, 1, 29), moment
        assert proof.files_searched, "a predicate that selects nothing any more is no proof"
        assert list((lake.folder / "table/.hudi-operator").glob("keys-of-*")) == [], moment
        told = commits(lake)
        again = erase(lake, **asked)
        assert (again.outcome, again.operation, commits(lake)) == (Outcome.SUCCEEDED, report, told), "it is done once"
