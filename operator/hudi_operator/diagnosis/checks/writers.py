"""Checks of the clocks and the concurrency of a table's writers."""

from collections.abc import Sequence
from datetime import timedelta

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Check, Evidence, Examined, named
from hudi_operator.timeline import Action, CommitMetadata, Instant, TableProperties
from hudi_operator.timeline.files.times import FileTimes, clock_shift

_AHEAD = timedelta(minutes=10)
_SHIFT = 2 * 60 * 1000
"""The difference of two clocks, in milliseconds, that people should know of."""

SERVICE_OPERATIONS = frozenset({"COMPACT", "LOG_COMPACT", "CLUSTER", "INDEX"})
"""Hudi's names for the commits of table services."""


def is_service(instant: Instant, metadata: CommitMetadata, properties: TableProperties) -> bool:
    """Tell whether a commit belongs to a table service and brings no rows."""
    if metadata.operation in SERVICE_OPERATIONS or instant.action is Action.CLUSTERING:
        return True
    is_compaction = instant.action is Action.COMMIT and properties.is_merge_on_read
    return is_compaction and metadata.operation in {None, "UNKNOWN"}


def overlapping(commits: Sequence[tuple[Instant, CommitMetadata]], properties: TableProperties) -> Instant | None:
    """Return a commit that overlapped another, or None; only layout 2 records completion times."""
    writes = sorted(
        instant
        for instant, metadata in commits
        if instant.completed_at is not None and not is_service(instant, metadata, properties)
    )
    latest = ""
    for one in writes:
        if one.time < latest:
            return one
        latest = max(latest, one.completed_at or "")
    return None


def _clocks(table: Examined) -> Evidence | None:
    """Return an instant of the future, or the difference between the clocks of the writers and the store."""
    newest = max((one.completion for one in table.timeline.instants), default="")
    moment = table.earliest_moment(newest)
    if moment is not None and moment - table.now > _AHEAD:
        message = (
            f"The newest instant {newest} is in the future: a writer's clock is ahead, or this machine's is behind. "
            "Writers with a right clock make instants that sort before it."
        )
        return Evidence(message=message, instant=newest)
    shift = clock_shift(FileTimes(time=time, requested=written, completed=None) for time, written in table.dated)
    if abs(shift) < _SHIFT:
        return None
    side = "behind" if shift > 0 else "ahead of"
    message = f"The clock of the writers is {abs(shift) // 1000} seconds {side} the clock of the store."
    return Evidence(message=message, count=abs(shift) // 1000)


def _overlap(table: Examined) -> Evidence | None:
    found = overlapping(table.commits, table.timeline.properties)
    if found is None:
        return None
    message = (
        f"{named(found)} began before an earlier commit had completed: several writers are at work at once, "
        "and the timeline does not show whether they share a lock."
    )
    return Evidence(message=message, instant=found.time, since=table.latest_moment(found.time))


CLOCKS_DIFFER = Check(
    code=FindingCode.CLOCKS_DIFFER,
    severity=Severity.WARNING,
    blocks="Nothing: instants may sort in another order than commits were made.",
    remedy="Synchronise the clocks of the machines that write the table.",
    find=_clocks,
)
WRITERS_OVERLAP = Check(
    code=FindingCode.WRITERS_OVERLAP,
    severity=Severity.INFO,
    blocks="Nothing: without a shared lock, writers lose each other's rows.",
    remedy="Set `hoodie.write.concurrency.mode=optimistic_concurrency_control` and one lock provider for all writers.",
    find=_overlap,
)

CHECKS = (CLOCKS_DIFFER, WRITERS_OVERLAP)
