"""Savepoints that a resource of the cluster names: what a run does with one, and how one says whose it is."""

from enum import StrEnum

from pydantic import Field

from hudi_jobs.contract.document import Document

SAVEPOINT_USER = "hudi-operator"
"""Who makes the operator's savepoints, as they say themselves."""

COMMENT_LIMIT = 256
"""Characters of a comment."""


class SavepointWork(StrEnum):
    """What a run does with the savepoint of one resource."""

    MAKE = "Make"
    """Make it on its commit, unless it is there."""

    REMOVE = "Remove"
    """Remove it, unless it is gone."""


MOST_HELD_BACK = 10
"""Savepoints of which a clean tells what they hold back."""


class HeldBack(Document):
    """The files that only savepoints keep from being cleaned, of those that the savepoint on a commit lists.

    `missing` is how many of all that it lists are not there; None where nobody has looked.
    """

    instant: str = Field(pattern=r"^[0-9]{14,17}$")
    files: int = Field(ge=0, le=2**53)
    bytes: int = Field(ge=0, le=2**53)
    missing: int | None = Field(default=None, ge=0, le=2**53)


class NamedSavepoint(Document):
    """The savepoint of one HudiSavepoint: `instant` is its commit, `resource` is namespace/name, `uid` the resource's.

    The savepoint itself says whose it is. So a run that repeats the work of another one, which was killed, finds it.
    One of somebody else is removed only where it was `adopted`.
    """

    work: SavepointWork
    instant: str = Field(pattern=r"^[0-9]{14,17}$")
    resource: str = Field(max_length=330)
    uid: str = Field(max_length=64)
    comment: str = Field(default="", max_length=COMMENT_LIMIT)
    adopted: bool = False

    @property
    def mark(self) -> str:
        """How the comment of the savepoint in the table begins."""
        return f"HudiSavepoint {self.resource} ({self.uid}): "

    @property
    def text(self) -> str:
        """The comment of the savepoint in the table."""
        return f"{self.mark}{self.comment}"
