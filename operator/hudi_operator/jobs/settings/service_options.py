"""Hudi's options for table services, and whether the writer runs each of them.

A job gets the options of all services, because they depend on one another: archival reads the trigger of compaction,
and a writer reads how clustering handles updates. Only the switches and gates differ between jobs.
"""

from hudi_jobs.contract import Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.services.definition import TableServiceDefinition
from hudi_operator.services.registry import TABLE_SERVICES, mode_of


def service_options(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Return the options of all table services for a job that runs a single service."""
    options: dict[str, str] = {}
    for one in TABLE_SERVICES:
        options |= {**_switches(spec, one, job=service), **one.options(spec)}
    for one in TABLE_SERVICES:
        options |= one.gates_open if one.service is service else {}
    return options | _scope(spec, service)


def options_of_one(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Return the options from the spec for a run of a single table service."""
    one = _definition_of(service)
    return {**one.options(spec), **one.gates_open, **_scope(spec, service)}


def _definition_of(service: Service) -> TableServiceDefinition:
    return next(one for one in TABLE_SERVICES if one.service is service)


def flag(value: bool) -> str:  # noqa: FBT001 - the one question this asks
    """Return a boolean in Hudi's spelling."""
    return "true" if value else "false"


def _runs_inline(spec: HudiTableSpec, inline: Service, *, job: Service) -> bool:
    return job is Service.INGESTION and mode_of(spec, inline) is ServiceMode.INLINE


def _switches(spec: HudiTableSpec, one: TableServiceDefinition, *, job: Service) -> dict[str, str]:
    """Return the switches of a service: on only inside the writer and in mode Inline, otherwise off."""
    off = dict.fromkeys(one.other_switches, "false")
    return {one.inline_switch: flag(_runs_inline(spec, one.service, job=job)), **off}


def _scope(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Plan from all partitions where Hudi's incremental planning would lose some.

    By default Hudi plans from the partitions written since the last plan, and carries over the rest of a plan.
    `ClusteringPlanPartitionFilter`, `DayBasedCompactionStrategy` and `PartitionRegexBasedCompactionStrategy` of Hudi
    1.2.0 carry over no partitions, or partitions that were not requested. Elsewhere the default stands, and a class may
    change it.
    """
    planned_here = any(
        one.service is service or _runs_inline(spec, one.service, job=service)
        for one in TABLE_SERVICES
        if one.needs_all_partitions(spec)
    )
    return {"hoodie.table.services.incremental.enabled": "false"} if planned_here else {}
