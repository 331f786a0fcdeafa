"""The statistics in the status of a `HudiTable`: rounded for people, and exact in the operator's memory."""

from typing import Annotated, ClassVar

from pydantic import Field

from hudi_operator.api.status.memory import DividedModel
from hudi_operator.api.values.base import InstantTime, Model

_RoundedText = Annotated[str, Field(max_length=16)]


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
