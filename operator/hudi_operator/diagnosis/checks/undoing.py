"""Checks of rollbacks and restores: unfinished ones, and writes or clusterings that are undone again and again."""

from collections.abc import Iterable

from hudi_jobs.contract.table.support import EVERY_SERVICE
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Check, Evidence, Examined, Undoing, is_undone
from hudi_operator.timeline import Action, Layout, Timeline

_AGAIN = 3
"""How many attempts in a row are more than bad luck."""

_WRITES = frozenset({Action.COMMIT, Action.DELTA_COMMIT})
_REPLACES = frozenset({Action.CLUSTERING, Action.REPLACE_COMMIT})


def savepointed_rollback(timeline: Timeline, undoings: Iterable[Undoing]) -> Evidence | None:
    """Return the pending rollback that a savepoint keeps from finishing, or None."""
    savepoints = set(timeline.counters.savepoints)
    for one in undoings:
        kept = savepoints.intersection(one.targets)
        if kept and one.instant.action is Action.ROLLBACK and not one.instant.is_completed:
            commit, rollback = min(kept), one.instant.time
            message = (
                f"The pending rollback {rollback} is to undo commit {commit}, which a savepoint keeps: Hudi refuses to "
                "finish the rollback and fails every run until then. To undo the commit, delete the savepoint: the "
                "next run finishes the rollback. To keep the commit, where the savepoint is older than the rollback, "
                f"which has then undone nothing yet, remove the files {rollback}.rollback.* of the timeline."
            )
            return Evidence(message=message, blocks=EVERY_SERVICE, instant=rollback)
    return None


def pending_restore(timeline: Timeline) -> Evidence | None:
    """Return the restore that has begun and has not completed, or None."""
    restore = next((one for one in timeline.pending if one.action is Action.RESTORE), None)
    if restore is None:
        return None
    message = (
        f"The restore {restore.time} was started and has not completed: the table may be half restored, and nothing "
        "starts beside it. If nobody works on it any more, finish it with the tool that started it "
        "(restore to the same savepoint once more). If a deleted HudiOperation started it, create another "
        "HudiOperation that restores to the same commit; an operation to any other commit is refused, and its message "
        "names the commit."
    )
    return Evidence(message=message, blocks=EVERY_SERVICE, instant=restore.time)


def _writes(table: Examined) -> Evidence | None:
    """Return the writes that were rolled back since the newest commit, if there are several."""
    newest = max((one.time for one in table.completed_commits), default="")
    undone = [one for one in table.undoings if is_undone(one, _WRITES) and min(one.targets, default="") > newest]
    if len(undone) < _AGAIN:
        return None
    first = min(one.instant.time for one in undone)
    since = f"since {newest}, the newest commit" if newest else "and no commit exists"
    message = f"{len(undone)} writes have failed and were rolled back {since}; no write has completed."
    return Evidence(message=message, instant=first, count=len(undone), since=table.latest_moment(first))


def _clusterings(table: Examined) -> Evidence | None:
    """Return the clusterings that were rolled back since the last that completed, if there are several."""
    in_layout_2 = table.timeline.properties.layout is Layout.TWO
    actions = frozenset({Action.CLUSTERING}) if in_layout_2 else _REPLACES
    newest = max((one.time for one in table.timeline.completed if one.action in _REPLACES), default="")
    undone = [one for one in table.undoings if is_undone(one, actions) and min(one.targets, default="") > newest]
    if len(undone) < _AGAIN:
        return None
    first = min(one.instant.time for one in undone)
    what = "clusterings" if in_layout_2 else "clusterings or overwrites"
    message = (
        f"{len(undone)} {what} were rolled back and none has completed since: writers update the same files, "
        "or a clustering fails each time."
    )
    return Evidence(message=message, instant=first, count=len(undone), since=table.latest_moment(first))


ROLLBACK_OF_SAVEPOINT = Check(
    code=FindingCode.ROLLBACK_OF_SAVEPOINT,
    severity=Severity.CRITICAL,
    blocks="Everything: Hudi refuses each write and service until the rollback is finished.",
    remedy="Delete the savepoint, or the rollback.",
    find=lambda table: savepointed_rollback(table.timeline, table.undoings),
)
RESTORE_PENDING = Check(
    code=FindingCode.RESTORE_PENDING,
    severity=Severity.CRITICAL,
    blocks="Everything: rows of removed commits could stay, and files that the restore needs could go.",
    remedy=(
        "Finish the restore with the tool that began it; after a HudiOperation that is gone, create another one that "
        "restores to the same commit."
    ),
    find=lambda table: pending_restore(table.timeline),
)
WRITES_FAIL = Check(
    code=FindingCode.WRITES_FAIL,
    severity=Severity.WARNING,
    blocks="New rows: no write completes.",
    remedy="Look at the log of the tool that writes the table, and remove the cause.",
    find=_writes,
)
CLUSTERING_FAILS = Check(
    code=FindingCode.CLUSTERING_FAILS,
    severity=Severity.WARNING,
    blocks="Clustering: small files stay, and each attempt costs as much as a success.",
    remedy="Cluster only partitions that are no longer written to, or let updates win by `clustering.updates: Allow`.",
    find=_clusterings,
)

CHECKS = (ROLLBACK_OF_SAVEPOINT, RESTORE_PENDING, WRITES_FAIL, CLUSTERING_FAILS)
