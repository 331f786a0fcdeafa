"""Pending instants of a table: left behind by its ended runs, or waiting for a service."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.status.acts import PendingOwner
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


class PendingStatus(Model):
    """A pending instant that a service has to handle."""

    time: InstantTime
    """Requested time of the instant."""

    action: Annotated[str, Field(max_length=32)]
    """Action, as Hudi spells it."""

    state: Annotated[str, Field(max_length=16)]
    """REQUESTED or INFLIGHT."""

    since: Timestamp
    """When it was requested, if the table's instants are in UTC; else when the operator saw it first."""

    blocks: Annotated[str, Field(max_length=256)] = ""
    """Work that waits until it is completed or rolled back."""

    owner: PendingOwner = PendingOwner.OTHER
    """Who began it: ThisTable, or Other."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The run of this table that left it behind."""

    seen_at: Timestamp | None = None
    """When the operator first saw it in this state."""

    left_alone_until: Timestamp | None = None
    """Until when the operator leaves it alone, because another tool may work on it."""
