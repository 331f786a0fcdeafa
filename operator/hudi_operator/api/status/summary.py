"""The state of a `HudiTable` in a few short texts, for the columns of `kubectl get`."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model, Timestamp

SUMMARY_LIMIT = 80
"""Characters of the message of a summary."""


class SummaryStatus(Model):
    """The state of a table at a glance."""

    findings: Annotated[str, Field(max_length=64)] | None = None
    """Number of findings, the worst first, for example `1 Critical, 2 Warning`; absent without findings."""

    message: Annotated[str, Field(max_length=SUMMARY_LIMIT)] | None = None
    """The state of the table in at most 80 characters."""

    newest_commit: Timestamp | None = None
    """When the newest commit was requested; absent without a commit, and where instants are in a local time."""
