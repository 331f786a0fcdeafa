"""Objects that hold anything: nothing that reads them may fail, or one object would keep others from their turn."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.world import IMAGE, table_class
from tests.samples import examples

from hudi_operator.api.resources import (
    HudiTable,
    InvalidObject,
    is_default_class,
    parse_table,
    parse_table_class,
)
from hudi_operator.control.jobs.job_view import observe_jobs
from hudi_operator.jobs.names import ATTEMPT_ANNOTATION, BASE_INSTANT_ANNOTATION, ROLE_LABEL, SERVICE_LABEL
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import Observation, TimelineSnapshot
from hudi_operator.planning.outcome.status.build import build_invalid_status

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
WORDS = st.sampled_from(
    [
        *("name", "namespace", "uid", "labels", "annotations", "finalizers", "generation", "creationTimestamp"),
        *("deletionTimestamp", "resourceVersion", "conditions", "activeJobs", "services", "ingestion", "timeline"),
        *("basePath", "type", "recordKey", "schedule", "lastRun", "startedAt", "observedGeneration", "history"),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)
SPEC = {"basePath": "s3a://lake/team-a/t", "type": "CopyOnWrite", "recordKey": ["id"]}


@settings(max_examples=examples(300))
@given(metadata=ANYTHING, spec=ANYTHING, status=ANYTHING)
def test_no_poisoned_object_makes_its_reading_fail(metadata: Any, spec: Any, status: Any) -> None:
    for document in ({"metadata": metadata, "spec": spec, "status": status}, {"metadata": metadata, "spec": SPEC}):
        parse_table(document)
        parse_table_class(document)
        is_default_class(document)


@settings(max_examples=examples(300))
@given(status=st.dictionaries(WORDS, ANYTHING, max_size=5), annotations=st.dictionaries(st.text(), st.text()))
def test_a_poisoned_status_or_annotation_leads_to_a_status_all_the_same(
    status: dict[str, Any], annotations: dict[str, str]
) -> None:
    known = ("requested-at", "accept-foreign-commits", "take-over")
    names = {f"hudi-operator.io/{name}": "x" * 300 for name in known}
    metadata = {"name": "t", "namespace": "team-a", "uid": "u", "annotations": {**annotations, **names}}
    table = parse_table({"metadata": metadata, "spec": SPEC, "status": status})
    assert isinstance(table, HudiTable)
    seen = Observation(table=table, table_class=table_class(), blockers=(), snapshot=TimelineSnapshot(), jobs=())
    plan = decide(seen, default_image=IMAGE, now=NOW)
    assert plan.status.conditions


@settings(max_examples=examples(100))
@given(spec=ANYTHING, status=st.dictionaries(WORDS, ANYTHING, max_size=5))
def test_a_spec_that_cannot_be_read_is_said_to_be_invalid(spec: Any, status: dict[str, Any]) -> None:
    invalid = parse_table({"metadata": {"name": "t", "namespace": "n"}, "spec": spec, "status": status})
    assert isinstance(invalid, InvalidObject)
    assert build_invalid_status(invalid, now=NOW).conditions


def test_readable_parts_of_metadata_are_read() -> None:
    document = {"metadata": {"name": "t", "annotations": ["x"], "deletionTimestamp": "2026-03-10T12:00:00Z"}}
    assert parse_table(document).metadata.deletion_timestamp == "2026-03-10T12:00:00Z"


@pytest.mark.parametrize("value", ["", "x", "-1", "9" * 400, "Nonsense", "\u0000"])
def test_a_job_with_our_labels_and_nonsense_in_them_is_read(value: str) -> None:
    metadata = {
        "name": "j",
        "uid": "u",
        "creationTimestamp": value,
        "labels": {SERVICE_LABEL: value, ROLE_LABEL: "driver"},
        "annotations": {ATTEMPT_ANNOTATION: value, BASE_INSTANT_ANNOTATION: value},
    }
    pod_spec = {"containers": [{"name": "c", "image": "i"}]}
    job = {"metadata": metadata, "spec": {"template": {"spec": pod_spec}}, "status": {}}
    pod = {"metadata": metadata, "spec": pod_spec, "status": {"phase": value}}
    assert observe_jobs([job], [pod], table="team-a/flights", now=NOW)
