"""What a Spark application used: processor time, memory and bytes, as its containers counted them.

The figures are hints for sums of costs and decide nothing about a table. A value that cannot be true drops the whole
usage, and the document around it stays.
"""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from hudi_jobs.contract.document import Document

MOST_CPU_SECONDS = 1e11
"""A thousand executors with sixteen cores use less within a month."""

MOST_MEMORY_BYTES = 2**46
"""64 TiB, more than a pod has."""

MOST_EXECUTORS = 10_000
"""The most executors that a run counts, those included that were lost and replaced."""

MOST_BYTES = 2**60
"""An exbibyte."""

REPORTS_EVERY_SECONDS = 2
"""How often an executor reports: so much of one that is killed is not counted (`UsagePlugin` in spark_jobs/java)."""

_CpuSeconds = Annotated[float, Field(ge=0, le=MOST_CPU_SECONDS, allow_inf_nan=False)]
_Memory = Annotated[int, Field(ge=0, le=MOST_MEMORY_BYTES)]
_Executors = Annotated[int, Field(ge=0, le=MOST_EXECUTORS)]
_Bytes = Annotated[int, Field(ge=0, le=MOST_BYTES)]


class _Figures(Document):
    """Figures of strict types: no text, no boolean and no fraction stands for a count."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore", strict=True)


class DriverUsage(_Figures):
    """The use of the driver's container from its start; None for a peak of memory that nothing counted."""

    cpu_seconds: _CpuSeconds
    peak_memory_bytes: _Memory | None = None


class ExecutorsUsage(_Figures):
    """The use of all executors that a run had.

    `number` executors started, and `reported` of them reported until they ended; of the others, what they used after
    their last report is missing.
    `cpu_seconds` is the sum over all executors, and `peak_memory_bytes` the largest peak of one executor.
    """

    number: _Executors
    reported: _Executors
    cpu_seconds: _CpuSeconds
    peak_memory_bytes: _Memory | None = None

    @model_validator(mode="after")
    def _has_no_more_reports_than_executors(self) -> Self:
        if self.reported > self.number:
            raise ValueError("more executors reported than started")
        return self


class RunUsage(_Figures):
    """The use of a run: of its driver, of its executors, and the bytes that all of them read and wrote.

    None in `driver` or in the bytes means that nothing could be counted. `executors` is None in mode `Local`.
    """

    driver: DriverUsage | None = None
    executors: ExecutorsUsage | None = None
    bytes_read: _Bytes | None = None
    bytes_written: _Bytes | None = None


def _possible(given: Any) -> RunUsage | None:  # noqa: ANN401 - whatever a document from outside holds
    """Return the usage, or None for values that cannot be true."""
    try:
        return None if given is None else RunUsage.model_validate(given)
    except ValidationError:
        return None


OptionalUsage = Annotated[RunUsage | None, BeforeValidator(_possible)]
"""The usage in a document from outside: None if it is missing or cannot be true."""
