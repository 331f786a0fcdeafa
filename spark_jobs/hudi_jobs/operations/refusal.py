"""Refuses operations with a sentence for each reason. A run stops at the first reason; a dry run reports all."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from hudi_jobs.contract import FailureReason, NewerSavepoints
from hudi_jobs.contract.operations.operation import LONGEST_OBSTACLE, MOST_OBSTACLES
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.journal.history import History, Write
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.timeline import Begun, Clean, Savepoint

UNCHANGED = "Nothing was changed."

_NAMED = 5
_TRIED = 100
_UNDOABLE = frozenset({"commit", "deltacommit", "replacecommit", "clustering", "compaction"})


def refused(sentence: str) -> TaskFailed:
    """Return the failure for an operation that changed nothing."""
    return TaskFailed(FailureReason.OPERATION_REFUSED, f"{sentence} {UNCHANGED}")


def require_target(history: History, instant: str) -> Write:
    """Return the completed commit of the instant; raise `TaskFailed` for anything else."""
    found = [write for write in history.writes if write.instant == instant]
    done = next((write for write in found if write.completed is not None), None)
    if done is not None:
        return done
    if found:
        raise refused(f"{instant} has not completed; name a completed commit, or wait until it completes.")
    actions = sorted(history.actions_of(instant))
    if actions:
        raise refused(f"{instant} is a {actions[0]} and writes no rows; name a commit.")
    if instant in history.archived_from(instant):
        raise refused(
            f"Commit {instant} is in the archive, but a restore needs it and all later commits in the active "
            "timeline; name a newer commit, and keep future commits with a HudiSavepoint."
        )
    raise refused(f"The timeline has no instant {instant}; name a commit of the table.")


def require_latest(history: History, instant: str) -> Write:
    """Return the commit before `instant`; raise `TaskFailed` when `instant` is not the latest commit."""
    latest = require_target(history, instant)
    commits = history.completed()
    if commits[-1] != latest:
        raise refused(
            f"Commit {instant} is not the latest: {commits[-1].instant} completed after it. Roll back that commit, or "
            "restore the table to a commit."
        )
    if len(commits) == 1:
        raise refused(
            f"Commit {instant} is the only commit of the active timeline, so there is no earlier commit to return to."
        )
    target = commits[-2]
    gone = history.after(target)
    if latest not in gone:  # a compaction; `RestoreInstantComparatorFactory` orders it by its request
        raise refused(
            f"Hudi orders {instant} before {target.instant}, which completed before it, so a rollback would not undo "
            f"it; restore the table to a commit from before {instant}."
        )
    also = [one.instant for one in gone if one.completed is not None and one != latest]
    if also:
        raise refused(
            f"A rollback of {instant} would undo {listed(also, _NAMED)} too; restore the table to a commit instead."
        )
    return target


def require_contiguous(history: History, target: Write, gone: Sequence[Write]) -> None:
    """Refuse a target that overlapped with other writes: a restore would not give the table as of the commit.

    Readers go by the times of requests, a restore by those of completion.
    """
    undone = set(gone)
    overlapping = next((write for write in history.writes if _overlaps(write, target, goes=write in undone)), None)
    if overlapping is not None:
        apart = _nearest_apart(history.writes, min(target.instant, overlapping.instant))
        example = "" if apart is None else f", for example {apart}"
        raise refused(
            f"The write {overlapping.instant} overlapped with commit {target.instant}, so the rows as of that commit "
            f"are not certain; name another commit{example}."
        )
    archived = history.archived_from(target.instant) - {write.instant for write in history.writes}
    if archived:
        raise refused(
            f"Commits after {target.instant} are in the archive ({listed(sorted(archived), _NAMED)}), and a restore "
            "cannot undo them; name a newer commit."
        )
    strange = [write for write in gone if write.action not in _UNDOABLE]
    if strange:
        raise refused(f"A restore cannot undo the {strange[0].action} {strange[0].instant}; finish it first.")


def _overlaps(write: Write, target: Write, *, goes: bool) -> bool:
    """Tell whether a write that was requested after the target stays, or a write from before it is undone.

    A pending write has no rows at any commit.
    """
    if not goes:
        return write.instant > target.instant
    return write.instant < target.instant and write.completed is not None and not write.is_service


def _nearest_apart(writes: Sequence[Write], before: str) -> str | None:
    """Return the nearest commit without overlapping writes: the newest before the instant, else the oldest after it.

    Only completed commits are targets; with many overlaps only the nearest commits are tried.
    """
    done = [write for write in writes if write.completed is not None]
    earlier = [write for write in done if write.instant < before]
    for one in [*reversed(earlier), *done[len(earlier) :]][:_TRIED]:
        others = [each for each in done if each != one]
        if not any(_overlaps(each, one, goes=(each.completed or "") > (one.completed or "")) for each in others):
            return one.instant
    return None


def require_format(table: HudiTable, target: Write, changed_after: str | None) -> None:
    """Refuse a restore across a change of the table version, which changed the format of log files."""
    is_merged = str(table.meta.getTableType().name()) == "COPY_ON_WRITE"
    if changed_after is not None and target.instant < changed_after and not is_merged:
        raise refused(
            f"The table version was changed after commit {changed_after}, and older log files are no longer read as "
            "they were; name that commit, which has a savepoint, or a newer commit."
        )


def require_whole(history: History, target: Write, cleans: Iterable[Clean]) -> None:
    """Refuse a commit with files that a clean removed or may remove, unless a savepoint already kept them."""
    kept_since = history.completed_savepoint(target.instant)
    for clean in cleans:
        is_kept = kept_since is not None and kept_since < clean.instant
        if not is_kept and clean.instant > target.instant and target.instant < (clean.keeps_from or "9"):
            kept = (
                f"which keeps files from {clean.keeps_from} on"
                if clean.keeps_from
                else "which does not record what it keeps"
            )
            raise refused(
                f"The clean {clean.instant}, {kept}, has removed or may remove files of commit {target.instant}; name "
                "a newer commit, and keep future commits with a HudiSavepoint."
            )


def require_present(target: Write, missing: Collection[str]) -> None:
    """Refuse a commit with missing files: Hudi would read it without their rows, and would undo newer copies."""
    if missing:
        raise refused(
            f"Files of commit {target.instant} are missing ({listed(sorted(missing), _NAMED)}), which no clean "
            "accounts for; put them back from a backup of the store, or name another commit."
        )


def require_savepoints(savepoints: Sequence[Savepoint], policy: NewerSavepoints) -> None:
    """Refuse to undo a commit with a savepoint, unless the request removes newer savepoints."""
    if savepoints and policy is not NewerSavepoints.REMOVE:
        named = [f"{each.instant} of {each.user!r}" for each in savepoints]
        raise refused(
            f"Savepoints keep commits that would be undone: {listed(named, _NAMED)}. Delete these savepoints, or set "
            "newerSavepoints: Remove."
        )


def require_nobody_at_work(busy: Sequence[Begun]) -> None:
    """Refuse while another tool may be at work."""
    if busy:
        named = [f"{each.action} {each.instant}" for each in busy]
        raise refused(
            f"Another tool may be at work on the table ({listed(named, _NAMED)}), and a restore would undo its "
            "work or be undone by it; stop the tool, or wait until it is done or its instants count as abandoned."
        )


class Obstacles:
    """The refusals of a run; with `gathers` later checks run after a refusal."""

    def __init__(self, *, gathers: bool = False) -> None:
        self._gathers = gathers
        self._found: list[TaskFailed] = []

    @contextmanager
    def each(self) -> Iterator[None]:
        """Run a check; a refusal ends the run, or is collected in a dry run."""
        try:
            yield
        except TaskFailed as failure:
            if not self._gathers or failure.reason is not FailureReason.OPERATION_REFUSED:
                raise
            self._found.append(failure)

    def require_none(self) -> None:
        """Raise the first obstacle, if any: the next step needs a table without obstacles."""
        if self._found:
            raise self._found[0]

    def ended_by(self, failure: TaskFailed) -> None:
        """Record the failure that ended the run; other kinds of failure count only beside an obstacle."""
        is_obstacle = bool(self._found) or failure.reason is FailureReason.OPERATION_REFUSED
        if is_obstacle and failure not in self._found:
            self._found.append(failure)

    def named(self) -> tuple[str, ...]:
        """Return a sentence per obstacle, as many as an outcome holds."""
        sentences = list(dict.fromkeys(_bare(each) for each in self._found))
        return tuple(_cut(each) for each in sentences[:MOST_OBSTACLES])

    def failure(self, failure: TaskFailed) -> TaskFailed:
        """Return the run's failure: the first obstacle, and the number of further obstacles."""
        more = len(dict.fromkeys(map(_bare, self._found))) - 1
        if more < 1:
            return failure
        said = f"{_bare(self._found[0])} The report names {counted(more, 'more obstacle')}. {UNCHANGED}"
        return TaskFailed(FailureReason.OPERATION_REFUSED, said)


def _bare(failure: TaskFailed) -> str:
    return failure.message.removesuffix(UNCHANGED).rstrip()


def _cut(text: str) -> str:
    """Cut a text to the bytes that an outcome allows."""
    content = text.encode(errors="replace")
    if len(content) <= LONGEST_OBSTACLE:
        return content.decode()
    return f"{content[: LONGEST_OBSTACLE - 3].decode(errors='ignore')}..."
