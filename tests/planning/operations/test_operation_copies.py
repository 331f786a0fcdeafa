"""A copy of an operation, such as one that was restored from a backup: it is never done a second time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.operations.operations import entry, launches, of, operation, world
from tests.planning.operations.told import told_as
from tests.planning.world import again, ago, status_of

from hudi_jobs.contract import Service
from hudi_operator.api.status.operation_status import OperationState

FAILED = OperationState.FAILED
COPIED = {"hudi-operator.io/operation-uid": "uid-from-before"}


def test_operation_restored_from_a_backup_is_not_done_again() -> None:
    """A backup keeps no uid, and need not keep a status; to go back once more takes away what came since."""
    copied: dict[str, Any] = {"annotations": COPIED}
    seen = world(operation(**copied))
    assert (of(seen).state, of(seen).reason, of(seen).begun) == (FAILED, "CopiedOperation", False)
    assert "Nothing was changed" in of(seen).message
    assert launches(again(seen, status_of(seen))) == []
    own: dict[str, Any] = {"annotations": {"hudi-operator.io/operation-uid": "uid-of-back"}}
    for one in (operation(**own), operation(**copied, dryRun=True)):
        assert len(launches(world(one, remembered=(entry(),)))) == 1


@pytest.mark.parametrize("begun_before", [True, False], ids=["has begun", "had a Job"])
def test_a_copy_is_not_done_again_although_its_status_says_that_it(begun_before: bool) -> None:
    """What the status tells of was done under another uid, and may be over for long."""
    told = told_as(OperationState.RUNNING, "Running", begun=begun_before, instant=ago(20))
    seen = world(operation(status=told, annotations=COPIED), ingestion={})
    assert (of(seen).state, of(seen).reason, of(seen).begun) == (FAILED, "CopiedOperation", False)
    assert [one.job.service for one in launches(seen)] == [Service.INGESTION]
