"""The progress of a run, as its driver measures it, and the line that people read.

The driver writes the progress into its lease record, which it renews anyway, and the operator reads it there. Progress
is only a hint: nothing is decided by it. Whoever may write to the table's folder may write any record, so phases and
units are enumerated, numbers are bounded, and no text of the record is shown.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operator_folder import OwnerName, read_document
from hudi_jobs.contract.vocabulary import Service
from hudi_jobs.contract.wording import byte_size, counted, time_span

INGESTION_LEASE = "ingestion.json"
"""The lease of an ingestion, in the operator's folder."""

SERVICES_LEASE = "services.json"
"""The lease of a table service, and of an ingestion of a serialized table."""

PROGRESS_LINE_LIMIT = 128
"""The most characters of a line."""

_SHORTEST_SECONDS = 10
"""A phase shows no rate and no estimate before this age: its first figures are those of the start."""

_LONGEST_SECONDS = 30 * 86_400
_Seconds = Annotated[int, Field(ge=0, le=_LONGEST_SECONDS)]
_Number = Annotated[int, Field(ge=0, le=2**53)]


class RunPhase(StrEnum):
    """What a run does."""

    CHECKING = "Checking"
    """Compares the table with the request, before anything is written."""

    READING = "Reading"
    """Reads and checks rows of the source."""

    WRITING = "Writing"
    """Writes rows to the table, and commits them."""

    PLANNING = "Planning"
    """Selects the files that a table service rewrites."""

    COMPACTING = "Compacting"
    """Merges log files, and commits the new base files."""

    CLUSTERING = "Clustering"
    CLEANING = "Cleaning"
    ARCHIVING = "Archiving"

    CHANGING = "Changing"
    """Changes the table for an operation."""

    VERIFYING = "Verifying"
    """Compares the rows of the table after an operation."""


class ProgressUnit(StrEnum):
    """What a phase counts."""

    FILE_GROUPS = "FileGroups"
    FILES = "Files"
    TASKS = "Tasks"
    """Tasks of the Spark stages at work; the stages after them are unknown."""


_UNITS = {ProgressUnit.FILE_GROUPS: "file group", ProgressUnit.FILES: "file", ProgressUnit.TASKS: "task"}


class RunProgress(Document):
    """The current phase of a run, `seconds` after its start.

    `done` of `total` units are finished. `bytes_read` and `bytes_written` are those of the phase, and `bytes_to_read`
    is what the phase has to read in all. A figure is absent while it is unknown.
    """

    run: OwnerName
    phase: RunPhase
    seconds: _Seconds = 0
    unit: ProgressUnit = ProgressUnit.TASKS
    done: _Number | None = None
    total: _Number | None = None
    bytes_read: _Number | None = None
    bytes_to_read: _Number | None = None
    bytes_written: _Number | None = None

    @property
    def line(self) -> str:
        """The progress for people, such as `Compacting: 3 of 8 file groups, 2.1 GiB of 8.4 GiB, about 3m left`."""
        parts = (self._units(), self._bytes(), self._rate(), self._left())
        told = ", ".join(part for part in parts if part)
        return f"{self.phase}: {told}" if told else self.phase.value

    @property
    def seconds_left(self) -> int | None:
        """The time that the rest of the phase takes at the pace so far; None while it is unknown."""
        parts = (self._part(self.done, self.total) if self.unit is not ProgressUnit.TASKS else None, self._part_read())
        part = next((one for one in parts if one), None)
        if part is None or self.seconds < _SHORTEST_SECONDS:
            return None
        left = round(self.seconds * (1 - part) / part)
        return left if left <= _LONGEST_SECONDS else None

    def _part(self, done: int | None, total: int | None) -> float | None:
        return done / total if done is not None and total and done <= total else None

    def _part_read(self) -> float | None:
        return self._part(self.bytes_read, self.bytes_to_read)

    def _units(self) -> str:
        if self._part(self.done, self.total) is None:
            return ""
        return f"{self.done:,} of {counted(self.total or 0, _UNITS[self.unit])}"

    def _bytes(self) -> str:
        if self._part_read():
            return f"{byte_size(self.bytes_read or 0)} of {byte_size(self.bytes_to_read or 0)}"
        moved, how = (self.bytes_written, "written") if self._writes else (self.bytes_read, "read")
        return f"{byte_size(moved)} {how}" if moved else ""

    def _rate(self) -> str:
        moved = self.bytes_written if self._writes else self.bytes_read
        return f"{byte_size(moved / self.seconds)}/s" if moved and self.seconds >= _SHORTEST_SECONDS else ""

    def _left(self) -> str:
        left = self.seconds_left
        return f"about {time_span(left)} left" if left else ""

    @property
    def _writes(self) -> bool:
        return self.phase is RunPhase.WRITING


class _LeaseRecord(Document):
    progress: RunProgress | None = None


def lease_of(service: Service) -> str:
    """Return the lease whose record has the progress of a run of a service."""
    return INGESTION_LEASE if service is Service.INGESTION else SERVICES_LEASE


def decode_run_progress(content: bytes) -> RunProgress | None:
    """Read the progress in a lease record; return None for a record without any, or with anything else."""
    record = read_document(_LeaseRecord, content)
    return None if record is None else record.progress


def encode_run_progress(progress: RunProgress) -> dict[str, object]:
    """Return the progress as a part of a lease record."""
    return progress.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
