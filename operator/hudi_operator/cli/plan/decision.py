"""What the operator would decide about a new table of a file, by the same functions as in the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hudi_operator.api.resources import (
    HudiTable,
    HudiTableClass,
    is_default_class,
    parse_table,
    parse_table_class,
)
from hudi_operator.api.status.conditions import ConditionType, HudiTableClassStatus, find_condition
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.cli.plan.files import Resource
from hudi_operator.jobs.decided_job import build_manifest, spark_image
from hudi_operator.kube.objects import text
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.outcome.status.class_status import build_class_status
from hudi_operator.planning.policy.class_policy import policy_blockers
from hudi_operator.planning.policy.namespaces import asks_for_labels, namespace_blocker


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision about a table: what its class refuses, why each service runs or not, and what starts first."""

    observation: Observation
    refusals: tuple[str, ...]
    services: Mapping[str, ServiceStatus]
    first: ActiveJob | None
    image: str
    notes: tuple[str, ...] = ()


def class_of(table: Mapping[str, Any], classes: Sequence[Mapping[str, Any]]) -> HudiTableClass | None:
    """Return the class that a table names, or the first default class by name; None if the classes do not have it."""
    documents, name = [dict(one) for one in classes], table["spec"].get("tableClassName")
    if name is None:
        name = min((_name(one) for one in documents if is_default_class(one)), default=None)
    parsed = (parse_table_class(one) for one in documents if _name(one) == name)
    return next((one for one in parsed if isinstance(one, HudiTableClass)), None)


def _name(document: Mapping[str, Any]) -> str:
    return text(document, "metadata", "name") or ""


def unsafe_settings(resource: Resource, *, now: datetime) -> str | None:
    """Return the message of the condition UnsafeSettings that a valid class would have, or None."""
    parsed = parse_table_class({**resource.document, "status": None})
    assert isinstance(parsed, HudiTableClass), "the checks come first"
    conditions = build_class_status(parsed, HudiTableClassStatus(), now=now).conditions
    found = find_condition(conditions, ConditionType.UNSAFE_SETTINGS)
    return found.message if found is not None else None


def decide_new(
    resource: Resource, table_class: HudiTableClass, *, namespace: str, default_image: str, now: datetime
) -> Decision:
    """Return the decision about a table that does not exist yet; its spec must be valid."""
    metadata = {"namespace": namespace, **resource.document["metadata"], "generation": 1, "uid": "not-created-yet"}
    metadata["creationTimestamp"] = format_time(now)
    table = parse_table({**resource.document, "metadata": metadata, "status": None})
    assert isinstance(table, HudiTable), "the checks come first"
    labels = asks_for_labels(table_class, table.metadata.namespace)
    place = None if labels else namespace_blocker(table_class, table.metadata.namespace, {})
    blockers = (*((place,) if place is not None else ()), *policy_blockers(table, table_class))
    observation = Observation(
        table=table,
        table_class=table_class,
        blockers=blockers,
        snapshot=TimelineSnapshot(),
        jobs=(),
        operator="plan",
    )
    plan = decide(observation, default_image=default_image, now=now)
    launched = [one.job for one in plan.actions if isinstance(one, LaunchJob)]
    note = (
        f"Labels of namespace {table.metadata.namespace} decide whether class {table_class.metadata.name} is allowed."
    )
    return Decision(
        observation=observation,
        refusals=tuple(f"{one.reason}: {one.message}" for one in blockers),
        services={name: one for name, one in plan.services if one is not None},
        first=launched[0] if launched else None,
        image=spark_image(table_class, default_image),
        notes=(note,) if labels else (),
    )


def job_of(decision: Decision) -> dict[str, Any]:
    """Return the manifest of the Job that starts first."""
    assert decision.first is not None, "the caller asks for a Job that starts"
    return build_manifest(decision.observation, decision.first, default_image=decision.image)
