"""The state of a table in a few short texts."""

from collections import Counter
from collections.abc import Iterable

from hudi_jobs.contract.wording import shortened
from hudi_operator.api.status.findings import Finding, Severity
from hudi_operator.api.status.summary import SUMMARY_LIMIT, SummaryStatus
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.times import format_time, instant_time
from hudi_operator.timeline import Timeline, TimelineZone
from hudi_operator.timeline.rules.counters import COMMITS


def summary_of(observation: Observation, findings: Iterable[Finding], message: str) -> SummaryStatus:
    """Return the summary of a table; while its figures are stale, the newest commit stays."""
    before, snapshot = observation.table.status.summary, observation.snapshot
    newest = _newest_commit(snapshot.timeline)
    if observation.is_stale:
        newest = before.newest_commit if before is not None else None
    return SummaryStatus(findings=counts(findings), message=short(message), newest_commit=newest)


def with_message(summary: SummaryStatus | None, message: str) -> SummaryStatus:
    """Return a summary with another message."""
    return (summary or SummaryStatus()).copy_with(message=short(message))


def counts(findings: Iterable[Finding]) -> str | None:
    """Return the number of findings of each severity, the worst first; None without any."""
    number = Counter(one.severity for one in findings)
    return ", ".join(f"{number[one]} {one}" for one in reversed(Severity) if number[one]) or None


def short(message: str) -> str:
    """Return the beginning of a message that fits into a column."""
    return shortened(message, SUMMARY_LIMIT)


def _newest_commit(timeline: Timeline | None) -> str | None:
    if timeline is None or timeline.properties.timezone is not TimelineZone.UTC:
        return None
    newest = max((one.time for one in timeline.completed if one.action in COMMITS), default=None)
    moment = instant_time(newest) if newest is not None else None
    return format_time(moment) if moment is not None else None
