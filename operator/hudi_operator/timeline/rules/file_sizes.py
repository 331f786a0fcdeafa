"""Summarises a table's file sizes from write statistics alone, without listing the data."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hudi_operator.timeline.content.commits import CommitMetadata, WriteStat
from hudi_operator.timeline.model import Instant

SMALL_FILE_LIMIT = 104_857_600
"""Hudi's default of `hoodie.parquet.small.file.limit`, in bytes."""


_LARGEST = 2**53
"""The largest sum to report: status is JSON, and a writer may claim any size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSummary:
    """Current base and log files of recent commits. Sizes are bytes.

    `commits` is the number of replayed commits. Files written only by other commits (archived or not given) are
    missing: the summary describes the files that recent writes left behind.
    """

    commits: int
    file_groups: int
    base_files: int
    base_bytes: int
    small_base_files: int
    log_files: int
    log_bytes: int

    @property
    def average_base_bytes(self) -> int | None:
        """The average size of a base file, or None without base files."""
        return self.base_bytes // self.base_files if self.base_files else None


@dataclass(slots=True)
class _FileGroup:
    base_bytes: int | None = None
    logs: dict[str, int] = field(default_factory=dict)


def summarise_files(
    commits: Iterable[tuple[Instant, CommitMetadata]], *, small_file_limit: int = SMALL_FILE_LIMIT
) -> FileSummary:
    """Replay commits, in any order, and sum the files of the latest slice of every file group.

    `small_file_limit` is bytes.
    """
    groups: dict[tuple[str, str], _FileGroup] = {}
    ordered = sorted(commits, key=lambda pair: (pair[0].completed_at or pair[0].time, pair[0].time))
    for _, metadata in ordered:
        for stat in metadata.write_stats:
            _apply(groups, stat)
        for partition, file_ids in metadata.replaced_file_ids.items():
            for file_id in file_ids:
                groups.pop((partition, file_id), None)
    bases = [group.base_bytes for group in groups.values() if group.base_bytes is not None]
    logs = [size for group in groups.values() for size in group.logs.values()]
    return FileSummary(
        commits=len(ordered),
        file_groups=len(groups),
        base_files=len(bases),
        base_bytes=min(sum(bases), _LARGEST),
        small_base_files=sum(1 for size in bases if size < small_file_limit),
        log_files=len(logs),
        log_bytes=min(sum(logs), _LARGEST),
    )


def _apply(groups: dict[tuple[str, str], _FileGroup], stat: WriteStat) -> None:
    name = stat.path.rpartition("/")[2]
    if not name:
        return
    key = (stat.partition, stat.file_id)
    if name.startswith("."):
        groups.setdefault(key, _FileGroup()).logs[name] = stat.file_size
    else:
        groups[key] = _FileGroup(base_bytes=stat.file_size)
