"""Reads the table facts that lie outside its properties: from the timeline, the schema history and other folders."""

from collections.abc import Mapping, Sequence

from hudi_jobs.contract import INDEX_KEY
from hudi_jobs.contract.instants import InstantFile
from hudi_jobs.contract.table.facts import COMMITS_ASKED, TableFacts, facts_of
from hudi_jobs.contract.table.schema_history import MARK
from hudi_jobs.contract.table.zone import ShownZone, shown_zone
from hudi_operator.timeline.content.commits import CommitMetadata
from hudi_operator.timeline.files.history import newest_history
from hudi_operator.timeline.files.other_folders import has_varying_buckets, moved_instant
from hudi_operator.timeline.files.reading import TableFiles
from hudi_operator.timeline.model import Instant, Timeline, TimelineZone
from hudi_operator.timeline.reader import TimelineReader

_SCHEMA = "schema"
_COMPACTS = frozenset({"COMPACT", None})


def read_facts(
    reader: TimelineReader,
    base_path: str,
    timeline: Timeline,
    commits: Sequence[tuple[Instant, CommitMetadata]],
    *,
    changed_at: str | None = None,
) -> TableFacts:
    """Return the facts of a table from its newest commits, given newest first.

    `changed_at` is the newest commit of another tool. Only other tools write the schema history and metadata of
    buckets, so both are listed once per such commit. Buckets are not checked if the newest commits all note the index
    of the operator. The folder of the other layout is listed once, and again when the oldest instants are gone or the
    version has changed. An instant found there is checked each time, because it may be removed by hand.
    """
    extras = [metadata.extra_metadata for _, metadata in commits[:COMMITS_ASKED]]
    return facts_of(
        schemas=[extra[_SCHEMA] for extra in extras if extra.get(_SCHEMA)],
        is_marked=any(extra.get(MARK) for extra in extras),
        history=reader.once(base_path, "schema history", changed_at, newest_history),
        zone=_zone(timeline),
        early_compaction=_early_compaction(timeline, commits),
        has_varying_buckets=not _is_noted(extras)
        and reader.once(base_path, "varying buckets", changed_at, has_varying_buckets),
        moved=_moved(reader, base_path, timeline),
    )


def _is_noted(extras: Sequence[Mapping[str, str]]) -> bool:
    return bool(extras) and all(INDEX_KEY in extra for extra in extras)


def _moved(reader: TimelineReader, base_path: str, timeline: Timeline) -> str | None:
    version = timeline.properties.version
    since = (version, next((one.time for one in timeline.instants), None))

    def find(files: TableFiles, base: str) -> str | None:
        return moved_instant(files, base, version)

    return reader.once(base_path, "moved instants", since, find, lasts=lambda found: found is None)


def _early_compaction(timeline: Timeline, commits: Sequence[tuple[Instant, CommitMetadata]]) -> str | None:
    """Return the newest compaction if it completed before its request and older slices may still exist.

    A bulk insert is a commit too, and makes new file groups. A clean that counts file versions names no commit.
    """
    early, clean = timeline.completed_early, timeline.counters.clean
    cleaned = timeline.counters.last_clean
    if early is None or not any(one.time == early and data.operation in _COMPACTS for one, data in commits):
        return None
    is_cleaned = clean is not None and (cleaned or "") > early and not "" < clean.earliest_retained <= early
    return None if is_cleaned else early


def _zone(timeline: Timeline) -> ShownZone | None:
    if timeline.properties.timezone is not TimelineZone.LOCAL or not timeline.instants:
        return None
    files = [InstantFile(name, written) for name, written in timeline.newest_files]
    return shown_zone(timeline.properties.header, files)
