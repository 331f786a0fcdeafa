"""Finds every problem of a table, the worst first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import Service
from hudi_jobs.contract.table.support import EVERY_SERVICE
from hudi_operator.api.status.findings import (
    ALL_SERVICES,
    FINDING_LIMIT,
    FINDINGS_SHOWN,
    REMEDY_LIMIT,
    WORST_FIRST,
    Finding,
    FindingCode,
)
from hudi_operator.diagnosis.check import Evidence
from hudi_operator.planning.model.reason_registry import entry_of
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.findings.finding_registry import DEFINITIONS, definition_of
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.services.registry import SERVICES

_PLACES: Mapping[FindingCode, int] = {code: place for place, code in enumerate(FindingCode)}


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The findings of this reconcile, and those that status shows, the worst first.

    While its figures are stale, status also shows the findings of the last reading: a short outage of the store neither
    resolves a finding nor makes a new one.
    """

    current: tuple[Finding, ...]
    shown: tuple[Finding, ...]


def findings_of(plan: Plan, *, now: datetime) -> Findings:
    """Return the findings of a table; a finding that was there before keeps its time."""
    before = plan.observation.table.status.findings
    known = {one.code: one.since for one in before}
    current = _ordered(_finding(one, evidence, known, now=now) for one, evidence in _evidence(plan))
    codes = {one.code for one in current}
    stale = plan.observation.is_stale
    kept = (one for one in before if stale and one.code not in codes and definition_of(one.code).needs_timeline)
    return Findings(current=current, shown=_ordered((*current, *kept)))


def blocking_ingestion(found: Iterable[Finding]) -> Finding | None:
    """Return the finding that keeps ingestion from starting, the first by its code, or None."""
    blocking = {one.code: one for one in found if {ALL_SERVICES, Service.INGESTION} & set(one.blocks)}
    return next((blocking[code] for code in FindingCode if code in blocking), None)


def finding_of(found: Iterable[Finding], code: FindingCode) -> Finding | None:
    """Return the finding with a code, or None."""
    return next((one for one in found if one.code is code), None)


def _evidence(plan: Plan) -> Iterator[tuple[FindingDefinition, Evidence]]:
    is_hidden = plan.observation.is_hidden
    for definition in DEFINITIONS:
        if is_hidden and definition.needs_timeline:
            continue  # a folder is not shown to those who may not see it
        evidence = definition.find(plan) if definition.find is not None else None
        if evidence is not None:
            yield definition, evidence


def _finding(
    definition: FindingDefinition, evidence: Evidence, known: Mapping[FindingCode, str], *, now: datetime
) -> Finding:
    return Finding(
        code=definition.code,
        severity=definition.severity,
        since=known.get(definition.code) or format_time(now),
        message=evidence.message[:FINDING_LIMIT],
        blocks=_names(evidence.blocks),
        remedy=entry_of(definition.code).advice[:REMEDY_LIMIT],
    )


def _names(blocked: frozenset[Service]) -> tuple[str, ...]:
    if blocked >= EVERY_SERVICE:
        return (ALL_SERVICES,)
    return tuple(service.value for service in SERVICES if service in blocked)


def _ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    ordered = sorted(found, key=lambda one: (WORST_FIRST.index(one.severity), _PLACES[one.code]))
    return tuple(ordered[:FINDINGS_SHOWN])
