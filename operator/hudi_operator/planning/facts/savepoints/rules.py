"""Decides from the timeline whether an instant can have a savepoint, and which savepoints restores still need.

Cleaning keeps the files of a commit from its savepoint on. Only cleans requested after the commit and before the
savepoint matter; of these the operator reads only the last clean of the timeline.
"""

from collections.abc import Mapping

from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.api.status.savepoints import TableSavepoint
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.timeline import Action, Counters, Timeline
from hudi_operator.timeline.rules.counters import COMMITS

_BECOME_COMMITS = COMMITS | {Action.COMPACTION, Action.LOG_COMPACTION}

_SHORTEST, _LONGEST = len("yyyyMMddHHmmss"), len("yyyyMMddHHmmssSSS")

Refusal = tuple[SavepointReason, str]
"""The reason, as a word and as a sentence."""


def is_instant(text: str) -> bool:
    """Whether a text is an instant time of Hudi, to the second or finer."""
    return _SHORTEST <= len(text) <= _LONGEST and text.isascii() and text.isdecimal()


def newest_commit(timeline: Timeline) -> str | None:
    """Return the requested time of the newest completed commit."""
    return max((one.time for one in timeline.completed if one.action in COMMITS), default=None)


def last_completed(timeline: Timeline) -> str | None:
    """Return the requested time of the commit that completed last; None if unknown (layout 1)."""
    commits = [one for one in timeline.completed if one.action in COMMITS]
    if not all(one.completed_at for one in commits):
        return None
    return max(commits, key=lambda one: (one.completion, one.time)).time if commits else None


def newer_commits(instant: str, timeline: Timeline) -> int:
    """Return how many completed commits were requested after an instant."""
    return sum(one.time > instant for one in timeline.completed if one.action in COMMITS)


def refusal_of(instant: str, timeline: Timeline) -> Refusal | None:
    """Return why there can be no savepoint on an instant, or None."""
    found = [one for one in timeline.instants if one.time == instant]
    if not found or not is_instant(instant):
        message = f"The active timeline holds no instant {instant}: it was archived or undone, or never existed."
        return SavepointReason.INSTANT_NOT_FOUND, message
    if any(one.is_completed and one.action in COMMITS for one in found):
        return _cleaned(instant, timeline.counters)
    if any(one.action in _BECOME_COMMITS for one in found):
        message = f"{found[0].action} {instant} is pending; a savepoint needs a commit that has completed."
        return SavepointReason.INSTANT_PENDING, message
    message = f"{instant} is a {found[0].action}, not a commit, so it has no files to keep."
    return SavepointReason.NOT_A_COMMIT, message


def keeps_from(counters: Counters) -> str | None:
    """Return the first commit with files that the last clean kept, or None if unknown.

    A clean that keeps a number of versions keeps everything from the newest commit it knew.
    """
    clean = counters.clean
    return (clean.earliest_retained or clean.last_completed_commit or None) if clean is not None else None


def _cleaned(instant: str, counters: Counters) -> Refusal | None:
    """Return a refusal if the last clean may have removed files of a commit; an older clean left it whole."""
    time, kept = counters.last_clean, keeps_from(counters)
    if time is None or time < instant or kept is None or instant >= kept:
        return None
    message = f"The clean {time} keeps files from commit {kept} on: files of {instant} may be gone."
    return SavepointReason.INSTANT_CLEANED, message


def completeness(instant: str, timeline: Timeline) -> ConditionStatus:
    """Return whether all files of a commit with a savepoint still exist, as far as the active timeline tells."""
    cleans = [one.time for one in timeline.instants if one.action is Action.CLEAN]
    made = _made_at(instant, timeline)
    before = [one for one in cleans if one > instant and (made is None or one < made)]
    if not before:
        # Archival takes old cleans first: if a clean from before the commit is left, none after the commit was
        # archived.
        is_whole = not cleans or min(cleans) < instant
        return ConditionStatus.TRUE if is_whole else ConditionStatus.UNKNOWN
    known = keeps_from(timeline.counters) if max(before) == timeline.counters.last_clean else None
    if known is not None and instant < known:
        return ConditionStatus.FALSE
    is_only = len(before) == 1 and (min(cleans) < instant)
    return ConditionStatus.TRUE if known is not None and is_only else ConditionStatus.UNKNOWN


def lacks_files(entry: TableSavepoint) -> bool:
    """Tell whether files of a savepoint are known to be missing, so that the table cannot be restored to it."""
    is_missing = entry.retained is not None and bool(entry.retained.missing)
    return is_missing or entry.data_complete is ConditionStatus.FALSE


def _made_at(instant: str, timeline: Timeline) -> str | None:
    """Return when a savepoint completed, or None; layout 1 does not record it."""
    saved = (one for one in timeline.completed if one.action is Action.SAVEPOINT and one.time == instant)
    return next((one.completed_at for one in saved), None)


def needed_by_restores(observation: Observation) -> Mapping[str, str]:
    """Return the HudiOperation for each needed savepoint, keyed by its HudiSavepoint's name or its commit."""
    finished = {one.uid for one in observation.table.status.operations if one.state in FINISHED}
    restores = (
        (one.metadata, one.spec.restore)
        for one in observation.related.operations
        if one.metadata.uid not in finished and one.status.state not in FINISHED and not one.spec.dry_run
    )
    return {
        restore.savepoint or restore.instant or "": metadata.name
        for metadata, restore in restores
        if restore is not None and metadata.deletion_timestamp is None
    }
