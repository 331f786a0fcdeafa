"""What runs cost, as a status remembers it: of each ended run, and the sums of a service for each day."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model, Timestamp

DAYS_REMEMBERED = 35
"""Days for which a table remembers the sums of each service."""

MOST = 2**53
"""The largest figure: every reader of JSON can tell it from its neighbours."""

Figure = Annotated[int, Field(ge=0, le=MOST)]
_Millicores = Annotated[int, Field(ge=0, le=10**9)]

DAY_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{1,16}( [0-9]{1,16}){4}$"

DayLine = Annotated[str, Field(pattern=DAY_PATTERN, max_length=96)]
"""The sums of a service on a day (UTC): day, runs, processor milliseconds measured and estimated, bytes read and
written.
"""


class RequestedCores(Model):
    """The thousandths of cores that a run requests."""

    driver: _Millicores
    """Of its driver."""

    executor: _Millicores = 0
    """Of each executor."""

    executors: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Number of executors."""


class RunCost(Model):
    """What a run used: measured where its driver reported it, and estimated elsewhere."""

    since: Timestamp
    """When its driver started."""

    seconds: Figure = 0
    """Time until its driver ended."""

    cpu_milliseconds: Figure = 0
    """Processor time that the containers counted."""

    estimated_cpu_milliseconds: Figure = 0
    """Requested cores times the time that no report of the driver or an executor covers."""

    driver_memory_bytes: Figure | None = None
    """Peak memory of the driver, if reported."""

    executor_memory_bytes: Figure | None = None
    """Largest peak memory of an executor, if reported."""

    bytes_read: Figure = 0
    """Bytes read from the store."""

    bytes_written: Figure = 0
    """Bytes written to the store."""
