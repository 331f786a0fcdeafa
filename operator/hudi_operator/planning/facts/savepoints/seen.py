"""The observed table state for deciding savepoints, and the entry for each savepoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hudi_jobs.contract import SavepointWork
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.table_savepoints import SavepointState, TableSavepoint
from hudi_operator.api.status.takeover import TakeoverStatus
from hudi_operator.planning.facts.savepoints.declared import Declared
from hudi_operator.planning.facts.savepoints.needed import needed_by_restores
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.timeline import Action, Timeline

_MESSAGE_LIMIT = 512


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work of a run for a resource, and its commit."""

    what: SavepointWork
    instant: str


Answer = tuple[TableSavepoint, Work | None]
"""The entry of a savepoint, and the run it waits for."""


@dataclass(kw_only=True)
class ObservedTable:
    """The observed table state; `claimed` maps instants to the resources that own their savepoints.

    `needed` are the savepoints that restores need, as `needed_by_restores` returns them.
    """

    timeline: Timeline | None
    trouble: str | None
    takeover: str | None
    limit: int
    retry: RetrySettings
    now: datetime
    saved: frozenset[str] = frozenset()
    begun: frozenset[str] = frozenset()
    needed: Mapping[str, str] = field(default_factory=dict)
    claimed: dict[str, str] = field(default_factory=dict)

    def owner(self, instant: str | None, declared: Declared) -> str | None:
        """Return another resource that owns, or will own, the savepoint on a commit."""
        owner = self.claimed.get(instant or "")
        return owner if owner != declared.name else None

    def restore_to(self, declared: Declared) -> str | None:
        """Return the HudiOperation that restores to a resource's savepoint, if any."""
        target = declared.target
        if declared.since is None or declared.is_gone or declared.job is not None or target not in self.saved:
            return None
        return self.needed.get(declared.name) or self.needed.get(target or "")

    def claim(self, instant: str, declared: Declared) -> None:
        """Reserve a commit for a resource."""
        self.claimed[instant] = declared.name


def observe_table(observation: Observation, takeover: TakeoverStatus | None, *, now: datetime) -> ObservedTable:
    """Return the observed state of a table."""
    snapshot, table_class = observation.snapshot, observation.table_class
    trouble = snapshot.message or str(snapshot.trouble) if snapshot.trouble is not None else None
    timeline = snapshot.timeline if trouble is None else None
    begun = (one for one in timeline.pending if one.action is Action.SAVEPOINT) if timeline else ()
    return ObservedTable(
        timeline=timeline,
        trouble="The table may not be read." if observation.is_hidden else trouble,
        takeover=takeover.savepoint if takeover is not None else None,
        limit=table_class.spec.savepoints.max_per_table if table_class is not None else 0,
        retry=table_class.spec.retry if table_class is not None else RetrySettings(),
        now=now,
        saved=frozenset(timeline.counters.savepoints if timeline else ()),
        begun=frozenset(one.time for one in begun),
        needed=needed_by_restores(observation),
    )


def entry(
    declared: Declared,
    seen: ObservedTable,
    state: SavepointState,
    reason: SavepointReason,
    message: str,
    **changes: Any,  # noqa: ANN401 - as for `copy_with`
) -> TableSavepoint:
    """Return the status entry of a resource's savepoint."""
    named = declared.job.named_savepoint if declared.job is not None else None
    told = TableSavepoint(
        instant=declared.target or (named.instant if named is not None else None),
        resource=declared.name,
        uid=declared.uid,
        state=state,
        reason=reason,
        message=message[:_MESSAGE_LIMIT],
        adopted=declared.was_adopted if declared.since is not None else False,
        since=declared.since,
        data_complete=declared.data_complete,
        failures=declared.failures,
        retry_at=declared.retry_at(seen.retry, now=seen.now),
    )
    return told.copy_with(**changes)
