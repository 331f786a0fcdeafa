"""Checks of a timeline that nothing shortens."""

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import HISTORY, Check, Evidence, Examined, named

_ARCHIVAL = frozenset({Service.ARCHIVAL})


def _savepoint(table: Examined) -> Evidence | None:
    """Return the oldest savepoint if it is old and holds back archival: nothing before its commit is active."""
    oldest = min(table.timeline.counters.savepoints, default=None)
    if oldest is None or oldest in table.ours or not table.is_older(oldest, table.limits.old):
        return None
    first = min((one.time for one in table.completed_commits), default=oldest)
    number = table.commits_after(oldest)
    if first < oldest or number <= table.limits.pinned_commits:
        return None
    message = (
        f"The savepoint of commit {oldest} holds back archival: {number} newer commits stay in the active timeline. "
        "Its files are kept, too."
    )
    return Evidence(message=message, blocks=HISTORY, instant=oldest, count=number, since=table.latest_moment(oldest))


def _archival(table: Examined) -> Evidence | None:
    most, commits = table.limits.active_commits, table.completed_commits
    if len(commits) <= most or not table.is_older(commits[0].time, table.limits.old):
        return None
    message = (
        f"{len(commits)} commits are in the active timeline, the oldest is {named(commits[0])}: archival stands still."
    )
    return Evidence(
        message=message,
        blocks=_ARCHIVAL,
        instant=commits[0].time,
        count=len(commits),
        since=table.latest_moment(commits[0].time),
    )


def _files(table: Examined) -> Evidence | None:
    number = table.timeline.files
    if number <= table.limits.files:
        return None
    message = f"The active timeline has {number:,} files; each read and each write lists them all."
    return Evidence(message=message, count=number)


SAVEPOINT_PINS_HISTORY = Check(
    code=FindingCode.SAVEPOINT_PINS_HISTORY,
    severity=Severity.WARNING,
    blocks="Archival stops at the savepoint, and cleaning keeps its files.",
    remedy="Delete the savepoint if nobody needs it (`delete_savepoint` of Hudi), or let a HudiSavepoint end it.",
    find=_savepoint,
)
ARCHIVAL_BEHIND = Check(
    code=FindingCode.ARCHIVAL_BEHIND,
    severity=Severity.WARNING,
    blocks="Nothing yet: reads and writes become slower with each commit.",
    remedy="Remove what pins history; let a writer archive (`hoodie.archive.automatic`), or run `archive_commits`.",
    find=_archival,
)
TIMELINE_TOO_LONG = Check(
    code=FindingCode.TIMELINE_TOO_LONG,
    severity=Severity.WARNING,
    blocks="Nothing: listings of the timeline take several requests and seconds.",
    remedy="Archive more often, or keep fewer commits (`hoodie.keep.max.commits`).",
    find=_files,
)

CHECKS = (SAVEPOINT_PINS_HISTORY, ARCHIVAL_BEHIND, TIMELINE_TOO_LONG)
