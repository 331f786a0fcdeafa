"""Another Hudi table as a source: the rows of its unread commits.

A commit is unread if the checkpoint does not name its instant and it has not completed before everything that had been
archived. So a commit that was requested early and completes late is read, and no clock decides. The rows are those of a
snapshot that carry the instant of an unread commit. A row that is written again meanwhile carries a later instant and
comes with the later commit. So cleaning and archival remove nothing that is still to be read. A row may come twice,
which an upsert hides.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    Checkpoint,
    FailureReason,
    HudiSource,
    IngestionTask,
    Location,
    NotALocation,
    RemovedRows,
    StartingCommit,
    WriteOperation,
    parse_rescan,
)
from hudi_jobs.contract.instants import wall_time
from hudi_jobs.contract.wording import counted
from hudi_jobs.ingestion.batch import Figures, InputBatch, Limit, Undone, rfc3339
from hudi_jobs.ingestion.rows import SourceRows
from hudi_jobs.ingestion.sources.hudi.commits import (
    Look,
    Removal,
    UpstreamCommit,
    kept_in_mind,
    refuse,
    removed_since,
    unread,
)
from hudi_jobs.ingestion.sources.hudi.hudi_state import UpstreamProgress, named
from hudi_jobs.ingestion.sources.hudi.upstream import Upstream, cleaned, looking_at, reading
from hudi_jobs.journal.journal import RECORD_LIMIT, Journal
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed

_SHOWN = 400


@dataclass(frozen=True)
class _Seen:
    """The observed upstream table, and the instants of unread commits that the archive may hold."""

    upstream: Upstream
    look: Look
    asked_at: datetime
    archived: tuple[UpstreamCommit, ...] = ()


class Hudi:
    """The upstream table of a task."""

    def __init__(self, context: TaskContext, task: IngestionTask) -> None:
        if not isinstance(task.source, HudiSource):
            raise TypeError(task.source.kind)
        self._context = context
        self._source: HudiSource = task.source
        self._asked = task.rescan
        _require_upsert(task)
        _require_apart(self._source.path, context.task.table.base_path)

    def fetch_next(self, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:
        """Return the rows of the oldest unread commits, within the limit; at first all rows."""
        before = UpstreamProgress.of(checkpoint)
        asked_at = datetime.now(UTC)
        upstream = Upstream.open(self._context.spark, self._source)
        with looking_at(self._source.path):
            seen = _Seen(upstream, upstream.look(), asked_at)
        if checkpoint is None or self._reads_all_again(before):
            reach(Phase.LISTED)
            return self._whole(seen, checkpoint)
        with looking_at(self._source.path):
            seen = replace(seen, archived=self._archived(seen, before))
        commits = unread(seen.look, seen.archived, before.read)
        reach(Phase.LISTED)
        if not commits:
            return self._nothing(seen, checkpoint, f"No new commits in the table at {self._source.path}.")
        return self._following(seen, before, commits, commits[: limit.items])

    def not_again(self, undone: Undone) -> str:
        """Return why rows that were read cannot be read again: undone commits, and removed rows."""
        if undone.at is None and self._source.starting_commit is StartingCommit.LATEST:
            return (
                f"With startingCommit: Latest and no checkpoint at the commit to return to, no row that the table at "
                f"{self._source.path} has now would be read again."
            )
        upstream = Upstream.open(self._context.spark, self._source)
        with looking_at(self._source.path):
            look = upstream.look()
            first = newest = UpstreamProgress.of(undone.newest)
            read = {*UpstreamProgress.of(undone.at).read, *newest.read}
            for progress in map(UpstreamProgress.of, undone.going):
                read |= set(progress.read)
                first = min(first, progress, key=lambda one: one.sequence)
            missing = frozenset(read) - look.instants
            archived = upstream.archived(first.through, missing)
            gone = missing - {one.instant for one in archived}
            if gone:
                return self._rewound(gone, newest)
            # Rows that will be removed were read at or after the first checkpoint, so the commits before it removed
            # none of them.
            later = unread(look, (one for one in archived if one.completed >= first.through), first.read)
            return removed_since(self._not_followed(list(upstream.removals(later))), self._source.path)

    def _whole(self, seen: _Seen, checkpoint: Checkpoint | None) -> InputBatch:
        """Return all rows, or none to start after them, and name all completed commits."""
        skips = self._source.starting_commit is StartingCommit.LATEST and checkpoint is None and self._asked is None
        if not seen.look.commits and skips:
            raise TaskFailed(
                FailureReason.SOURCE_NOT_FOUND,
                f"The table at {self._source.path} has no commit yet, so there is no commit to start after. Set "
                "startingCommit to Earliest, which reads the same rows, or wait for the first commit.",
            )
        if not seen.look.commits:
            return self._nothing(seen, checkpoint, f"The table at {self._source.path} has no commit yet.")
        last = UpstreamProgress.of(checkpoint)
        anew = UpstreamProgress(sequence=last.sequence, rescan=last.rescan)
        rows = self._rows(seen, () if skips else None)
        return self._batch(seen, rows, self._after(anew, seen, seen.look.commits), "no row" if skips else "all rows")

    def _following(
        self,
        seen: _Seen,
        before: UpstreamProgress,
        commits: tuple[UpstreamCommit, ...],
        chosen: tuple[UpstreamCommit, ...],
    ) -> InputBatch:
        left = commits[len(chosen) :]
        self._context.log("reading", commits=len(chosen), left=len(left))
        if self._source.on_removed_rows is RemovedRows.FAIL:
            with looking_at(self._source.path):
                removals = list(seen.upstream.removals(chosen))
            refuse(self._not_followed(removals), self._source.path)
        after = self._after(before, seen, chosen, left)
        return self._batch(seen, self._rows(seen, chosen), after, counted(len(chosen), "commit"), left)

    def _not_followed(self, removals: list[Removal]) -> list[Removal]:
        """Return the removals, except erasures of keys that were erased from this table too."""
        if all(one.erased is None for one in removals):
            return removals
        base_path = self._context.task.table.base_path
        followed = Journal(open_table_files(self._context.spark, base_path, limit=RECORD_LIMIT), base_path)
        done = followed.followed_erasures()
        return [one for one in removals if one.erased is None or one.erased.digest not in done]

    def _nothing(self, seen: _Seen, checkpoint: Checkpoint | None, remark: str) -> InputBatch:
        return InputBatch(None, checkpoint, figures=self._figures(seen, ()), contents="0 commits", remark=remark)

    def _batch(
        self,
        seen: _Seen,
        rows: SourceRows,
        after: UpstreamProgress,
        contents: str,
        left: tuple[UpstreamCommit, ...] = (),
    ) -> InputBatch:
        return InputBatch(
            rows=rows,
            checkpoint=after.checkpoint(),
            has_backlog=bool(left),
            figures=self._figures(seen, left),
            contents=f"{contents} of {self._source.path}",
            before_commit=partial(self._require_unchanged, seen.look, after),
        )

    def _rows(self, seen: _Seen, commits: Collection[UpstreamCommit] | None) -> SourceRows:
        with looking_at(self._source.path):
            frame = seen.upstream.rows(commits)
        name = f"the table {self._source.path}"
        return SourceRows(frame, name=name, format="Hudi", reading=partial(reading, self._source.path))

    def _after(
        self,
        before: UpstreamProgress,
        seen: _Seen,
        chosen: tuple[UpstreamCommit, ...],
        left: tuple[UpstreamCommit, ...] = (),
    ) -> UpstreamProgress:
        """Return the progress once these commits have been read, and the commits left unread."""
        through = max(chosen[-1].completed, before.through)
        read = (*before.read, *(one.instant for one in chosen))
        return UpstreamProgress(
            sequence=before.sequence + 1,
            source=self._source.path[:_SHOWN],
            table=seen.upstream.name,
            through=through,
            read=kept_in_mind(seen.look, seen.archived, read, through),
            archive="" if any(one.archived for one in left) else seen.look.archive,
            rescan=before.rescan if self._asked is None else self._asked,
        )

    def _archived(self, seen: _Seen, before: UpstreamProgress) -> tuple[UpstreamCommit, ...]:
        """Return the unread commits that the archive may hold.

        Raises `TaskFailed` if a read commit is neither in the active timeline nor in the archive.
        """
        missing = frozenset(before.read) - seen.look.instants
        if not missing and seen.look.archive == before.archive:
            return ()
        found = seen.upstream.archived(before.through, missing)
        self._require_there(missing - {one.instant for one in found}, before)
        return tuple(one for one in found if one.completed >= before.through)

    def _require_there(self, gone: frozenset[str], progress: UpstreamProgress) -> None:
        if gone:
            raise TaskFailed(
                FailureReason.UPSTREAM_REWOUND,
                f"{self._rewound(gone, progress)} Nothing was written. Rows of undone commits stay in this table. To "
                "read the whole upstream table again on top of them, create a HudiOperation with rescan, "
                "or read it into a new table.",
            )

    def _rewound(self, gone: frozenset[str], progress: UpstreamProgress) -> str:
        return (
            f"{counted(len(gone), 'commit')} of the table {progress.table} that were read are no longer in the "
            f"timeline of {self._source.path}: {named(gone)}. The upstream table was restored or recreated, or it is "
            "another table."
        )

    def _require_unchanged(self, look: Look, after: UpstreamProgress) -> None:
        """Raise `TaskFailed` if a commit was undone, or a file may have been cleaned away, since the look."""
        upstream = Upstream.open(self._context.spark, self._source)
        with looking_at(self._source.path):
            now = upstream.look()
            missing = frozenset(after.read) - now.instants
            if missing:
                missing -= {one.instant for one in upstream.archived(after.through, missing)}
            self._require_there(missing, after)
            if not all(look.keeps(retained) for retained in upstream.retained_by_cleans(look)):
                raise cleaned(self._source.path)

    def _reads_all_again(self, before: UpstreamProgress) -> bool:
        """Whether a person has asked for all rows, and no commit records yet that they were read."""
        return self._asked is not None and self._asked != before.rescan and parse_rescan(self._asked).is_everything

    def _figures(self, seen: _Seen, left: Collection[UpstreamCommit]) -> Figures:
        """Return how complete the table is: up to the oldest unread commit.

        The instant of a commit is a time only if the upstream table keeps its instants in UTC.
        """
        figures = Figures(rescan=self._asked)
        oldest = min((one.completed for one in left), default=None)
        if oldest is None:
            figures["complete_up_to"] = rfc3339(seen.asked_at)
        elif seen.upstream.is_in_utc and (time := wall_time(oldest)) is not None:
            figures["complete_up_to"] = rfc3339(min(seen.asked_at, time))
        return figures


def _require_upsert(task: IngestionTask) -> None:
    if task.operation is not WriteOperation.UPSERT:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"An upstream table can be read only with the operation Upsert, not {task.operation}: a row may arrive "
            "twice.",
        )


def _require_apart(source: str, base_path: str) -> None:
    try:
        one, other = Location.parse(source), Location.parse(base_path)
    except NotALocation as error:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"{error} is not the path of a table.") from error
    if one.holds(other) or other.holds(one):
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The upstream table {source} and the table {base_path} are nested, so the table would read itself.",
        )
