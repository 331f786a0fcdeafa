"""Whether all files of a commit are still there that somebody else has made a savepoint on.

Cleaning keeps the files of a commit from its savepoint on. What counts are the cleans that were requested after the
commit and before the savepoint; of these the operator reads the last clean of the timeline alone.
"""

from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.table_savepoints import TableSavepoint
from hudi_operator.planning.savepoints.rules import keeps_from
from hudi_operator.timeline import Action, Timeline


def completeness(instant: str, timeline: Timeline) -> ConditionStatus:
    """Return whether the files of a commit with a savepoint are all there, as far as the active timeline tells."""
    cleans = [one.time for one in timeline.instants if one.action is Action.CLEAN]
    made = _made_at(instant, timeline)
    before = [one for one in cleans if one > instant and (made is None or one < made)]
    if not before:
        # Archival takes old cleans first: where it has left one from before the commit, it has taken none after it.
        is_whole = not cleans or min(cleans) < instant
        return ConditionStatus.TRUE if is_whole else ConditionStatus.UNKNOWN
    known = keeps_from(timeline.counters) if max(before) == timeline.counters.last_clean else None
    if known is not None and instant < known:
        return ConditionStatus.FALSE
    is_only = len(before) == 1 and (min(cleans) < instant)
    return ConditionStatus.TRUE if known is not None and is_only else ConditionStatus.UNKNOWN


def lacks_files(entry: TableSavepoint) -> bool:
    """Tell whether files of a savepoint are known to be gone, so that the table cannot be restored to it."""
    is_missing = entry.retained is not None and bool(entry.retained.missing)
    return is_missing or entry.data_complete is ConditionStatus.FALSE


def _made_at(instant: str, timeline: Timeline) -> str | None:
    """Return when a savepoint was completed; layout 1 does not say."""
    saved = (one for one in timeline.completed if one.action is Action.SAVEPOINT and one.time == instant)
    return next((one.completed_at for one in saved), None)
