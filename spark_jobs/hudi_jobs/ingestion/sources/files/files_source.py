"""Files as a source: reads the oldest unread files as rows, and records them as read."""

from collections.abc import Sequence
from functools import partial
from itertools import chain

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    Checkpoint,
    FailureReason,
    FileFormat,
    FileSource,
    IngestionTask,
    SchemaEvolution,
    TableDefinition,
)
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.ingestion.batch import Figures, InputBatch, Limit, Undone
from hudi_jobs.ingestion.checkpoint import sweep_periodically
from hudi_jobs.ingestion.rows import SourceRows
from hudi_jobs.ingestion.sources.files.listing import qualified
from hudi_jobs.ingestion.sources.files.progress import FileProgress, Input, SealedSegments, find_input
from hudi_jobs.ingestion.sources.files.read import absolute_paths, read_files
from hudi_jobs.ingestion.sources.files.record import SegmentFolder, below
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage

_TEXT_FORMATS = frozenset({FileFormat.CSV, FileFormat.JSON})
_SHOWN = 100
_NAMED = 3


class Files:
    """The files of a task."""

    def __init__(self, context: TaskContext, task: IngestionTask) -> None:
        if not isinstance(task.source, FileSource):
            raise TypeError(task.source.kind)
        self._context = context
        self._task = task
        self._source: FileSource = _with_table_columns(task.source, task, context.task.table)

    def fetch_next(self, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:
        """Return the oldest unread files, within the limit."""
        found = find_input(self._context, self._source, FileProgress.of(checkpoint), limit, self._task.rescan)
        selection = found.selection
        self._require_content(found)
        reach(Phase.LISTED)
        if not selection.files:
            return InputBatch(
                None, checkpoint, figures=self._figures(found), contents="0 files", remark=self._no_news(found)
            )
        self._require_escape(checkpoint)
        self._context.log(
            "reading", files=len(selection.files), bytes=selection.size, more=selection.more, late=found.late
        )
        paths = absolute_paths(self._source.path, [file.path for file in selection.files])
        adds = self._task.schema_evolution is SchemaEvolution.ADD_COLUMNS
        rows = read_files(self._context.spark, self._source, paths, adds_columns=adds)
        after, segments = found.recorded(self._context.attempt)
        following = after.checkpoint()
        return InputBatch(
            rows=rows,
            checkpoint=following,
            has_backlog=selection.more,
            figures={**self._figures(found), "files_read": len(selection.files), "bytes_read": selection.size},
            contents=counted(len(selection.files), "file"),
            remark=_remark(found, rows),
            before_commit=partial(self._write_record, segments),
            after_commit=partial(
                sweep_periodically,
                self._context,
                following,
                "segments of the record of read files",
                self._remove_segments,
            ),
        )

    def not_again(self, undone: Undone) -> str:
        """Return a sentence about files that were read and that the source does not include now.

        Missing files are not reported: people remove files so that they are not read again. Raises `TaskFailed` if the
        record at that time is damaged, which would stop each later run too.
        """
        spark = self._context.spark
        SegmentFolder(spark, self._context.task.table.base_path).load(FileProgress.of(undone.at).segments)
        with stage(f"The source {self._source.path} cannot be found", otherwise=FailureReason.SOURCE_UNREADABLE):
            read = {FileProgress.of(one).source for one in chain((undone.newest,), undone.going)}
            root = qualified(spark, self._source.path)
        elsewhere = sorted(path for path in read if path is not None and below(path, root) is None)
        if not elsewhere:
            return ""
        named = listed(elsewhere, _NAMED)
        return f"Files were read from {named}, which is not below the path of the source, {self._source.path}."

    def _require_escape(self, checkpoint: Checkpoint | None) -> None:
        """Raise `TaskFailed` if an earlier release has read CSV by the backslash, and nobody has decided since."""
        options = {name.lower(): value for name, value in self._source.options.items()}
        decided = "escape" in options or options.get("quote") == "" or self._source.format is not FileFormat.CSV
        if decided or checkpoint is None or FileProgress.of(checkpoint).quotes is not None:
            return
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The last commit of {self._context.task.table.name} is of a release that took a backslash for the escape "
            "of quotes in CSV files; this one follows RFC 4180, where a quote inside of quotes is written twice. Set "
            "the option escape of the source, to '\"' for files by RFC 4180, or to '\\' for files that Spark has "
            "written. "
            "Until then nothing counts as read.",
        )

    def _require_content(self, found: Input) -> None:
        files = found.selection.files
        empty = next((file for file in files if file.size == 0 and self._source.format not in _TEXT_FORMATS), None)
        if empty is not None:
            raise TaskFailed(
                FailureReason.SOURCE_UNREADABLE,
                f"The file {absolute_paths(self._source.path, [empty.path])[0]} is empty, so it is not a valid "
                f"{self._source.format} file; replace or remove it.",
            )

    def _write_record(self, segments: SealedSegments) -> None:
        folder = SegmentFolder(self._context.spark, self._context.task.table.base_path)
        for segment, content in segments:
            folder.write(segment, content)

    def _remove_segments(self, checkpoints: Sequence[Checkpoint]) -> int:
        if not checkpoints:
            return 0
        states = [FileProgress.of(each) for each in checkpoints]
        named = {segment.name for state in states for segment in state.segments}
        folder = SegmentFolder(self._context.spark, self._context.task.table.base_path)
        return folder.sweep(named, before=min(state.sequence for state in states))

    def _figures(self, found: Input) -> Figures:
        return Figures(
            files_skipped=found.odd.count,
            skipped=tuple(name[:_SHOWN] for name in found.odd.names[:_NAMED]),
            rescan=self._task.rescan,
            complete_up_to=found.complete_up_to,
            backlog_bytes=found.selection.left,
        )

    def _no_news(self, found: Input) -> str:
        told = f"No new files: all {found.answer.candidates:,} files of {self._source.path} have been read."
        return f"{told} {_odd_keys(found)}".rstrip()


def _with_table_columns(source: FileSource, task: IngestionTask, table: TableDefinition) -> FileSource:
    """Return files of texts with the declared columns of the table, so that the reader finds bad rows.

    Columns of the source come first, and a transform decides itself which columns it reads.
    """
    if task.transform_sql is not None or source.schema_ddl is not None or source.format not in _TEXT_FORMATS:
        return source
    return source.copy_with(table_columns=table.declared)


def _remark(found: Input, rows: SourceRows) -> str:
    late = f"{found.late:,} of the files are older than files that had already been read." if found.late else ""
    again = f"{counted(len(found.answer.forgotten), 'file')} may be read again." if found.answer.forgotten else ""
    return " ".join(filter(None, (late, again, rows.remark, _odd_keys(found))))


def _odd_keys(found: Input) -> str:
    if not found.odd.count:
        return ""
    names = listed(found.odd.names, _NAMED, count=found.odd.count)
    return (
        f"{counted(found.odd.count, 'file')} not read ({names}): at the path that Hadoop makes of the key, the store "
        "has no object, or another object than was listed. Rename objects with an empty segment, '.' or '..' in the "
        "key; the next run reads objects that were replaced meanwhile."
    )
