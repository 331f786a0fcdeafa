"""Fields and annotations that were renamed are read under their former names for one version."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import class_spec

from hudi_operator.api.crd.schema import structural_schema
from hudi_operator.api.resources import FORMER_ANNOTATIONS, HudiTable, ObjectMetadata, parse_table
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.table import HudiTableStatus

SPEC = {"basePath": "s3a://lake/team-a/flights", "type": "CopyOnWrite", "recordKey": ["id"]}
METADATA = {"name": "flights", "namespace": "team-a", "uid": "u"}
PENDING = {"time": "20260310110000000", "action": "compaction", "state": "REQUESTED", "since": "2026-03-10T11:00:00Z"}


def read(status: dict[str, Any]) -> HudiTable:
    table = parse_table({"metadata": METADATA, "spec": SPEC, "status": status})
    assert isinstance(table, HudiTable)
    return table


def test_a_status_that_was_written_before_keeps_what_it_says() -> None:
    old = {
        "heldBack": "a savepoint",
        "settledAt": "20260310115900000",
        "pending": [{**PENDING, "holdsBack": "archival"}],
    }
    found = read({"services": {"compaction": old}}).status.services.compaction
    assert (found.blocked_by, found.last_no_op_instant) == ("a savepoint", "20260310115900000")
    assert found.pending[0].blocks == "archival"


def test_a_status_is_written_with_the_new_names_alone() -> None:
    old = {"heldBack": "a savepoint", "settledAt": "20260310115900000"}
    document = read({"services": {"compaction": old}}).status.to_document()["services"]["compaction"]
    assert document["blockedBy"] == "a savepoint"
    assert not {"heldBack", "settledAt"} & set(document)


def test_a_former_name_that_cannot_be_read_costs_no_more_than_itself() -> None:
    found = read({"services": {"compaction": {"settledAt": {"poison": 1}, "failures": 3}}})
    assert found.status.services.compaction.failures == 3
    assert found.unreadable == ("services.compaction.lastNoOpInstant",)


def test_the_new_name_wins() -> None:
    found = read({"services": {"compaction": {"settledAt": "1", "lastNoOpInstant": "2"}}})
    assert found.status.services.compaction.last_no_op_instant == "2"


def test_a_class_keeps_the_quota_that_it_declares_under_its_former_name() -> None:
    assert class_spec(concurrency={"runningJobs": 1}).job_quota.running_jobs == 1


@pytest.mark.parametrize("model", [HudiTableClassSpec, HudiTableStatus])
def test_the_schema_keeps_former_names_so_that_the_api_server_drops_nothing(model: Any) -> None:
    text = str(structural_schema(model))
    names = {HudiTableClassSpec: ["concurrency"], HudiTableStatus: ["heldBack", "holdsBack", "settledAt"]}[model]
    assert all(f"'{name}':" in text for name in names)


@pytest.mark.parametrize(("former", "name"), FORMER_ANNOTATIONS.items())
def test_an_annotation_is_read_in_its_former_spelling(former: str, name: str) -> None:
    assert ObjectMetadata(name="flights", annotations={former: "old"}).annotations == {name: "old"}
    assert ObjectMetadata(name="flights", annotations={name: "new", former: "old"}).annotations == {name: "new"}
