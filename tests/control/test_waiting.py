"""What a Job waits for, in the words of the API server."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.control.job_documents import (
    CREATED,
    JOB_UID,
    UNSCHEDULABLE,
    Document,
    executor,
    stamp,
    the_job,
    the_pod,
    view,
    waiting,
)
from tests.control.test_reconciler import Operator, living_table
from tests.planning.world import IMAGE

from hudi_jobs.contract.pods import EXECUTORS_REFUSED_ANNOTATION
from hudi_operator.control.jobs.event_words import NOT_ALLOWED, newest_words
from hudi_operator.jobs.names import EXECUTOR_TEMPLATE_ANNOTATION
from hudi_operator.planning.model import JobPhase, PodTrouble

QUOTA = 'pods "flights-x" is forbidden: exceeded quota: small, requested: cpu=2, used: cpu=1, limited: cpu=2'
NO_ROOM = "0/1 nodes are available: 1 Insufficient memory."
WITHOUT_POD = the_job(status={"startTime": stamp(CREATED)})
UNPLACED = UNSCHEDULABLE["status"]["conditions"]


def unplaced(number: int) -> Document:
    return executor("Pending", number=number, state={}, conditions=UNPLACED)


def test_a_missing_pod_is_explained_by_the_events_of_its_job() -> None:
    (found,) = view(WITHOUT_POD)
    assert (found.trouble, found.message) == (PodTrouble.FORBIDDEN, "no pod could be created.")
    assert found.asks == JOB_UID
    (told,) = view(WITHOUT_POD, words={JOB_UID: QUOTA})
    assert told.message == f"no pod could be created: {QUOTA}."


def test_a_pod_that_waits_for_its_volume_is_explained_by_its_own_events() -> None:
    pod = waiting("ContainerCreating")
    (found,) = view(the_job(), pod)
    assert found.asks == pod["metadata"]["uid"]
    (told,) = view(the_job(), pod, words={found.asks: 'MountVolume.SetUp failed: secret "lake" not found'})
    assert told.message == (
        'container driver waits: ContainerCreating: MountVolume.SetUp failed: secret "lake" not found.'
    )


NOT_FOUND = 'failed to resolve reference "registry.internal/spark:3.5": unexpected status 401 Unauthorized'


def test_registry_refusal_is_told_in_its_own_words_whatever_the_kubelet_says_at_the_moment() -> None:
    """The kubelet's states alternate; a message that alternated too would be a write of the status each time."""
    pull, back_off = f'Failed to pull image "{IMAGE}": {NOT_FOUND}', f'Back-off pulling image "{IMAGE}"'
    pods = (
        waiting("ErrImagePull", NOT_FOUND),
        waiting("ImagePullBackOff", f"{back_off}: ErrImagePull: {NOT_FOUND}"),
        waiting("ImagePullBackOff", back_off),
    )
    repetitions: list[Document] = [{"message": f"Error: {one}"} for one in ("ErrImagePull", "ImagePullBackOff")]
    said = newest_words([{"message": pull, "lastTimestamp": stamp(CREATED)}, *repetitions])
    found = [view(the_job(), pod, words={pod["metadata"]["uid"]: said})[0] for pod in pods]
    assert {one.trouble for one in found} == {PodTrouble.IMAGE_PULL_FAILED}
    assert {one.message for one in found} == {f"image {IMAGE} cannot be pulled: {NOT_FOUND}."}
    assert [bool(one.asks) for one in found] == [False, False, True]


def test_signed_links_of_a_registry_are_not_shown() -> None:
    link = "https://me:pw@layers.internal/blob?X-Amz-Signature=0123&X-Amz-Security-Token=abc"
    (found,) = view(the_job(), waiting("ErrImagePull", f'failed to copy: Get "{link}": dial tcp: i/o timeout'))
    assert found.message.endswith(
        'failed to copy: Get "https://[redacted]@layers.internal/blob?[redacted]": dial tcp: i/o timeout.'
    )


def test_pod_that_pulls_its_image_shows_no_message_from_before_it_had_a_node() -> None:
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(CREATED + timedelta(seconds=30))}
    pod = the_pod("Pending", state={"waiting": {"reason": "ContainerCreating"}}, conditions=[placed])
    (found,) = view(the_job(), pod)
    before: Document = {"message": NO_ROOM, "eventTime": stamp(CREATED), "series": {"count": 9}}
    assert newest_words([before], since=found.asks_since) == ""
    mount: Document = {"message": "MountVolume.SetUp failed", "lastTimestamp": stamp(CREATED + timedelta(seconds=30))}
    assert newest_words([mount, before], since=found.asks_since) == "MountVolume.SetUp failed"


def test_a_pod_that_explains_itself_asks_for_no_events() -> None:
    (found,) = view(the_job(), UNSCHEDULABLE)
    assert found.asks == ""


def test_the_status_says_that_events_may_not_be_read() -> None:
    (told,) = view(WITHOUT_POD, words={JOB_UID: NOT_ALLOWED})
    assert told.message == f"no pod could be created. {NOT_ALLOWED}"


def test_executors_that_no_node_holds_are_a_trouble_of_a_running_job() -> None:
    (found,) = view(the_job(), the_pod(), unplaced(1), unplaced(2))
    assert (found.phase, found.trouble) == (JobPhase.RUNNING, PodTrouble.EXECUTORS_WAITING)
    assert found.message == f"No executor has started: {NO_ROOM}"
    assert found.executors_wait_since == CREATED + timedelta(seconds=1)


def test_one_executor_that_runs_lets_the_others_wait_without_trouble() -> None:
    (found,) = view(the_job(), the_pod(), executor(number=1), unplaced(2), unplaced(3))
    assert found.trouble is None
    assert found.message == f"2 of 3 executors have not started: {NO_ROOM}"


def test_driver_in_cluster_mode_without_any_executor_says_so_within_a_minute_and_goes_on() -> None:
    driver = the_pod()
    driver["metadata"]["annotations"] = {EXECUTOR_TEMPLATE_ANNOTATION: "spec: {}\n" + "#" * 10_000}
    (found,) = view(the_job(), driver, at=CREATED + timedelta(seconds=20))
    assert found.message == ""
    (found,) = view(the_job(), driver, at=CREATED + timedelta(seconds=60))
    assert (found.phase, found.trouble, found.executors_wait_since) == (JobPhase.RUNNING, None, None)
    assert found.message.startswith("No pod of an executor exists.")
    (found,) = view(the_job(), driver, executor())
    assert found.message == ""


def refused(words: str) -> Document:
    driver = the_pod()
    notes = {EXECUTOR_TEMPLATE_ANNOTATION: "spec: {}", EXECUTORS_REFUSED_ANNOTATION: words}
    driver["metadata"]["annotations"] = notes
    return driver


def test_driver_whose_executors_the_api_server_refuses_says_so_in_its_words() -> None:
    (found,) = view(the_job(), refused(QUOTA), at=CREATED + timedelta(seconds=5))
    assert (found.trouble, found.message) == (
        None,
        f"No pod of an executor exists, because the API server refuses it: {QUOTA}.",
    )
    (found,) = view(the_job(), refused(QUOTA), executor())
    assert found.message == f"The API server refuses further executors: {QUOTA}."
    (found,) = view(the_job(), refused(QUOTA), unplaced(1))
    assert found.message == f"No executor has started: {NO_ROOM}"


@pytest.mark.parametrize("words", ["x" * 5_000, "line\nbreak\x1b]0;title\x07", "x" * 100_000])
def test_words_of_a_refusal_are_bounded_and_escaped(words: str) -> None:
    (found,) = view(the_job(), refused(words), at=CREATED + timedelta(seconds=60))
    assert 0 < len(found.message) < 500
    assert found.message.isprintable()


def test_driver_in_local_mode_waits_for_no_executor() -> None:
    (found,) = view(the_job(), the_pod())
    assert found.message == ""


def test_new_executors_that_give_no_reason_say_nothing_at_first() -> None:
    new = executor("Pending", state={})
    (found,) = view(the_job(), the_pod(), new, at=CREATED + timedelta(seconds=20))
    assert (found.trouble, found.message) == (None, "")
    (found,) = view(the_job(), the_pod(), new)
    assert (found.trouble, found.message) == (
        PodTrouble.EXECUTORS_WAITING,
        "No executor has started: its pod has not been scheduled.",
    )


def test_new_executors_that_no_node_holds_say_so_at_once() -> None:
    (found,) = view(the_job(), the_pod(), unplaced(1), at=CREATED + timedelta(seconds=2))
    assert found.trouble is PodTrouble.EXECUTORS_WAITING


@pytest.mark.parametrize("words", ["x" * 5_000, "line\nbreak\x1b]0;title\x07"])
def test_words_from_outside_are_bounded_and_escaped(words: str) -> None:
    (told,) = view(WITHOUT_POD, words={JOB_UID: words})
    assert len(told.message) < 500
    assert told.message.isprintable()


def test_newest_of_several_events_is_shown() -> None:
    events: list[Document] = [
        {"message": "old", "lastTimestamp": "2026-03-10T11:00:00Z"},
        {"message": "new", "lastTimestamp": None, "eventTime": "2026-03-10T12:00:00.000000Z"},
        {"message": 7, "lastTimestamp": 8},
    ]
    assert newest_words(events) == "new"
    assert newest_words([]) == ""
    repeated = {"message": "again", "eventTime": "2026-03-10T10:00:00.1Z"}
    series = {"series": {"count": 7, "lastObservedTime": "2026-03-10T12:00:00.500000Z"}}
    assert newest_words([*events, repeated]) == "new"
    assert newest_words([*events, {**repeated, **series}]) == "again"
    assert newest_words([{"message": "no time"}]) == "no time"


async def test_a_refused_pod_shows_the_words_of_the_api_server_in_the_status() -> None:
    operator = Operator(living_table())
    operator.cluster.outcome = None
    await operator.reconcile()
    (run,) = operator.cluster.created
    operator.cluster.warnings = {operator.cluster.jobs[run]["metadata"]["uid"]: [{"message": QUOTA}]}
    later = operator.cluster.now() + timedelta(minutes=1)
    operator.cluster.clock = lambda: later
    await operator.reconcile()
    (job,) = operator.status["jobs"]
    assert (job["state"], job["message"]) == ("PodForbidden", f"no pod could be created: {QUOTA}.")


async def test_status_of_a_pod_with_a_node_has_no_words_from_before_it_had_one() -> None:
    operator = Operator(living_table())
    operator.cluster.outcome = None
    await operator.reconcile()
    operator.cluster.kubelet()
    (pod,) = operator.cluster.pods.values()
    start, later = operator.cluster.now(), operator.cluster.now() + timedelta(minutes=1)
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(start + timedelta(seconds=30))}
    waits = {"name": "driver", "state": {"waiting": {"reason": "ContainerCreating"}}}
    pod["status"] = {"phase": "Pending", "conditions": [placed], "containerStatuses": [waits]}
    before: Document = {"message": NO_ROOM, "lastTimestamp": stamp(start)}
    operator.cluster.warnings = {pod["metadata"]["uid"]: [before]}
    operator.cluster.clock = lambda: later
    await operator.reconcile()
    assert operator.status["jobs"][0]["message"] == "container driver waits: ContainerCreating."
    mount: Document = {"message": 'secret "lake" not found', "lastTimestamp": stamp(later)}
    operator.cluster.warnings[pod["metadata"]["uid"]].append(mount)
    await operator.reconcile()
    assert operator.status["jobs"][0]["message"].endswith('ContainerCreating: secret "lake" not found.')
