"""Bad rows of a driver that dies after its commit: the commit tells their number, and they count once."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.control.test_commits_of_a_pause import OURS, PROPERTIES
from tests.control.test_reconciler import Operator, living_table
from tests.planning.world import instant, timeline

from hudi_jobs.contract import QUARANTINED_KEY, Location
from hudi_operator.control.snapshots.reading import NO_QUESTIONS, read_snapshot
from hudi_operator.planning.model import Mark, TimelineSnapshot
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader

Document = dict[str, Any]
COMMIT = "20260310115900000"


def committed(run: str, rows: int | None) -> TimelineSnapshot:
    """The timeline with the commit of a run, and the number of quarantined rows in its metadata."""
    made = instant(COMMIT)
    mark = Mark(instant=made, run=run, rows_quarantined=rows)
    return TimelineSnapshot(timeline=timeline(made), runs=((run, COMMIT),), marks=(mark,))


def kill(operator: Operator) -> None:
    """Let the driver's pod end without a report."""
    (pod,) = operator.cluster.pods.values()
    killed = {"exitCode": 137, "message": ""}
    pod["status"] = {
        "phase": "Failed",
        "containerStatuses": [{"name": "driver", "state": {"terminated": killed}}],
    }
    (job,) = operator.cluster.jobs.values()
    job["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}


async def killed_after_its_commit(rows: int | None) -> Operator:
    operator = Operator(living_table())
    operator.cluster.outcome = None
    await operator.reconcile()
    operator.cluster.kubelet()
    await operator.reconcile()
    (run,) = operator.cluster.created
    kill(operator)
    operator.cluster.snapshot = committed(run, rows)
    await operator.reconcile()
    return operator


def finding(operator: Operator) -> str | None:
    found = {one["code"]: one["message"] for one in operator.status.get("findings", [])}
    return found.get("BadRows")


async def test_bad_rows_of_a_driver_that_was_killed_after_its_commit_are_a_finding_and_count_once() -> None:
    operator = await killed_after_its_commit(50)
    last = operator.status["services"]["ingestion"]["lastRun"]
    assert (last["outcome"], last["rowsQuarantined"]) == ("Succeeded", 50)
    assert last["message"].endswith("50 rows were quarantined.")
    first = copy.deepcopy(operator.status["badRows"])
    assert first["total"] == 50
    for _ in range(3):
        await operator.reconcile()
    assert operator.status["badRows"] == first
    message = finding(operator)
    assert message is not None
    assert "50 bad rows" in message


async def test_commit_without_bad_rows_of_a_killed_driver_makes_no_finding() -> None:
    operator = await killed_after_its_commit(None)
    assert operator.status["services"]["ingestion"]["lastRun"]["outcome"] == "Succeeded"
    assert finding(operator) is None


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("7", 7),
        ("0", 0),
        ("", None),
        ("-7", None),
        ("7.5", None),
        ("\u0667", None),
        ("9" * 16, None),
        ("9" * 5_000, None),
    ],
)
def test_number_of_quarantined_rows_in_a_commit_is_bounded_and_believed_only_as_digits(
    tmp_path: Path, text: str, rows: int | None
) -> None:
    folder = tmp_path / ".hoodie"
    (folder / "timeline").mkdir(parents=True)
    (folder / "hoodie.properties").write_text(PROPERTIES)
    extra = {**OURS, QUARANTINED_KEY: text}
    content = {"partitionToWriteStats": {}, "extraMetadata": extra, "operationType": "UPSERT"}
    (folder / "timeline" / f"{COMMIT}_{COMMIT}.commit").write_text(json.dumps(content))
    found = read_snapshot(TimelineReader(LocalFileSystem()), Location.parse(str(tmp_path)), NO_QUESTIONS)
    assert [mark.rows_quarantined for mark in found.marks] == [rows]
