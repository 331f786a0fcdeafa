"""Runs an erasure: checks it, deletes the rows, searches for the keys afterwards, and writes the report."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JNetworkError

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, OperationPhase, Outcome, TaskResult
from hudi_jobs.contract.operations.erase import MOST_LEFT, EraseTask
from hudi_jobs.contract.operator_folder import ComparedPartition
from hudi_jobs.contract.wording import counted
from hudi_jobs.journal.records import EraseRecord
from hudi_jobs.operations.erase.erase_check import checked
from hudi_jobs.operations.erase.erase_steps import delete_rows, prepare, remove_versions, require_as_checked
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.own_folders import search_below, shown_name
from hudi_jobs.operations.erase.quarantine_files import erase_from, holding_in
from hudi_jobs.operations.erase.remaining import left_said, printable_names, strays, strays_shown
from hudi_jobs.operations.erase.requested_keys import asked, discard, keys_again, seal
from hudi_jobs.operations.erase.scan import (
    File,
    WholeTexts,
    files_below,
    in_record_index,
    located_path,
    unsearched_logs,
)
from hudi_jobs.operations.operation_run import OperationRun, compare, partitions, succeeded
from hudi_jobs.operations.restore_steps import (
    has_metadata_table,
    lost_metadata_table,
    remake_metadata_table,
    remove_metadata_table,
)
from hudi_jobs.operations.rows import difference, rows_now
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import DriverStopping, TaskFailed, causes_of, classify, stage
from hudi_jobs.spark.filesystem import located
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Timeline
from hudi_jobs.table_services.unfinished_work import noting_affected

_REPLACING = True


def write_report(
    context: TaskContext, asked: EraseTask, record: EraseRecord, partitions: Iterable[ComparedPartition]
) -> str | None:
    """Write the report to the requested path, over the report of an earlier run, and return the path."""
    path = asked.report_file
    if path is None:
        return None
    document = {
        "operation": record.resource,
        "requestedBy": None if asked.requested_by is None else asked.requested_by.model_dump(mode="json"),
        "uid": record.uid,
        "table": context.task.table.base_path,
        "run": context.run,
        "finishedAt": datetime.now(UTC).isoformat(timespec="seconds"),
        "report": record.report().model_dump(mode="json", by_alias=True, exclude_none=True),
        "partitions": [each.model_dump(mode="json", by_alias=True) for each in partitions],
    }
    with stage("The report cannot be written", otherwise=FailureReason.HUDI_ERROR):
        filesystem, place = located(context.spark, path)
        stream = filesystem.create(place, _REPLACING)
        try:
            stream.write(bytearray(json.dumps(document, indent=2).encode()))
        finally:
            stream.close()
    return path


def would_erase(work: OperationRun) -> TaskResult:
    """Check an erasure and report its effect, without writing."""
    record, _ = checked(work)
    work.report(record.report().copy_with(phase=OperationPhase.CHECKING))
    files = counted(record.erased.holding_files or 0, "file")
    return succeeded(work.context, f"Would erase {_rows(record)}, held by {files}; nothing was written.")


def erase(work: OperationRun) -> TaskResult:
    """Erase records, or continue an erasure that an earlier run began."""
    work = replace(work, context=replace(work.context, held=work.lease))  # services inside the erasure share its lease
    record = work.journal.find(EraseRecord, work.operation.uid)
    if record is not None:
        work.report(record.report())
    if record is not None and record.phase is OperationPhase.DONE:
        discard(work.context, work.journal.unfinished())
        return succeeded(work.context, f"An earlier run has erased {_rows(record)}.")
    with noting_affected(work.context, lambda: load_timeline(work.context)):
        if record is None:
            seen = Timeline(work.context.spark, work.table)
            record, keys = checked(work)
            if not keys.values:
                work.save(record.copy_with(phase=OperationPhase.DONE, rows_after=record.rows_before))
                return _nothing(work)
            require_as_checked(work.context, seen)
            _keep_keys(work, keys)
            work.save(record)
            reach(Phase.RECORDED)
        else:
            keys = keys_again(work, record)
        with _unquoted(keys):
            return _Run(work, keys).go(record)


@contextmanager
def _unquoted(keys: Keys) -> Iterator[None]:
    """Replace failures that quote a key; Hudi's errors on records do.

    Short keys are words and numbers that appear in errors by chance, so only they are masked in Hudi's messages.
    Messages of the steps themselves hold no key, and name the files that a person must handle.
    """
    try:
        yield
    except Exception as error:
        if WholeTexts(keys).are_in(str(error), names_files=True):
            reason = error.reason if isinstance(error, TaskFailed) else FailureReason.HUDI_ERROR
            message = "A step of the erasure failed; its error quotes a key, so it is not shown."
            raise TaskFailed(reason, message) from None
        said = _said(error)
        shown = WholeTexts(keys, also_short=True).masked(said.message) if said is not None else None
        if said is None or shown is None or shown == said.message:
            raise
        raise TaskFailed(said.reason, shown) from None


def _said(error: Exception) -> TaskFailed | None:
    """Return a failure with Hudi's or Spark's words; None for a message of a step, and for a lost JVM."""
    if isinstance(error, TaskFailed):
        return error if error.__cause__ is not None else None
    if isinstance(error, DriverStopping | ConnectionError | EOFError) or type(error) in {Py4JError, Py4JNetworkError}:
        return None
    reason, cause = classify(causes_of(error), otherwise=FailureReason.INTERNAL_ERROR)
    return TaskFailed(reason, f"{cause.kind.rpartition('.')[2]}: {cause.first_line}")


def _keep_keys(work: OperationRun, keys: Keys) -> None:
    """Store the keys of a predicate while their rows exist, so that a later run erases the same keys."""
    predicate = asked(work).where
    if predicate is not None:
        seal(work.context, keys, work.operation.uid, predicate)


class _Run:
    """The steps of a recorded erasure."""

    def __init__(self, work: OperationRun, keys: Keys) -> None:
        self._work = work
        self._context = work.context
        self._asked = asked(work)
        self._keys = keys
        self._texts = WholeTexts(keys, also_short=True)

    def go(self, record: EraseRecord) -> TaskResult:
        if record.phase is OperationPhase.RUNNING:
            record = self._change(record)
        record = self._verify(record)
        lost = lost_metadata_table(self._context, record.metadata_options)
        return succeeded(self._context, f"Erased {_rows(record)}; {_seen(record, self._keys)}. {lost}".rstrip())

    def _change(self, record: EraseRecord) -> EraseRecord:
        """Delete the rows, then everything that holds them: log files, older versions and the metadata table."""
        context = self._context
        prepare(context, record)
        reach(Phase.PREPARED)
        commit = delete_rows(context, record, self._keys)
        reach(Phase.ERASED)
        record = record.copy_with(erased=record.erased.copy_with(commit=commit))
        self._work.save(record)
        erase_from(context, self._asked.quarantines, self._keys)
        removed = remove_versions(context, record)
        reach(Phase.CLEANED)
        remove_metadata_table(context)
        remake_metadata_table(context, record.metadata_options)
        erased = record.erased.copy_with(files_removed=removed)
        record = record.copy_with(phase=OperationPhase.VERIFYING, erased=erased)
        self._work.save(record)
        reach(Phase.AFTER_COMMIT)
        return record

    def _verify(self, record: EraseRecord) -> EraseRecord:
        """Compare all other rows with the expected rows, and search every file below the table."""
        found = rows_now(self._context)
        record = record.copy_with(rows_after=found.rows)
        wrong = compare(self._work, record.expected, found, hides=self._holds_a_key)
        if wrong is None and has_metadata_table(self._context):
            wrong = difference(record.expected, rows_now(self._context, metadata_table=True))
        if wrong is not None:
            self._fail(record, FailureReason.NOT_VERIFIED)
            raise self._work.not_verified(
                record,
                f"The rows were erased, but the other rows are not as before: {wrong} Find out what else has written "
                "to the table before anything else is written.",
            )
        record = self._searched(record)
        record = record.copy_with(phase=OperationPhase.DONE, failed=None)
        every = partitions(record.expected, found, hides=self._holds_a_key)
        file = write_report(self._context, self._asked, record, every)
        record = record.copy_with(erased=record.erased.copy_with(report_file=file))
        reach(Phase.VERIFIED)
        self._work.save(record)
        discard(self._context, self._work.journal.unfinished())
        return record

    def _holds_a_key(self, path: str) -> bool:
        return any(self._texts.are_in(each) for each in (path, unquote(path)))

    def _fail(self, record: EraseRecord, reason: FailureReason) -> None:
        """Record the failure, so that no run continues, and discard the stored keys."""
        self._work.save(record.copy_with(failed=reason))
        discard(self._context, self._work.journal.unfinished())

    def _searched(self, record: EraseRecord) -> EraseRecord:
        files, keys = files_below(self._context, self._work.table.base_path), self._keys
        unknown = strays(files, self._base())
        seen = search_below(self._context, files, keys)
        seen.found |= in_record_index(self._context, self._work.table.base_path, keys)
        seen.unread |= unsearched_logs(files, keys) | unknown
        kept = holding_in(self._context, self._asked.quarantines, keys)
        left = {path: path for path in kept} | self._shown(seen.found | seen.unread, files, unknown)
        erased = record.erased.copy_with(
            files_searched=seen.files,
            bytes_searched=seen.size,
            bytes_decoded=seen.decoded,
            keys_in_bytes=keys.count_in_bytes,
            left_in=tuple(printable_names(left, left)[:MOST_LEFT]),
        )
        record = record.copy_with(erased=erased)
        if left:
            self._fail(record, FailureReason.NOT_ERASED)
            raise TaskFailed(FailureReason.NOT_ERASED, left_said(left, by_predicate=self._asked.where is not None))
        return record

    def _base(self) -> str:
        return located_path(self._context, self._work.table.base_path)

    def _shown(self, holding: set[str], files: list[File], unknown: set[str]) -> dict[str, str]:
        """Return the files that hold a key in content or name, with the key masked in each name."""
        base, texts = self._base(), WholeTexts(self._keys)
        tried = {file.path: shown_name(file.path, base, texts) for file in files}
        named = {path: said for path, said in tried.items() if said is not None}
        masked = named | strays_shown(unknown, base, self._keys)
        return {path: masked.get(path, path) for path in holding | named.keys()}


def _nothing(work: OperationRun) -> TaskResult:
    message = "The predicate selects no row, so no file was searched."
    return TaskResult(id=work.context.task.id, outcome=Outcome.NOTHING_TO_DO, message=message)


def _seen(record: EraseRecord, keys: Keys) -> str:
    """Describe the proof; keys too short for bytes were only compared with record keys."""
    files = counted(record.erased.files_searched or 0, "file")
    if keys.are_all_in_bytes:
        return f"none of {files} holds a key"
    count = keys.count_short
    are, were = ("is", "was") if count == 1 else ("are", "were")
    return (
        f"{files} searched, and no key found; {counted(count, 'key')} {are} too short to be looked for in bytes and "
        f"{were} compared with record keys"
    )


def _rows(record: EraseRecord) -> str:
    return f"{counted(record.erased.rows or 0, 'row')} of {counted(record.erased.keys or 0, 'key')}"
