"""Which source files a run reads: a pure choice from a listing and a checkpoint."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from hudi_jobs.contract import FileFormat
from hudi_jobs.ingestion.checkpoint import Checkpoint, SourceFile

_TEXT_FORMATS = frozenset({FileFormat.CSV, FileFormat.JSON})


@dataclass(frozen=True)
class Selection:
    """The files of one run in the order of (modification time, path), and whether more wait beyond the limits."""

    files: tuple[SourceFile, ...]
    more: bool

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


def is_candidate(file: SourceFile, *, glob: str | None, format_: FileFormat) -> bool:
    """Tell whether a listed file is input at all.

    A name that starts with `_` or `.`, at any level, is hidden, as in Hadoop and Spark. A glob without a slash is
    matched against the file's name, one with a slash against its path below the source. An empty CSV or JSON file has
    no rows and is passed over; an empty file of another format is half-written and stays in, to be refused by name.
    """
    parts = PurePosixPath(file.path).parts
    if any(part.startswith(("_", ".")) for part in parts):
        return False
    if file.size == 0 and format_ in _TEXT_FORMATS:
        return False
    if glob is None:
        return True
    return fnmatchcase(file.path if "/" in glob else parts[-1], glob)


def select_files(
    listing: Iterable[SourceFile], checkpoint: Checkpoint, *, max_files: int | None, max_bytes: int | None
) -> Selection:
    """Choose the oldest files that have not been read, up to the limits, but always at least one."""
    waiting = sorted(file for file in listing if not checkpoint.has_read(file))
    count = _within(waiting, max_files=max_files, max_bytes=max_bytes)
    return Selection(files=tuple(waiting[:count]), more=count < len(waiting))


def _within(files: Sequence[SourceFile], *, max_files: int | None, max_bytes: int | None) -> int:
    total = 0
    for count, file in enumerate(files):
        total += file.size
        full = (max_files is not None and count >= max_files) or (max_bytes is not None and total > max_bytes)
        if full and count > 0:
            return count
    return len(files)
