"""Whether an archival is due: `TimelineArchiverV1`/`V2` of Hudi 1.2.0."""

from hudi_jobs.contract import TableType
from hudi_jobs.contract.wording import counted
from hudi_operator.api.spec.table_services import CleaningPolicy, CompactionTriggerStrategy
from hudi_operator.planning.model.decision import STARVING_FACTOR, Decision, Priority, Reason, uncertain
from hudi_operator.planning.needs.view import ServiceView
from hudi_operator.timeline import Archivable, ArchivalHold, archivable

_HOLDS = {
    ArchivalHold.PENDING_INSTANT: "an instant is pending there",
    ArchivalHold.COMPACTION: "compaction still counts them",
    ArchivalHold.REPLACED_FILES: "the files that a clustering or overwrite replaced have not been cleaned",
    ArchivalHold.METADATA_TABLE: "the metadata table was not compacted since",
    ArchivalHold.SAVEPOINT: "there is a savepoint",
}

_COUNTS_DELTA_COMMITS = frozenset({CompactionTriggerStrategy.NUM_COMMITS, CompactionTriggerStrategy.NUM_AND_TIME})


def evaluate(view: ServiceView) -> Decision:
    """Return whether an archival would move anything out of the active timeline."""
    found, archival = _found(view), view.spec.archival
    if found is None:
        return uncertain("What can be archived")
    number, threshold = view.timeline.counters.completed_commits, archival.max_commits + 1
    due = found.commits + found.others > 0
    return Decision(
        due=due,
        reason=Reason.THRESHOLD_REACHED if due else _reason(number, archival.max_commits),
        message=_message(found, number, minimum=archival.min_commits, maximum=archival.max_commits),
        counted=number,
        threshold=threshold,
        priority=Priority.STARVING if number >= STARVING_FACTOR * threshold else Priority.SERVICE,
    )


def blocked_by(view: ServiceView) -> str | None:
    """Return why the active timeline holds more commits than it should keep."""
    found = _found(view)
    if found is None or found.held is None:
        return None
    return f"Commits from {found.held_from or 'the first'} on stay: {_HOLDS[found.held]}."


def _found(view: ServiceView) -> Archivable | None:
    spec = view.spec
    trigger, cleaning = spec.compaction.trigger, spec.cleaning
    counts_deltas = spec.type is TableType.MERGE_ON_READ and trigger.strategy in _COUNTS_DELTA_COMMITS
    keeps_commits = cleaning.policy is CleaningPolicy.KEEP_LATEST_COMMITS
    return archivable(
        view.timeline,
        min_commits=spec.archival.min_commits,
        max_commits=spec.archival.max_commits,
        retain_commits=cleaning.retain_commits if keeps_commits else None,
        compaction_delta_commits=trigger.delta_commits if counts_deltas else None,
        metadata=view.metadata,
    )


def _reason(number: int, maximum: int) -> Reason:
    return Reason.NOTHING_TO_DO if number > maximum else Reason.BELOW_THRESHOLD


def _message(found: Archivable, number: int, *, minimum: int, maximum: int) -> str:
    active = f"{counted(number, 'commit')} in the active timeline; more than {maximum} are archived down to {minimum}."
    if found.commits + found.others == 0:
        return active
    others = counted(found.others, "clean or rollback", "cleans and rollbacks")
    return f"{active} {counted(found.commits, 'commit')} and {others} can be archived."
