"""The settings of a driver that ingests continuously."""

from enum import StrEnum

from pydantic import ConfigDict

from hudi_operator.api.values.base import Duration, Model, at_least, rules
from hudi_operator.api.values.defaults import duration_or

_LONGEST_INTERVAL = "1h"
_LONGEST_RUN = "168h"


class ServicePlacement(StrEnum):
    """Where table services of a Serialized table run while its driver does."""

    INSIDE = "Inside"
    """Inside the driver's process, beside its batches: ingestion continues."""

    ALTERNATING = "Alternating"
    """In Jobs of their own; the driver ends before each of them."""


class Continuous(Model):
    """How a driver keeps reading the source, batch after batch."""

    min_interval: Duration = "10s"
    """Minimum time between the starts of two batches; without new input, between two polls of the source. After a batch
    that reaches a limit and leaves input unread, the next batch starts at once.
    """

    recycle_after: Duration = "12h"
    """Time after which the driver ends between two batches and another driver starts, which releases growing resources
    such as memory.
    """

    progress_deadline: Duration = "15m"
    """Stop the driver as `NoProgress` if it makes no progress and no commit for this long. Must exceed the longest
    batch.
    """

    services: ServicePlacement = ServicePlacement.INSIDE
    """On a Serialized table: whether table services run `Inside` the driver's process, beside its batches and with its
    memory, or `Alternating` with it. If any service is `Inline`, none runs inside the driver.
    """

    service_interval: Duration = "30m"
    """On a Serialized table: minimum time that the driver works before it ends for due table services that do not run
    inside it, such as a service that has failed there.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            at_least("minInterval", "1s"),
            (
                f"{duration_or('minInterval', _LONGEST_INTERVAL)} <= duration('{_LONGEST_INTERVAL}')",
                f"minInterval must not be longer than {_LONGEST_INTERVAL}",
            ),
            at_least("recycleAfter", "10m"),
            (
                f"{duration_or('recycleAfter', _LONGEST_RUN)} <= duration('{_LONGEST_RUN}')",
                f"recycleAfter must not be longer than {_LONGEST_RUN}",
            ),
            at_least("progressDeadline", "2m"),
            (
                f"{duration_or('progressDeadline', _LONGEST_RUN)} <= duration('{_LONGEST_RUN}')",
                f"progressDeadline must not be longer than {_LONGEST_RUN}",
            ),
            at_least("serviceInterval", "1m"),
        )
    )


CONTINUOUS_RULES = (
    (
        "!has(self.continuous) || (has(self.mode) && self.mode == 'Continuous')",
        "continuous is only for mode Continuous",
    ),
    (
        "!has(self.schedule) || !has(self.mode) || self.mode != 'Continuous'",
        "schedule is not for mode Continuous, because its driver runs all the time",
    ),
    (
        "!has(self.mode) || self.mode != 'Continuous' || !has(self.operation) || self.operation != 'InsertOverwrite'",
        "operation InsertOverwrite is not for mode Continuous: each batch would replace the rows of the batch before",
    ),
)
"""Rules of the ingestion that has this section."""
