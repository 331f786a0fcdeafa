"""The memory of a look at a source."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import InstantTime, Model, Timestamp

DIGEST_LIMIT = 128
"""The longest digest that is remembered."""


class LookStatus(Model):
    """A look at the source before a run; once the run has read everything, equal input needs no run."""

    digest: Annotated[str, Field(max_length=DIGEST_LIMIT)]
    """Digest of the input before the run was decided."""

    fingerprint: Annotated[str, Field(max_length=64)]
    """Fingerprint of the table, its spec, the class, the Spark image and the operator version."""

    instant: InstantTime | None = None
    """The newest completed instant after the run; absent without a table."""

    checkpoint: Annotated[str, Field(max_length=64)] | None = None
    """Digest of the newest checkpoint after the run; absent without a table."""

    looked_at: Timestamp | None = None
    """When a look last found nothing new; renewed at the rate of a continuous driver's reports."""
