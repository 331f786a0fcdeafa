"""Sums up the commits of a continuous run over its batches."""

from typing import Any

from hudi_jobs.contract import TaskResult

_SUMMED = ("rows_read", "rows_quarantined", "files_read", "bytes_read", "records_skipped")
_NEWEST = (
    "checkpoint",
    "complete_up_to",
    "backlog_records",
    "backlog_bytes",
    "files_skipped",
    "rescan",
    "savepoint",
    "more_input",
)

_SHOWN = 600


class CommitStats:
    """The sums over all batches, and the figures of the last batch."""

    def __init__(self) -> None:
        self.batches = 0
        self.instant: str | None = None
        self.message = ""
        """The message of the last commit."""
        self._sums = dict.fromkeys(_SUMMED, 0)
        self._newest: dict[str, Any] = {}
        self._is_stream = False

    def add(self, result: TaskResult) -> None:
        """Add the result of a look at the source: a commit, or only figures."""
        is_stream = result.records_skipped is not None
        self._is_stream |= is_stream
        if not is_stream or (result.skipped and result.instant is not None):
            self._newest["skipped"] = result.skipped  # for a stream, the newest loss; the sum covers all losses
        if result.instant is not None:
            self.batches += 1
            self.instant = result.instant
            self.message = result.message[:_SHOWN]
            for name in _SUMMED:
                self._sums[name] += getattr(result, name) or 0
        self._newest |= {name: value for name in _NEWEST if (value := getattr(result, name)) is not None}

    @property
    def figures(self) -> dict[str, Any]:
        """The figures under the names of a task's result."""
        sums = {**self._sums, "records_skipped": self._sums["records_skipped"] if self._is_stream else None}
        return {"batches": self.batches, "instant": self.instant, **self._newest, **sums}
