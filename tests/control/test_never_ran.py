"""Pods of which it is certain, or not, that our program was never begun in them."""

from __future__ import annotations

import copy

import pytest
from tests.control.job_documents import (
    COLLECTED,
    EVICTED,
    FAILED,
    INIT_FAILED,
    NOW,
    Document,
    stamp,
    terminated,
    the_job,
    the_pod,
    view,
)

from hudi_operator.planning.model import JobPhase


def restarted(pod: Document) -> Document:
    again = copy.deepcopy(pod)
    again["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error"}}
    return again


REJECTED = the_pod("Failed", state={}, reason="UnexpectedAdmissionError", message="Pod was rejected: no device.")
LOST_BEHIND_INIT = copy.deepcopy(INIT_FAILED)
LOST_BEHIND_INIT["status"]["conditions"] = COLLECTED["status"]["conditions"]


@pytest.mark.parametrize(
    ("pod", "has_run"),
    [
        (terminated(128, "StartError"), False),
        (terminated(127, "ContainerCannotRun"), False),
        (INIT_FAILED, False),
        (terminated(1, "Error"), True),
        (terminated(137, "ContainerStatusUnknown"), True),
        (restarted(terminated(128, "StartError")), True),
        (restarted(INIT_FAILED), True),
        (EVICTED, True),
        (COLLECTED, True),
        (LOST_BEHIND_INIT, True),
        (REJECTED, True),
    ],
    ids=[
        "its program cannot be begun",
        "its program cannot be begun by another runtime",
        "an init container has failed",
        "its program has failed",
        "its end was not seen",
        "its program was begun before",
        "its program was begun before an init container failed",
        "it was evicted",
        "its node is gone",
        "its node is gone after an init container had failed",
        "the kubelet did not admit it, perhaps after a restart",
    ],
)
def test_only_a_pod_that_certainly_never_began_our_program_has_not_run(pod: Document, *, has_run: bool) -> None:
    (found,) = view(the_job(status=FAILED), pod)
    assert (found.phase, found.has_run) == (JobPhase.OVER, has_run)


@pytest.mark.parametrize(
    ("generation", "deleted", "had_others"),
    [(1, False, False), (2, False, False), (3, False, True), (3, True, False), (4, True, True), (None, False, True)],
    ids=[
        "no queue has held it",
        "a queue has let it go once",
        "a queue has let it go, and held it or let it go again",
        "it was let go once and deleted",
        "it was held again and deleted",
        "nobody has counted",
    ],
)
def test_a_pod_before_those_that_never_ran_is_ruled_out_by_how_often_the_job_has_changed(
    generation: int | None, *, deleted: bool, had_others: bool
) -> None:
    job = the_job(status=FAILED, generation=generation, **({"deletionTimestamp": stamp(NOW)} if deleted else {}))
    (found,) = view(job, terminated(128, "StartError"))
    assert (found.had_others, found.has_run) == (had_others, had_others)
