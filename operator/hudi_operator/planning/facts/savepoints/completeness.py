"""Tells whether a foreign savepoint's commit still has all its files.

Cleaning keeps the files of a commit from its savepoint on. Only cleans requested after the commit and before the
savepoint matter; of these the operator reads only the last clean of the timeline.
"""

from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.table_savepoints import TableSavepoint
from hudi_operator.planning.facts.savepoints.rules import keeps_from
from hudi_operator.timeline import Action, Timeline


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
