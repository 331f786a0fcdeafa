"""Checks of compaction and cleaning that do not keep up with the writes."""

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Check, Evidence, Examined
from hudi_operator.timeline import Action, CommitMetadata, Instant

CLEANS_ASKED = 3
"""How many newest cleans have to remove nothing."""

_COMPACTION = frozenset({Service.COMPACTION})
_CLEANING = frozenset({Service.CLEANING})


def _compaction(table: Examined) -> Evidence | None:
    most, timeline = table.limits.compaction_commits, table.timeline
    number, last = timeline.counters.delta_commits_since_compaction, timeline.counters.last_compaction
    if most is None or not timeline.properties.is_merge_on_read or number is None or number <= most:
        return None
    deltas = (one.time for one in table.completed_commits if one.action is Action.DELTA_COMMIT)
    since = last or min(deltas, default="")
    if not table.is_older(since, table.limits.compaction_age):
        return None
    begun = f"since compaction {last}" if last else "and no compaction is in the active timeline"
    message = f"{number} delta commits have completed {begun}: log files grow, and each read merges them."
    return Evidence(message=message, blocks=_COMPACTION, instant=since, count=number, since=table.latest_moment(since))


def _cleaning(table: Examined) -> Evidence | None:
    """Return the commits since the last clean, if recent commits have left old versions of files behind."""
    most, counters = table.limits.cleaning_commits, table.timeline.counters
    number = counters.commits_since_clean
    if number is None or number <= most or not _leave_old_versions(table):
        return None
    since = counters.last_clean or table.completed_commits[0].time
    if not table.is_older(since, table.limits.old):
        return None
    begun = f"since clean {counters.last_clean}" if counters.last_clean else "and no clean is in the active timeline"
    message = f"{number} commits have completed {begun}, and commits replace files: their old versions stay."
    return Evidence(message=message, blocks=_CLEANING, instant=since, count=number, since=table.latest_moment(since))


def _leave_old_versions(table: Examined) -> bool:
    return any(_replaces(instant, metadata, table) for instant, metadata in table.commits)


def _replaces(instant: Instant, metadata: CommitMetadata, table: Examined) -> bool:
    if table.timeline.properties.is_merge_on_read:
        # Updates go to log files, and only a compaction makes a new version of a file.
        return instant.action is Action.COMMIT and metadata.operation == "COMPACT"
    rewritten = any(one.updates or one.deletes for one in metadata.write_stats)
    return rewritten or bool(metadata.replaced_file_ids)


def stands_still(table: Examined) -> bool:
    """Tell whether the newest clean keeps all versions since long ago, so that older cleans are worth a look."""
    clean = table.timeline.counters.clean
    if clean is None or not clean.earliest_retained:
        return False
    return table.commits_after(clean.earliest_retained) > table.limits.pinned_commits


def _removes_nothing(table: Examined) -> Evidence | None:
    """Return that several cleans in a row have removed nothing, and have kept the same oldest commit."""
    cleans = table.cleans[:CLEANS_ASKED]
    if len(cleans) < CLEANS_ASKED or not stands_still(table) or any(one.files_deleted for one in cleans):
        return None
    kept = {one.earliest_retained for one in cleans}
    oldest = next(iter(kept)) if len(kept) == 1 else None
    if oldest is None or not table.is_older(oldest, table.limits.abandoned):
        return None
    number = table.commits_after(oldest)
    message = (
        f"The newest {CLEANS_ASKED} cleans have removed no file and keep everything since {oldest}, "
        f"after which {number} commits have completed."
    )
    return Evidence(message=message, blocks=_CLEANING, instant=oldest, count=number, since=table.latest_moment(oldest))


COMPACTION_BEHIND = Check(
    code=FindingCode.COMPACTION_BEHIND,
    severity=Severity.WARNING,
    blocks="Nothing: reads of the newest rows become slower with each delta commit.",
    remedy="Run compaction (`compaction.mode: Async`, or the job that executes plans); look for its failures first.",
    find=_compaction,
)
CLEANING_BEHIND = Check(
    code=FindingCode.CLEANING_BEHIND,
    severity=Severity.WARNING,
    blocks="Archival waits for cleaning; storage grows with each commit.",
    remedy="Let a writer clean (`hoodie.clean.automatic`), or run `run_clean`; first remove what pins history.",
    find=_cleaning,
)
CLEANING_REMOVES_NOTHING = Check(
    code=FindingCode.CLEANING_REMOVES_NOTHING,
    severity=Severity.WARNING,
    blocks="The removal of old versions: storage grows with each commit.",
    remedy="Remove the pending instant or savepoint at which cleaning stops; `hudi-operator timeline` shows it.",
    find=_removes_nothing,
)

CHECKS = (COMPACTION_BEHIND, CLEANING_BEHIND, CLEANING_REMOVES_NOTHING)
