"""Whatever stands in Jobs, pods, annotations, status and reports: a reconcile ends in time, with a status."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.control.job_documents import COMPLETE, FAILED, NOW, OUTCOME, executor, finished, the_job, the_pod
from tests.planning.world import IMAGE, OPERATOR, UID, active, ago, done, snapshot, story, table_class
from tests.samples import examples

from hudi_jobs.contract import encode_outcome
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.control.jobs.job_view import observe_jobs
from hudi_operator.control.jobs.running import own_jobs, own_pods
from hudi_operator.jobs.decided_job import JobRefused, build_manifest
from hudi_operator.planning.decide import decide
from hudi_operator.planning.deletion.attempts import EndingObservation
from hudi_operator.planning.deletion.decide_ending import decide_ending
from hudi_operator.planning.model import CreateJob, LaunchJob, Observation, TimelineSnapshot

Document = dict[str, Any]

BUDGET_SECONDS = 2.0
"""Far more than a reconcile takes, and far less than anything that grows with a value."""

HOSTILE_TEXT = st.sampled_from(
    [
        *("", " ", "\0", "٣", "x" * 70, "x" * 5000, "9" * 5000, "-1", "1e999", "NaN", "null", "{", "[" * 5000),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-02-30T00:00:00Z", "10000-01-01T00:00:00Z"),
        *("2026-03-10T12:00:00Z", "Deletion", "Nonsense", "True", "Failed", "Unknown", "Pending", "Running"),
        *("9" * 400 + "Gi", "1Ei", "-5Gi", "0", "20260310110000000", "9" * 17, "../..", "hudi-operator.io/claim"),
        encode_outcome(OUTCOME),
        '{"version":1,"results":[{"id":"x","outcome":"Succeeded","rowsRead":' + "9" * 4000 + "}]}",
        '{"version":1,"results":[{"id":"x","outcome":"Succeeded","rowsRead":-1,"filesRead":1e300}]}',
        '{"version":1,"results":[{"id":"x","outcome":"Failed","instant":"' + "9" * 999 + '"}]}',
        '{"version":1,"results":[{"id":"x","outcome":"NothingToDo","skipped":["' + '","'.join("abc") * 99 + '"]}]}',
    ]
)
HOSTILE: st.SearchStrategy[Any] = (
    HOSTILE_TEXT
    | st.sampled_from([None, True, False, 0, -1, 2**31, 2**63, 10**400, -(10**400), 1e308, float("inf"), float("nan")])
    | st.sampled_from([[], {}, [None], [[]], {"a": None}, ["x"] * 99, {"state": []}, [{"type": 1}]])
    | st.text(max_size=20)
)
STATUS = HudiTableStatus(active_jobs=(active(),)).to_document() | {
    "activeJobs": [
        active(uid=None).model_dump(mode="json", by_alias=True, exclude_none=True) | {"instant": ago(5)},
        active("flights-deletion-1", service="Deletion", uid=None).model_dump(mode="json", by_alias=True),
    ],
    "history": [{"job": "j", "service": "Deletion", "outcome": "Succeeded", "finishedAt": "2026-03-10T11:00:00Z"}],
    "leftBehind": [ago(3)],
    "owner": {"operator": OPERATOR, "table": "team-a/flights", "run": "r"},
    "rescan": {"value": "read", "state": "Open"},
}
SPEC = {
    "basePath": "s3a://lake/team-a/flights",
    "type": "MergeOnRead",
    "recordKey": ["id"],
    "ingestion": {"source": {"files": {"path": "s3a://landing/x/", "format": "csv"}}, "schedule": {"every": "5m"}},
}
ANNOTATIONS = ("requested-at", "accept-foreign-commits", "take-over", "rescan")
SNAPSHOT = snapshot(timeline=story(done("deltacommit", 9), done("commit", 5), f"{ago(3)}.compaction.requested"))


def places(document: Document) -> list[tuple[Any, Any]]:
    """Every place of a document, as what holds it and its key there."""
    found: list[tuple[Any, Any]] = []
    nodes: list[Any] = [document]
    while nodes:
        node = nodes.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        found += [(node, key) for key in keys]
        nodes += [node[key] for key in keys if isinstance(node[key], dict | list)]
    return found


def changed(document: Document, changes: list[tuple[int, Any]]) -> Document:
    result = copy.deepcopy(document)
    for number, value in changes:
        if found := places(result):
            holder, key = found[number % len(found)]
            holder[key] = copy.deepcopy(value)
    return result


CHANGES = st.lists(st.tuples(st.integers(0, 10**6), HOSTILE), max_size=5)
JOBS = st.sampled_from([None, COMPLETE, FAILED, finished("Failed", "DeadlineExceeded")])
PODS = st.lists(
    st.sampled_from(
        [
            the_pod(),
            the_pod("Succeeded", state={"terminated": {"exitCode": 0, "message": encode_outcome(OUTCOME)}}),
            the_pod("Failed", state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
            the_pod("Pending", state={"waiting": {"reason": "ErrImagePull", "message": "no"}}),
            executor(),
        ]
    ),
    max_size=2,
)


@settings(
    max_examples=examples(200),
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # what fails is shown as it is: making it smaller takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    job_status=JOBS,
    job_changes=CHANGES,
    pods=PODS,
    pod_changes=CHANGES,
    status_changes=CHANGES,
    annotations=st.dictionaries(st.sampled_from(ANNOTATIONS), HOSTILE_TEXT, max_size=4),
    deletes=st.booleans(),
)
def test_no_job_pod_annotation_status_or_report_keeps_a_reconcile_from_its_end(  # noqa: PLR0917 - drawn by name
    job_status: Document | None,
    job_changes: list[tuple[int, Any]],
    pods: list[Document],
    pod_changes: list[tuple[int, Any]],
    status_changes: list[tuple[int, Any]],
    annotations: dict[str, str],
    deletes: bool,
) -> None:
    began = time.process_time()
    metadata = {
        "name": "flights",
        "namespace": "team-a",
        "uid": UID,
        "generation": 1,
        "annotations": {f"hudi-operator.io/{name}": value for name, value in annotations.items()},
    }
    policy = {"deletionPolicy": "Delete" if deletes else "Retain"}
    table = parse_table({"metadata": metadata, "spec": {**SPEC, **policy}, "status": changed(STATUS, status_changes)})
    assert isinstance(table, HudiTable)
    remembered = table.status.active_jobs
    own = own_jobs([changed(the_job(status=job_status), job_changes)], table_uid=UID, remembered=remembered)
    seen_pods = own_pods([changed(pod, pod_changes) for pod in pods], jobs=own, remembered=remembered)
    jobs = observe_jobs(own, seen_pods, table="team-a/flights", now=NOW)
    for timeline in (TimelineSnapshot(), SNAPSHOT):
        seen = Observation(
            table=table, table_class=table_class(), blockers=(), snapshot=timeline, jobs=jobs, operator=OPERATOR
        )
        plan = decide(seen, default_image=IMAGE, now=NOW)
        after = plan.status
        HudiTableStatus.model_validate(after.to_document())
        for action in plan.actions:
            if isinstance(action, CreateJob | LaunchJob):
                builds(seen, action)
    ends(table, jobs, deletes=deletes)
    assert time.process_time() - began < BUDGET_SECONDS


def builds(seen: Observation, action: CreateJob | LaunchJob) -> None:
    assert action.job.service != "Deletion"
    try:
        build_manifest(seen, action.job, default_image=IMAGE)
    except JobRefused:
        return


def ends(table: HudiTable, jobs: Any, *, deletes: bool) -> None:
    metadata = table.metadata.copy_with(deletion_timestamp="2026-03-10T11:59:00Z")
    seen = EndingObservation(
        metadata=metadata,
        status=table.status,
        policy=DeletionPolicy.DELETE if deletes else DeletionPolicy.RETAIN,
        base_path=table.spec.base_path,
        table=table,
        table_class=table_class(),
        jobs=jobs,
        snapshot=SNAPSHOT,
        operator=OPERATOR,
    )
    for one in (seen, replace(seen, jobs=())):
        plan = decide_ending(one, now=NOW)
        HudiTableStatus.model_validate(plan.status.to_document())
        assert deletes or not any(isinstance(action, LaunchJob) for action in plan.actions)
