"""Pending instants of a table's ended runs."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import InstantTime, Model, Timestamp


class LeftInstant(Model):
    """A pending instant that a run of this table began and left behind."""

    time: InstantTime
    """Requested time of the instant."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The run that left it; absent if an older operator noted the instant."""

    ended_at: Timestamp | None = None
    """When the end of that run was seen."""

    dead: bool = False
    """Whether the run's own driver named the instant and then exited: nobody can continue the write."""
