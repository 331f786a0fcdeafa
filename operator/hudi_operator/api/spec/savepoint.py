"""The spec of a `HudiSavepoint`: the commit to keep, why, and for how long."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_jobs.contract import COMMENT_LIMIT
from hudi_operator.api.values.base import DefaultsTo, Duration, InstantText, Model, Name, at_least, rules, words


class SavepointDeletionPolicy(StrEnum):
    """Fate of the savepoint in the table when the resource is deleted."""

    RETAIN = "Retain"
    """The savepoint stays in the table, which shows it without an owner."""

    DELETE = "Delete"
    """A Job removes the savepoint from the table."""


class TableReference(Model):
    """A HudiTable of the same namespace."""

    name: Name
    """Name of the HudiTable."""


class HudiSavepointSpec(Model):
    """A savepoint of a table. Only its expiry and its deletionPolicy can be changed."""

    table_ref: TableReference
    """The table."""

    instant: InstantText | None = None
    """Requested time of the commit to keep. An existing savepoint on the commit is adopted."""

    latest: bool | None = None
    """Keep the commit that is the newest when the savepoint is made; status.instant then names it."""

    comment: (
        Annotated[
            str,
            Field(
                pattern=r"^[^\x00-\x1f\x7f-\x9f]*$",
                max_length=COMMENT_LIMIT,
                json_schema_extra=words("must be one line of text without control characters"),
            ),
        ]
        | None
    ) = None
    """Why the commit is kept: stored in the table with the savepoint."""

    expires_after: Duration | None = None
    """Time since the creation of the resource after which the savepoint is removed from the table."""

    keep_forever: bool | None = None
    """Keep the savepoint until the resource is deleted."""

    deletion_policy: Annotated[
        SavepointDeletionPolicy | None,
        DefaultsTo("Delete for a savepoint that the operator made, Retain for an adopted savepoint"),
    ] = None
    """On deletion of the resource: Delete removes the savepoint from the table, Retain leaves it."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "has(self.instant) != (has(self.latest) && self.latest)",
                "exactly one of instant and latest: true must be set",
            ),
            (
                "has(self.expiresAfter) != (has(self.keepForever) && self.keepForever)",
                "exactly one of expiresAfter and keepForever: true must be set",
            ),
            at_least("expiresAfter", "1m"),
            ("self.tableRef == oldSelf.tableRef", "tableRef cannot be changed; create another savepoint"),
            *(
                (
                    f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || "
                    f"self.{field} == oldSelf.{field})",
                    f"{field} cannot be changed; create another savepoint",
                )
                for field in ("instant", "latest", "comment")
            ),
        )
    )
