"""The Hudi timeline as values: past and pending actions of a table, and the counters that decisions use.

Usable on its own::

    filesystem, path = open_filesystem("s3a://lake/flights", S3Options(endpoint="http://localhost:9000"))
    timeline = TimelineReader(filesystem).read(path)
"""

from hudi_operator.timeline.cache import ContentCache
from hudi_operator.timeline.content.commits import CommitMetadata, WriteStat
from hudi_operator.timeline.model import (
    Action,
    Bounds,
    CleanSummary,
    ContentTooLarge,
    CorruptContent,
    Counters,
    Instant,
    InstantContentMissing,
    Layout,
    NotAHudiTable,
    Problem,
    State,
    TableProperties,
    TableType,
    TableUnreadable,
    Timeline,
    TimelineError,
    TimelineZone,
    UnreadableCause,
)
from hudi_operator.timeline.reader import TimelineReader
from hudi_operator.timeline.rules.counters import PendingInstant, PendingKind, pending_instants
from hudi_operator.timeline.rules.retention import Archivable, ArchivalHold, archivable, clean_would_find

__all__ = [
    "Action",
    "Archivable",
    "ArchivalHold",
    "Bounds",
    "CleanSummary",
    "CommitMetadata",
    "ContentCache",
    "ContentTooLarge",
    "CorruptContent",
    "Counters",
    "Instant",
    "InstantContentMissing",
    "Layout",
    "NotAHudiTable",
    "PendingInstant",
    "PendingKind",
    "Problem",
    "State",
    "TableProperties",
    "TableType",
    "TableUnreadable",
    "Timeline",
    "TimelineError",
    "TimelineReader",
    "TimelineZone",
    "UnreadableCause",
    "WriteStat",
    "archivable",
    "clean_would_find",
    "pending_instants",
]
