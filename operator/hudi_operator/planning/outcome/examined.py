"""The facts of a table for the checks that `hudi-operator doctor` makes too, and the limits that its spec sets."""

from datetime import datetime

from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_services import CompactionTriggerStrategy
from hudi_operator.diagnosis.check import Examined, Limits
from hudi_operator.planning.model import Observation
from hudi_operator.timeline.files.times import dated_names

_BEHIND = 10
"""How many times its trigger a service is behind before a person should look: the operator works on it meanwhile."""


def examined_of(observation: Observation, *, now: datetime) -> Examined | None:
    """Return what checks look at, without a request; None if there is no timeline."""
    snapshot = observation.snapshot
    if snapshot.timeline is None or observation.is_hidden:
        return None
    related = observation.related.savepoints
    declared = (one.status.instant or one.spec.instant for one in related)
    return Examined(
        timeline=snapshot.timeline,
        now=now,
        limits=limits_of(observation.table.spec),
        facts=snapshot.facts,
        written=dict(snapshot.written),
        undoings=snapshot.undoings,
        damaged=tuple(one.problem for one in snapshot.damaged),
        metadata=snapshot.metadata,
        dated=dated_names(snapshot.timeline.newest_files),
        ours=frozenset(filter(None, declared)),
    )


def limits_of(spec: HudiTableSpec) -> Limits:
    """Return the limits of a table by its spec, none below the default; a compaction by time has none."""
    usual = Limits()
    compaction, archival = spec.compaction, spec.archival
    by_time = compaction.trigger.strategy is CompactionTriggerStrategy.TIME_ELAPSED
    twice = max(usual.compaction_commits or 0, 2 * compaction.trigger.delta_commits)
    return Limits(
        compaction_commits=None if by_time else twice,
        active_commits=max(usual.active_commits, _BEHIND * archival.max_commits),
    )
