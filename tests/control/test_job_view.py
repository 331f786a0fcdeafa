"""Jobs and pods as the decision sees them, from documents as Kubernetes 1.34 writes them."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest
from tests.control.job_documents import (
    BEHIND_INIT,
    CAME_BACK,
    CANNOT_BE_TOLD,
    COLLECTED,
    COMPLETE,
    CREATED,
    CUT_OFF,
    DRAINED,
    EVICTED,
    FAILED,
    INIT_FAILED,
    INIT_WITHOUT_IMAGE,
    JOB_UID,
    NOW,
    OUTCOME,
    SCHEDULING_GATED,
    TASK,
    TOO_SLOW,
    UNSCHEDULABLE,
    Document,
    beside,
    ended_executor,
    executor,
    left_by,
    seen,
    stamp,
    suspended,
    terminated,
    the_job,
    the_pod,
    view,
    waiting,
)
from tests.planning.world import IMAGE, JOB

from hudi_jobs.contract import Service, encode_outcome
from hudi_operator.planning.model import JobObservation, JobPhase

SITUATIONS: dict[str, tuple[list[Document], tuple[str, str | None]]] = {
    "its driver runs": ([the_job(), the_pod()], ("Running", None)),
    "its pod is being placed": ([the_job(), the_pod("Pending", state={})], ("Starting", None)),
    "its container is being made": ([the_job(), waiting("ContainerCreating")], ("Starting", None)),
    "its image is refused": ([the_job(), waiting("ErrImagePull", "not found")], ("Starting", "ImagePullFailed")),
    "its image is not found": ([the_job(), waiting("ImagePullBackOff", "Back-off")], ("Starting", "ImagePullFailed")),
    "its image has no valid name": ([the_job(), waiting("InvalidImageName")], ("Starting", "ImagePullFailed")),
    "its Secret is missing": (
        [the_job(), waiting("CreateContainerConfigError", 'secret "lake" not found')],
        ("Starting", "PodConfigurationError"),
    ),
    "no node has room": ([the_job(), UNSCHEDULABLE], ("Starting", "Unschedulable")),
    "its volume cannot be mounted": ([the_job(), waiting("ContainerCreating", "")], ("Starting", None)),
    "its injected container has not come up": ([the_job(), BEHIND_INIT], ("Starting", None)),
    "the image of an injected container is missing": ([the_job(), INIT_WITHOUT_IMAGE], ("Starting", "ImagePullFailed")),
    "an injected container fails before the driver": (
        [the_job(status=FAILED), INIT_FAILED],
        ("Over", "InitContainerFailed"),
    ),
    "its program cannot be begun": (
        [the_job(status=FAILED), terminated(128, "StartError")],
        ("Over", "PodConfigurationError"),
    ),
    "its driver runs while an injected container has no image": (
        [the_job(), beside("Pending", {"waiting": {"reason": "ErrImagePull"}})],
        ("Running", None),
    ),
    "a queue holds it": ([suspended()], ("Suspended", None)),
    "a queue has let it go and nobody has heard of it": ([suspended(suspend=False)], ("Suspended", None)),
    "a queue takes it back while its driver runs": ([suspended(), the_pod(deleted=True)], ("Ending", None)),
    "its driver has just ended beside an injected container": ([the_job(), left_by(seconds=14)], ("Ending", None)),
    "only an injected container runs on": ([the_job(), left_by(seconds=16)], ("Over", None)),
    "only an injected container runs on and it is being deleted": (
        [the_job(deletionTimestamp=stamp(NOW)), left_by(seconds=16)],
        ("Ending", None),
    ),
    "only an injected container runs on and the node cannot be told": (
        [the_job(), left_by(seconds=16, phase="Unknown")],
        ("Running", None),
    ),
    "a native sidecar is ending": ([the_job(), left_by(seconds=60, native=True)], ("Ending", None)),
    "a native sidecar does not end": ([the_job(), left_by(seconds=91, native=True)], ("Over", None)),
    "its driver was killed beside an injected container": (
        [the_job(), left_by(seconds=16, code=137, word="OOMKilled")],
        ("Over", "OutOfMemory"),
    ),
    "it is gone while only an injected container runs on": (
        [the_job(status=COMPLETE), left_by(seconds=1)],
        ("Over", None),
    ),
    "its pod waits at a gate": ([the_job(), SCHEDULING_GATED], ("Starting", None)),
    "it has no pod yet": ([the_job(status={})], ("Starting", "PodForbidden")),
    "its pod was deleted by force and the Job does not know yet": ([the_job()], ("Ending", None)),
    "its pod was deleted by force and is being counted": (
        [the_job(status={"active": 0, "uncountedTerminatedPods": {"failed": ["uid-of-the-pod"]}})],
        ("Ending", None),
    ),
    "its pod was deleted by force and has been counted": (
        [the_job(status={"failed": 1, "uncountedTerminatedPods": {}})],
        ("Ending", None),
    ),
    "nothing that its status should hold is there": (
        [the_job(status={"active": "?", "failed": None, "uncountedTerminatedPods": ["failed"]})],
        ("Starting", "PodForbidden"),
    ),
    "its driver has ended and the Job does not know yet": (
        [the_job(), terminated(0, "Completed")],
        ("Ending", None),
    ),
    "its end is decided but not yet final": (
        [the_job(status={"conditions": FAILED["conditions"][:1]}), terminated(1, "Error")],
        ("Ending", None),
    ),
    "it is complete": ([the_job(status=COMPLETE), terminated(0, "Completed")], ("Over", None)),
    "it has failed": ([the_job(status=FAILED), terminated(1, "Error")], ("Over", None)),
    "it has failed and its pod is gone": ([the_job(status=FAILED)], ("Over", None)),
    "its driver was killed for its memory": (
        [the_job(status=FAILED), terminated(137, "OOMKilled")],
        ("Over", "OutOfMemory"),
    ),
    "its pod was evicted by the kubelet": ([the_job(status=FAILED), EVICTED], ("Over", "Evicted")),
    "its node is being drained": ([the_job(status=FAILED), DRAINED], ("Over", "Evicted")),
    "its node does not answer": ([the_job(), CUT_OFF], ("Running", "NodeLost")),
    "its node does not answer and its pod cannot be told": ([the_job(), CANNOT_BE_TOLD], ("Running", "NodeLost")),
    "its node does not answer while it is being deleted": (
        [the_job(deletionTimestamp=stamp(NOW)), CUT_OFF],
        ("Ending", "NodeLost"),
    ),
    "it has failed and its lost node still has the pod": ([the_job(status=FAILED), CUT_OFF], ("Ending", "NodeLost")),
    "its node was deleted and its pod collected": ([the_job(status=FAILED), COLLECTED], ("Over", "NodeLost")),
    "its lost node came back and ended the driver": ([the_job(status=FAILED), CAME_BACK], ("Over", "NodeLost")),
    "its deadline has passed": ([the_job(status=TOO_SLOW)], ("Over", "DeadlineExceeded")),
    "its deadline has passed and its pod still ends": (
        [the_job(status=TOO_SLOW), the_pod(deleted=True)],
        ("Ending", "DeadlineExceeded"),
    ),
    "it has failed while its node does not answer": (
        [the_job(status=FAILED), the_pod(deleted=True)],
        ("Ending", None),
    ),
    "it is being deleted": ([the_job(deletionTimestamp=stamp(NOW)), the_pod(deleted=True)], ("Ending", None)),
    "it is being deleted and has no pod": ([the_job(deletionTimestamp=stamp(NOW))], ("Ending", None)),
    "it is complete and being deleted": (
        [the_job(status=COMPLETE, deletionTimestamp=stamp(NOW)), terminated(0, "Completed")],
        ("Over", None),
    ),
    "it is gone while its pod runs": ([the_pod(deleted=True)], ("Ending", None)),
    "it is gone while its pod cannot be told": ([the_pod("Unknown", state={})], ("Ending", None)),
    "one of two pods has ended": (
        [the_job(), terminated(1, "Error"), the_pod(name=f"{JOB}-second")],
        ("Running", None),
    ),
    "one of two pods still runs although the Job has ended": (
        [the_job(status=COMPLETE), terminated(0, "Completed"), the_pod(name=f"{JOB}-second")],
        ("Ending", None),
    ),
    "its driver runs beside executors": ([the_job(), the_pod(), executor()], ("Running", None)),
    "its driver has ended and an executor still runs": (
        [the_job(status=COMPLETE), terminated(0, "Completed"), executor()],
        ("Ending", None),
    ),
    "its driver was killed and an executor still runs": (
        [the_job(status=FAILED), terminated(137, "OOMKilled"), executor()],
        ("Ending", "OutOfMemory"),
    ),
    "its driver has ended and a lost node has an executor": (
        [the_job(status=COMPLETE), terminated(0, "Completed"), executor("Unknown", deleted=True)],
        ("Ending", None),
    ),
    "its driver and its executors have ended": (
        [the_job(status=COMPLETE), terminated(0, "Completed"), executor("Succeeded", state={})],
        ("Over", None),
    ),
    "of its executor only an injected container runs": (
        [the_job(status=COMPLETE), terminated(0, "Completed"), left_by(seconds=1, role="executor")],
        ("Over", None),
    ),
    "it is gone while an executor still runs": ([executor()], ("Ending", None)),
    "it is gone while its driver and an executor still run": ([the_pod(deleted=True), executor()], ("Ending", None)),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_job_is_seen_as_what_it_is_when(situation: str) -> None:
    documents, expected = SITUATIONS[situation]
    assert seen(*documents) == expected


def test_a_run_that_only_an_injected_container_keeps_tells_how_it_ended_and_that_it_is_to_be_removed() -> None:
    (found,) = view(the_job(), left_by(seconds=20))
    assert (found.phase, found.outcome, found.exit_code, found.remains) == (JobPhase.OVER, OUTCOME, 0, True)
    (usual,) = view(the_job(status=COMPLETE), terminated(0, "Completed"))
    assert not usual.remains


def test_executors_not_asked_to_end_are_named_each() -> None:
    pods = [executor(number=number, deleted=number == 1) for number in range(1, 6)]
    for number, pod in enumerate(pods, 1):
        pod["metadata"]["uid"] = f"uid-{number}"
    (found,) = view(the_job(status=FAILED), terminated(137, "Error"), *pods)
    assert [(one.name, one.uid) for one in found.executors] == [
        (f"{JOB}-exec-{one}", f"uid-{one}") for one in range(2, 6)
    ]
    assert f"{JOB}-exec-1" in found.message
    assert "and 2 more" in found.message


def test_a_running_driver_keeps_its_executors_also_when_its_job_is_gone() -> None:
    for documents in ([the_job(), the_pod(), executor()], [the_pod(deleted=True), executor()]):
        (found,) = view(*documents)
        assert found.executors == ()


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (waiting("ContainerCreating"), "container driver waits: ContainerCreating."),
        (waiting("ContainerCreating", "mount failed."), "container driver waits: ContainerCreating: mount failed."),
        (waiting("SomethingNew", "x" * 9000), "container driver waits: SomethingNew: xxx"),
        (waiting(""), "container driver waits: no reason given."),
        (BEHIND_INIT, "container istio-init waits: CrashLoopBackOff: back-off 20s."),
        (the_pod("Pending", state={}), "its pod has not been scheduled."),
        (SCHEDULING_GATED, "no node fits."),
    ],
)
def test_trouble_of_a_pod_that_does_not_start_is_reported_after_a_while(pod: Document, words: str) -> None:
    (found,) = view(the_job(), pod)
    assert found.message.startswith(words)
    assert len(found.message) <= 500
    (early,) = view(the_job(), pod, at=CREATED + timedelta(seconds=5))
    assert early.message == ""


def test_the_queue_that_holds_a_job_is_named() -> None:
    held = suspended()
    assert view(held)[0].message == "A queue holds the Job (spec.suspend): it starts when the queue admits it."
    held["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "lake"
    assert view(held)[0].message == (
        "The queue lake holds the Job (spec.suspend): it starts when Kueue admits it. See the LocalQueue, and the "
        "Workload of the Job."
    )


def test_the_gates_that_hold_a_pod_are_named() -> None:
    gated = copy.deepcopy(SCHEDULING_GATED)
    gated["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    assert view(the_job(), gated)[0].message == "its scheduling gates hold it: kueue.x-k8s.io/admission."


@pytest.mark.parametrize(
    ("generation", "suspend", "version"), [(1, True, "7"), (3, True, None), (None, True, None), (1, False, None)]
)
def test_a_job_that_a_queue_has_never_let_go_is_known_by_its_generation(
    generation: int | None, version: str | None, *, suspend: bool
) -> None:
    held = suspended(suspend=suspend)
    held["metadata"] |= {"generation": generation, "resourceVersion": "7"}
    (found,) = view(held)
    assert (found.phase, found.held_version) == (JobPhase.SUSPENDED, version)


@pytest.mark.parametrize(
    ("manager", "status", "version"),
    [
        ("kubernetes.io/job-controller", {}, "7"),
        ("kueue.x-k8s.io/multikueue", {}, None),
        (["kubernetes.io/job-controller"], {}, None),
        (None, {"active": 1}, None),
        (None, {"startTime": "2026-03-10T11:59:30Z"}, None),
    ],
    ids=["the Job controller", "another cluster", "nonsense", "it has a pod", "it was started"],
)
def test_a_suspended_job_that_runs_elsewhere_or_has_run_is_not_known_to_be_held(
    manager: object, status: Document, version: str | None
) -> None:
    suspended = the_job(status=status)
    suspended["spec"] |= {"suspend": True, "managedBy": manager}
    suspended["metadata"] |= {"generation": 1, "resourceVersion": "7"}
    assert view(suspended)[0].held_version == version


def test_the_time_to_start_counts_from_when_the_queue_let_the_job_go() -> None:
    freed = the_job(status={"startTime": stamp(NOW - timedelta(seconds=5))})
    (found,) = view(freed)
    assert (found.waiting_since, found.trouble) == (NOW - timedelta(seconds=5), None)


@pytest.mark.parametrize("value", ["9" * 5000, "\u0664", "-1", "1e3", "", "x" * 300])
def test_annotations_of_any_length_are_read_as_far_as_they_go(value: str) -> None:
    names = ("attempt", "generation", "base-instant", "decided-at")
    (found,) = view(the_job(annotations={f"hudi-operator.io/{name}": value for name in names}))
    assert (found.attempt, found.generation, found.base_instant, found.decided_at) == (1, None, None, None)


@pytest.mark.parametrize(("seconds", "trouble"), [(0, None), (19, None), (20, None), (21, "PodForbidden")])
def test_a_job_without_a_pod_is_given_twenty_seconds(seconds: int, trouble: str | None) -> None:
    assert seen(the_job(status={}), at=CREATED + timedelta(seconds=seconds)) == ("Starting", trouble)


def test_a_job_is_recognised_by_its_labels_and_annotations() -> None:
    (found,) = view(the_job(), the_pod())
    assert found == JobObservation(
        name=JOB,
        uid=JOB_UID,
        service=Service.INGESTION,
        task_id=TASK,
        attempt=2,
        created_at=CREATED,
        waiting_since=CREATED,
        decided_at="2026-03-10T11:59:00Z",
        phase=JobPhase.RUNNING,
        image=IMAGE,
        base_instant="20260310110000000",
        driver_memory="2Gi",
        has_run=True,
        started_at=CREATED,
        pods=(f"{JOB}-x7k2p",),
    )


def test_an_image_that_an_admission_webhook_has_named_otherwise_is_the_one_that_was_asked_for() -> None:
    """Else a continuous driver would be taken for one of an earlier image, ended and started again without end."""
    job = the_job()
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "mirror.internal/spark@sha256:0123"
    (found,) = view(job, the_pod())
    assert found.image == IMAGE
    del job["metadata"]["annotations"]["hudi-operator.io/spark-image"]
    (found,) = view(job, the_pod())
    assert found.image == "mirror.internal/spark@sha256:0123"


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"'), f"image {IMAGE} cannot be pulled."),
        (waiting("CreateContainerConfigError", 'secret "lake" not found'), 'secret "lake" not found.'),
        (waiting("CreateContainerError"), "CreateContainerError."),
        (UNSCHEDULABLE, "0/1 nodes are available: 1 Insufficient memory."),
    ],
)
def test_trouble_of_a_waiting_pod_is_reported_in_one_sentence(pod: Document, message: str) -> None:
    (found,) = view(the_job(), pod)
    assert found.message == message


def test_a_pod_that_outlives_its_job_keeps_the_jobs_name_so_that_no_other_starts() -> None:
    (found,) = view(the_pod(deleted=True))
    assert (found.name, found.uid, found.phase) == (JOB, JOB_UID, JobPhase.ENDING)
    assert (found.service, found.image) == (Service.INGESTION, IMAGE)


@pytest.mark.parametrize("pod", [terminated(0, "Completed"), terminated(137, "OOMKilled"), EVICTED])
def test_a_pod_that_has_ended_and_lost_its_job_is_of_no_interest(pod: Document) -> None:
    assert view(pod) == ()


def test_a_pod_of_an_earlier_job_of_the_same_name_is_not_the_pod_of_the_new_one() -> None:
    old_pod = the_pod(job_uid="earlier", deleted=True)
    found = view(the_job(status={}), old_pod, at=CREATED + timedelta(seconds=1))
    assert {one.uid: one.phase.value for one in found} == {"earlier": "Ending", JOB_UID: "Starting"}


def test_jobs_are_shown_oldest_first() -> None:
    later = the_job(name="a", uid="2", creationTimestamp=stamp(NOW))
    assert [one.uid for one in view(later, the_job())] == [JOB_UID, "2"]


@pytest.mark.parametrize(
    ("annotations", "attempt", "base"),
    [
        (None, 1, None),
        ({}, 1, None),
        ({"hudi-operator.io/attempt": "many", "hudi-operator.io/base-instant": ""}, 1, None),
        ({"hudi-operator.io/attempt": "-3"}, 1, None),
        (
            {"hudi-operator.io/attempt": "7", "hudi-operator.io/base-instant": "20260310110000000"},
            7,
            "20260310110000000",
        ),
    ],
)
def test_annotations_that_somebody_changed_are_read_as_far_as_they_go(
    annotations: dict[str, str] | None, attempt: int, base: str | None
) -> None:
    (found,) = view(the_job(annotations=annotations))
    assert (found.attempt, found.base_instant) == (attempt, base)


@pytest.mark.parametrize("labels", [None, {}, {"hudi-operator.io/service": "Gardening"}])
def test_a_job_that_names_no_known_service_is_still_seen_and_is_no_ingestion(labels: dict[str, str] | None) -> None:
    (found,) = view(the_job(labels=labels), the_pod())
    assert (found.phase, found.service) == (JobPhase.RUNNING, None)


def test_pods_of_other_programs_are_not_drivers() -> None:
    stranger = the_pod(role="something")
    assert view(stranger) == ()


@pytest.mark.parametrize(
    ("documents", "seen"),
    [
        ([the_job(status=FAILED), terminated(137, "OOMKilled")], True),
        ([the_job(status=COMPLETE), terminated(0, "Completed")], True),
        ([the_job(status=FAILED), terminated(0, "Completed", encode_outcome(OUTCOME), reason="Evicted")], True),
        ([the_job(), left_by(seconds=16)], True),
        # Its container has ended, and executors may still run, or the Job controller may start another pod.
        ([the_job(), terminated(0, "Completed")], False),
        ([the_job(status=FAILED)], False),
        ([the_job(status=FAILED), COLLECTED], False),
        # The phase says that it has failed before its container has ended, as when its node runs out of memory.
        ([the_job(status=FAILED), the_pod("Failed", reason="Evicted")], False),
        ([the_job(status=FAILED), terminated(137, "ContainerStatusUnknown")], False),
        # What containerd says of a task that it does not find any more, and what no runtime says that is known.
        ([the_job(status=FAILED), terminated(255, "Unknown")], False),
        ([the_job(status=FAILED), terminated(137, "")], False),
        ([the_job(status=FAILED), terminated(137, "OOMKilled"), ended_executor("Error")], True),
        # An executor that is not known to have ended may still write files of the write that is to be rolled back.
        ([the_job(status=FAILED), terminated(137, "OOMKilled"), ended_executor("ContainerStatusUnknown")], False),
        ([the_job(status=FAILED), terminated(137, "OOMKilled"), executor("Failed", state={})], False),
    ],
)
def test_the_end_of_a_process_is_certain_only_where_the_kubelet_has_told_it(
    documents: list[Document], *, seen: bool
) -> None:
    """A pod that was removed by force, or whose node is gone, tells nothing of its process."""
    (found,) = view(*documents)
    assert found.seen_to_end is seen


def test_a_job_names_the_pods_of_its_drivers() -> None:
    """A Job can have had more than one, of which the others are gone: what those do, no status of a pod tells."""
    second = terminated(1, "Error")
    second["metadata"]["name"] = f"{JOB}-second"
    (found,) = view(the_job(status=FAILED), terminated(137, "OOMKilled"), second, ended_executor("Error"))
    assert set(found.pods) == {f"{JOB}-x7k2p", f"{JOB}-second"}
