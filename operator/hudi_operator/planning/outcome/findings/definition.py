"""Defines a finding and its families: its code, its severity, and how to find it. Every part is required."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hudi_jobs.contract import Service, SyncTrouble, differences_message
from hudi_jobs.contract.statistics import TableStatistics
from hudi_jobs.contract.table.support import EVERY_SERVICE
from hudi_jobs.contract.wording import escaped
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.catalogs.registry import declared_target
from hudi_operator.diagnosis.check import Check, Evidence
from hudi_operator.diagnosis.check_registry import check_of
from hudi_operator.planning.facts.drift import drift_code
from hudi_operator.planning.facts.writers.pending import in_the_way
from hudi_operator.planning.needs.rescan import skipped_input
from hudi_operator.planning.outcome.plan import Plan


@dataclass(frozen=True, kw_only=True)
class FindingDefinition:
    """A code with its severity, its effect in words for the docs, and its check.

    `find` returns None if the table has no such finding; it is None for a code that `hudi-operator doctor` alone says.
    A finding that `needs_timeline` stays unchanged while the timeline cannot be read.
    """

    code: FindingCode
    severity: Severity
    blocks: str
    needs_timeline: bool
    find: Callable[[Plan], Evidence | None] | None


def of_check(check: Check, find: Callable[[Plan], Evidence | None] | None) -> FindingDefinition:
    """Return the definition of a check's code, found by what the operator knows beyond the timeline."""
    return FindingDefinition(
        code=check.code, severity=check.severity, blocks=check.blocks, needs_timeline=True, find=find
    )


def by_check(check: Check) -> FindingDefinition:
    """Return the definition of a code that the check alone finds."""
    return of_check(check, partial(_by_check, check))


def _by_check(check: Check, plan: Plan) -> Evidence | None:
    return None if plan.examined is None else check.find(plan.examined)


def refusal_of_check(code: FindingCode) -> FindingDefinition:
    """Return the definition of a check's code for differences that keep services from starting."""
    return of_check(check_of(code), partial(_refusal, code))


def refusal(code: FindingCode, *, severity: Severity, blocks: str) -> FindingDefinition:
    """Return the definition of a code for differences that keep services from starting."""
    return FindingDefinition(
        code=code, severity=severity, blocks=blocks, needs_timeline=True, find=partial(_refusal, code)
    )


def _refusal(code: FindingCode, plan: Plan) -> Evidence | None:
    stopping = tuple(one for one in plan.facts.drift if one.stops)
    if not stopping:
        return None
    refused = frozenset[Service]().union(*(one.refuses for one in stopping))
    found = drift_code(stopping)
    if found is FindingCode.SPEC_DRIFT and Service.INGESTION not in refused:
        found = FindingCode.SERVICES_REFUSED
    return Evidence(message=differences_message(stopping), blocks=refused) if found is code else None


def measured(plan: Plan) -> TableStatistics | None:
    """Return the statistics that the last driver measured, if they may be shown."""
    observation = plan.observation
    return None if observation.is_hidden else observation.snapshot.statistics


def skipped(code: FindingCode) -> FindingDefinition:
    """Return the definition of a code for skipped input."""
    return FindingDefinition(
        code=code,
        severity=Severity.WARNING,
        blocks="Nothing: ingestion continues without the skipped input.",
        needs_timeline=False,
        find=partial(_skipped, code),
    )


def _skipped(code: FindingCode, plan: Plan) -> Evidence | None:
    found = skipped_input(plan.observation.table, plan.services.ingestion, plan.active_jobs)
    if found is None:
        return None
    reason, message = found
    return Evidence(message=message) if reason is code else None


def unfinished(code: FindingCode) -> FindingDefinition:
    """Return the definition of a code for a rollback or restore that cannot continue by itself."""
    return of_check(check_of(code), partial(_unfinished, code))


def _unfinished(code: FindingCode, plan: Plan) -> Evidence | None:
    """Return the pending rollback or restore, unless the table is only observed or a HudiOperation is finishing it."""
    found = in_the_way(plan.observation.snapshot)
    is_observed = plan.observation.table.spec.management_policy is ManagementPolicy.OBSERVE
    if found is None or is_observed or plan.facts.operations.maintenance is not None:
        return None
    reason, message = found
    return Evidence(message=message, blocks=EVERY_SERVICE) if reason == code else None


def catalog(code: FindingCode, *, troubles: frozenset[SyncTrouble]) -> FindingDefinition:
    """Return the definition of a code for failed syncs of the catalog with one of these troubles."""
    return FindingDefinition(
        code=code,
        severity=Severity.WARNING,
        blocks="Nothing: every commit completes, and readers by path see it.",
        needs_timeline=True,
        find=partial(_catalog, troubles),
    )


def _catalog(troubles: frozenset[SyncTrouble], plan: Plan) -> Evidence | None:
    """Return the failed sync with the current settings; a sync with other settings says nothing of them."""
    record = plan.observation.snapshot.catalog
    if record is None or record.behind_since is None or record.trouble not in troubles:
        return None
    if record.target != declared_target(plan.observation.table, plan.facts.table_class):
        return None
    shown = f"It shows the table as of {record.instant}." if record.instant is not None else "It has never been synced."
    behind = f"The catalog entry {record.entry} has been behind the table since {record.behind_since}. {shown}"
    return Evidence(message=f"{behind} {escaped(record.message)}")
