"""Builds the status from an observation and a plan, on every path, with its summary in a few short texts."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from hudi_jobs.contract.wording import shortened
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.status.conditions import Condition
from hudi_operator.api.status.findings import WORST_FIRST, Finding
from hudi_operator.api.status.service_status import service_name
from hudi_operator.api.status.table_parts import SUMMARY_LIMIT, CatalogStatus, SummaryStatus, TableStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.status.timeline import INSTANTS_SHOWN, PENDING_SHOWN, FilesStatus, InstantStatus, TimelineStatus
from hudi_operator.diagnosis.score import score_of
from hudi_operator.planning.facts.operations.repeated import ended_operations
from hudi_operator.planning.facts.runs.affected import known_runs
from hudi_operator.planning.facts.runs.daily_costs import cost_text
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.times import format_time, instant_time
from hudi_operator.planning.outcome.findings.find import findings_of
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.class_rules import class_rules
from hudi_operator.planning.outcome.status.conditions import build_conditions, invalid_conditions
from hudi_operator.planning.outcome.status.failed_logs import failed_logs
from hudi_operator.planning.outcome.status.readiness import waits_for_place
from hudi_operator.planning.outcome.status.statistics_status import statistics_status
from hudi_operator.timeline import Instant, Problem, Timeline, TimelineZone
from hudi_operator.timeline.rules.counters import COMMITS
from hudi_operator.timeline.rules.file_sizes import FileSummary


def summary_of(observation: Observation, findings: Iterable[Finding], message: str) -> SummaryStatus:
    """Return the summary of a table; while its figures are stale, the newest commit stays."""
    before, snapshot = observation.table.status.summary, observation.snapshot
    newest = _newest_commit(snapshot.timeline)
    if observation.is_stale:
        newest = before.newest_commit if before is not None else None
    found = tuple(findings)
    score = score_of((one.code, one.severity) for one in found).value if found else None
    return SummaryStatus(
        findings=counts(found),
        score=score,
        message=short(message),
        class_rules=class_rules(observation),
        newest_commit=newest,
    )


def with_message(summary: SummaryStatus | None, message: str) -> SummaryStatus:
    """Return a summary with another message."""
    return (summary or SummaryStatus()).copy_with(message=short(message))


def counts(findings: Iterable[Finding]) -> str | None:
    """Return the number of findings of each severity, the worst first; None without any."""
    number = Counter(one.severity for one in findings)
    return ", ".join(f"{number[one]} {one}" for one in WORST_FIRST if number[one]) or None


def short(message: str) -> str:
    """Return the beginning of a message that fits into a column."""
    return shortened(message, SUMMARY_LIMIT)


def _newest_commit(timeline: Timeline | None) -> str | None:
    if timeline is None or timeline.properties.timezone is not TimelineZone.UTC:
        return None
    newest = max((one.time for one in timeline.completed if one.action in COMMITS), default=None)
    moment = instant_time(newest) if newest is not None else None
    return format_time(moment) if moment is not None else None


_PROBLEMS_SHOWN = 10
_PROBLEM_LIMIT = 300
_MESSAGE_LIMIT = 512


def build_status(plan: Plan, *, now: datetime) -> HudiTableStatus:
    """Return the status after this reconcile; it equals the previous status if nothing has changed."""
    table = plan.observation.table
    previous = table.status
    findings = findings_of(plan, now=now)
    conditions = build_conditions(plan, findings, now=now)
    message = _message(conditions, plan)
    return HudiTableStatus(
        observed_generation=table.metadata.generation,
        last_handled_reconcile_at=plan.answered or previous.last_handled_reconcile_at,
        rescan=plan.rescan,
        decisions=previous.decisions,
        bad_rows=plan.bad_rows,
        namespace_suspension=plan.observation.namespace_suspension,
        message=message,
        summary=summary_of(plan.observation, findings.shown, message),
        conditions=tuple(condition.carried_over(previous.conditions) for condition in conditions),
        findings=findings.shown,
        table=_table(plan.observation, previous.table),
        timeline=_timeline(plan),
        statistics=statistics_status(plan.observation),
        stale_since=_stale_since(previous, now=now) if plan.observation.is_stale else None,
        owner=plan.owner,
        catalog=_catalog(plan.observation, previous.catalog),
        takeover=plan.takeover,
        services=plan.services,
        cost=cost_text(plan.services),
        active_jobs=plan.active_jobs,
        savepoints=plan.savepoints,
        operations=plan.operations,
        ended_operations=ended_operations(plan.observation, plan.operations),
        left_behind=plan.left_behind,
        left_by=plan.left_by,
        history=plan.history,
        failed_logs=failed_logs(plan, now=now),
    )


def build_invalid_status(invalid: InvalidObject, *, now: datetime) -> HudiTableStatus:
    """Return the Stalled status of a table with an unreadable spec: everything else stays, with stale figures."""
    conditions = invalid_conditions(invalid, now=now)
    return invalid.status.copy_with(
        observed_generation=invalid.metadata.generation,
        message=conditions[0].message[:_MESSAGE_LIMIT],
        summary=with_message(invalid.status.summary, conditions[0].message),
        conditions=tuple(condition.carried_over(invalid.status.conditions) for condition in conditions),
        stale_since=_stale_since(invalid.status, now=now),
    )


def timeline_status(
    timeline: Timeline, files: FileSummary | None = None, damage: tuple[Problem, ...] = ()
) -> TimelineStatus:
    """Return the summary of a timeline: counts, pending and newest instants, and problems."""
    counters = timeline.counters
    pending = timeline.pending
    return TimelineStatus(
        pending=tuple(_instant(instant) for instant in pending[:PENDING_SHOWN]),
        pending_count=len(pending),
        instants=tuple(_instant(instant) for instant in timeline.instants[-INSTANTS_SHOWN:]),
        completed_commits=counters.completed_commits,
        files=_files(files) if files else None,
        problems=tuple(map(_problem, (*damage, *timeline.problems)[:_PROBLEMS_SHOWN])),
    )


def _problem(problem: Problem) -> str:
    return shortened(f"{problem.file}: {problem.reason}", _PROBLEM_LIMIT)


def _files(summary: FileSummary) -> FilesStatus:
    return FilesStatus(
        commits=summary.commits,
        base_files=summary.base_files,
        small_files=summary.small_base_files,
        average_bytes=summary.average_base_bytes or 0,
    )


def _instant(instant: Instant) -> InstantStatus:
    return InstantStatus(
        time=instant.time,
        action=instant.action.value,
        state=instant.state.value,
        completed_at=instant.completed_at,
    )


def _table(observation: Observation, previous: TableStatus | None) -> TableStatus | None:
    """Return the table by its own properties, or by those of the last reading while these may be shown."""
    timeline = observation.snapshot.timeline
    if timeline is None or observation.is_hidden:
        return previous if observation.is_stale else None
    found = timeline.properties
    return TableStatus(type=found.table_type.declared, version=found.version, zone=found.timezone.value)


def _catalog(observation: Observation, previous: CatalogStatus | None) -> CatalogStatus | None:
    """Return the entry in the catalog by the record of the last sync, or that of the last reading."""
    if observation.is_stale:
        return previous
    record = observation.snapshot.catalog
    if record is None or observation.is_hidden:
        return None
    return CatalogStatus(entry=record.entry, instant=record.instant, behind_since=record.behind_since)


def _timeline(plan: Plan) -> TimelineStatus | None:
    observation, previous = plan.observation, plan.observation.table.status.timeline
    if observation.is_hidden and not observation.is_stale:
        # The last completion without another writer stays for a table that has had runs: their folder was its own.
        verified = previous.verified_up_to if previous and known_runs(plan.services, plan.history) else None
        return TimelineStatus(verified_up_to=verified) if verified else None
    if observation.snapshot.timeline is not None and not observation.is_hidden:
        damage = tuple(one.problem for one in observation.snapshot.damaged)
        files = observation.snapshot.files if observation.snapshot.statistics is None else None
        shown = timeline_status(observation.snapshot.timeline, files, damage)
        return shown.copy_with(verified_up_to=plan.verified_up_to, acts=plan.acts)
    return previous if observation.is_stale else None


def _stale_since(previous: HudiTableStatus, *, now: datetime) -> str | None:
    """Return since when the figures of a status are not read again; None if it has none."""
    return None if previous.timeline is None else previous.stale_since or format_time(now)


def _message(conditions: tuple[Condition, ...], plan: Plan) -> str:
    ready = conditions[0]
    if ready.status == "True" and plan.active_jobs:
        job = plan.active_jobs[0]
        told = job.message or (f"{job.progress}." if job.progress else "")
        return f"{service_name(job.service)} is {job.state.lower()}. {told}".strip()[:_MESSAGE_LIMIT]
    if ready.status == "True" and waits_for_place(plan.services.ingestion):
        return f"Ingestion waits for a place. {plan.services.ingestion.message}"[:_MESSAGE_LIMIT]
    if ready.status == "True" and plan.observation.suspended_by is not None:
        return "Suspended."
    return ready.message[:_MESSAGE_LIMIT]
