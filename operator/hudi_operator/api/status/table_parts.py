"""Small parts of the status of a `HudiTable`: properties, owner, size, summary, freshness, bad rows, takeover."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from hudi_operator.api.status.memory import DividedModel
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

SUMMARY_LIMIT = 80
"""Characters of the message of a summary."""

RULES_LIMIT = 256
"""Characters of the rules of a class."""

_RoundedText = Annotated[str, Field(max_length=16)]


class SummaryStatus(Model):
    """The state of a table at a glance."""

    findings: Annotated[str, Field(max_length=64)] | None = None
    """Number of findings, the worst first, for example `1 Critical, 2 Warning`; absent without findings."""

    score: Annotated[int, Field(ge=0, le=100)] | None = None
    """Score by the findings: a Critical takes 40 of 100, a Warning 10, an Info 1; absent without findings."""

    message: Annotated[str, Field(max_length=SUMMARY_LIMIT)] | None = None
    """The state of the table in at most 80 characters."""

    class_rules: Annotated[str, Field(max_length=RULES_LIMIT)] | None = None
    """The class, with the operations that it allows, its attempts and its limits of Jobs; absent without a class."""

    newest_commit: Timestamp | None = None
    """When the newest commit was requested; absent without a commit, and where instants are in a local time."""


MOST_BACKLOG = 2**53
"""The largest backlog that is kept: every reader of JSON can tell it from its neighbours."""

Backlog = Annotated[int, Field(ge=0, le=MOST_BACKLOG)]


class FreshnessStatus(Model):
    """Progress of input into the table; the lag is now minus `completeUpTo`."""

    complete_up_to: Timestamp | None = None
    """The table holds all input that the source had by this time."""

    backlog_records: Backlog | None = None
    """Records that the last run left to read; absent if the source does not count them."""

    backlog_bytes: Backlog | None = None
    """Bytes that the last run left to read; absent if the source does not count them."""

    source: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the measured source; says nothing about a different source."""


MOST_BAD_ROWS = 10**15
"""The largest number that is counted."""


class BadRowsStatus(Model):
    """Quarantined rows since the last acknowledgement."""

    total: Annotated[int, Field(ge=0, le=MOST_BAD_ROWS)] = 0
    """Rows that ended runs quarantined."""

    since: Timestamp | None = None
    """When the operator first saw such rows, in an ended run or a running driver."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The running continuous ingestion with acknowledged rows."""

    acknowledged: Annotated[int, Field(ge=0, le=MOST_BAD_ROWS)] = 0
    """Number of the acknowledged rows of this run."""


class RescanState(StrEnum):
    """Progress of a request to read files once more."""

    ASKED = "Asked"
    """A run was given the request, and has not served it yet."""

    SERVED = "Served"
    """The files count as unread, or have been read; the request is not served again."""

    IGNORED = "Ignored"
    """The request is not understood, or the table reads no files."""


class RescanStatus(Model):
    """The newest request to read files once more."""

    value: Annotated[str, Field(max_length=256)]
    """The request in the form that runs receive."""

    state: RescanState
    """Progress of the request."""

    message: Annotated[str, Field(max_length=512)] = ""
    """Why the request was ignored, as a sentence."""


WRITERS_NAMED = 6


class TakeoverPhase(StrEnum):
    """Progress of the takeover of a table from its earlier writers."""

    WATCHING = "Watching"
    """Something has changed lately, or the table has not been watched for long enough."""

    QUIET = "Quiet"
    """The table is only observed, and nothing has changed for as long as its class requires."""

    DONE = "Done"
    """The operator manages the table."""


class Protection(StrEnum):
    """State of the savepoint that protects a table in its first cycle of table services."""

    WANTED = "Wanted"
    """The first table service makes the savepoint before its own work."""

    KEPT = "Kept"
    """The savepoint is there."""

    OVER = "Over"
    """The savepoint was removed after the first successful cycle, or was not needed."""


class CatalogStatus(Model):
    """The table's entry in its catalog."""

    entry: Annotated[str, Field(max_length=256)]
    """Name of the entry, such as `sales.orders`."""

    instant: InstantTime | None = None
    """Newest commit at the last sync; absent before the first. A commit that changes no column and no partition needs
    no sync.
    """

    behind_since: Timestamp | None = None
    """Since when syncs have failed; absent while the entry shows the table."""


class TakeoverStatus(Model):
    """State of a takeover; without it, watching starts again."""

    phase: TakeoverPhase = TakeoverPhase.WATCHING
    """Progress of the takeover."""

    since: Timestamp | None = None
    """Since when nothing has changed, by the operator's own clock; when it is Done, when the table was taken over."""

    seen: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the instants and heartbeats that were seen last."""

    writers: Annotated[tuple[Annotated[str, Field(max_length=256)], ...], Field(max_length=WRITERS_NAMED)] = ()
    """Signs of writers that may still write; at most 6."""

    protection: Protection | None = None
    """Savepoint for the first cycle; absent if the class asks for no savepoint."""

    savepoint: InstantTime | None = None
    """The commit that the operator's savepoint keeps."""


class TableStatus(Model):
    """The table as its own properties have it."""

    type: Annotated[str, Field(max_length=16)]
    """CopyOnWrite or MergeOnRead."""

    version: int
    """Version of the table's format."""

    zone: Annotated[str, Field(max_length=8)]
    """UTC, or LOCAL: the local time of the tool that wrote the table, which `timelineTimeZone` or the files show."""


class OwnerStatus(Model):
    """The owner's record beside the table when it was this operator's."""

    operator: Annotated[str, Field(max_length=330)]
    """Identity of the operator."""

    table: Annotated[str, Field(max_length=330)]
    """The resource, as namespace/name."""

    run: Annotated[str, Field(max_length=330)]
    """The run that wrote the record."""


class ExactStatistics(Model):
    """The figures without rounding, for metrics and commands; sizes are bytes."""

    base_bytes: int
    """Size of the base files."""

    log_bytes: int
    """Size of the log files."""

    partitions: int
    """Number of partitions with files."""

    rows: int | None = None
    """Rows of all base files."""


class StatisticsStatus(DividedModel):
    """The newest file slices of the table, which a snapshot query reads; an absent figure is unknown."""

    remembered: ClassVar[frozenset[str]] = frozenset({"exact"})

    as_of: InstantTime
    """Completion of the last change that the figures include; its requested time in a table before version 8."""

    commits_since: int = 0
    """Commits, rollbacks and restores that completed later."""

    rows: _RoundedText | None = None
    """Rows of all base files, before log files are merged, as a quantity such as 12.3M; absent while unknown."""

    size: _RoundedText | None = None
    """Size of the base and log files, as a quantity such as 1.25Gi."""

    growth_per_day: _RoundedText | None = None
    """Growth of the size each day, over the last week at most; absent before a whole day was measured."""

    files: int | None = None
    """Number of base files."""

    small_files: int | None = None
    """Base files below the small file limit: the limit of clustering if clustering is on, else of fileSizing."""

    log_ratio: _RoundedText | None = None
    """Size of the log files over that of the base files; absent for CopyOnWrite."""

    partition_skew: _RoundedText | None = None
    """Size of the largest partition over the mean; absent for a single partition."""

    exact: ExactStatistics | None = None
    """The figures without rounding."""
