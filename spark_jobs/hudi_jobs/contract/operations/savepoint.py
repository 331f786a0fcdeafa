"""Savepoints of HudiSavepoints: the work of a run, and how a savepoint in the table names its owner."""

from enum import StrEnum

from pydantic import Field

from hudi_jobs.contract.document import Document

SAVEPOINT_USER = "hudi-operator"
"""The user of the operator's savepoints, as the savepoints name it."""

COMMENT_LIMIT = 256
"""The most characters of a comment."""


class SavepointWork(StrEnum):
    """The work of a run on the savepoint of a resource."""

    MAKE = "Make"
    """Make the savepoint on its commit, unless it exists."""

    REMOVE = "Remove"
    """Remove the savepoint, unless it is gone."""


MOST_HELD_BACK = 10
"""The most savepoints of which a clean reports the files that they hold back."""


class HeldBack(Document):
    """The files of the savepoint on a commit that only savepoints keep from being cleaned.

    `missing` is the number of its files that are gone; None if nobody has looked.
    """

    instant: str = Field(pattern=r"^[0-9]{14,17}$")
    files: int = Field(ge=0, le=2**53)
    bytes: int = Field(ge=0, le=2**53)
    missing: int | None = Field(default=None, ge=0, le=2**53)


class NamedSavepoint(Document):
    """The savepoint of a HudiSavepoint: `instant` is its commit, `resource` is namespace/name, `uid` the resource's.

    The savepoint itself names its owner, so that a run that repeats the work of a killed run finds it. A savepoint of
    another owner is removed only if it was `adopted`.
    """

    work: SavepointWork
    instant: str = Field(pattern=r"^[0-9]{14,17}$")
    resource: str = Field(max_length=330)
    uid: str = Field(max_length=64)
    comment: str = Field(default="", max_length=COMMENT_LIMIT)
    adopted: bool = False

    @property
    def mark(self) -> str:
        """The beginning of the savepoint's comment in the table."""
        return f"HudiSavepoint {self.resource} ({self.uid}): "

    @property
    def text(self) -> str:
        """The comment of the savepoint in the table."""
        return f"{self.mark}{self.comment}"
