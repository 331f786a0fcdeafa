"""What ended runs of a table have left pending."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import InstantTime, Model, Timestamp


class LeftInstant(Model):
    """One pending instant that a run of this table began and left behind."""

    time: InstantTime
    """Requested time of the instant."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The run that left it; absent where a version before has noted it."""

    ended_at: Timestamp | None = None
    """When the end of that run was seen."""

    dead: bool = False
    """Whether the run's own driver has named the instant, and its process was seen to end: nobody can continue the
    write."""
