"""What a look at a source found, before any run reads it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

LOOK_PAUSE = timedelta(minutes=1)
"""The least time between two looks at the source of a table."""


class LookProblem(StrEnum):
    """Why a source was not looked at; the schedule then decides alone."""

    NOT_ALLOWED = "NotAllowed"
    """The store refuses the operator."""

    TOO_LARGE = "TooLarge"
    """The source has more pages than one look reads."""

    UNREACHABLE = "Unreachable"
    """The store did not answer, or the answer could not be read."""

    SWITCHED_OFF = "SwitchedOff"
    """The operator is configured not to look at sources."""


@dataclass(frozen=True, kw_only=True)
class SourceLook:
    """A look at a source: a digest of its input, or the problem.

    `at` is the API server's time before the listing began. `inputs` counts the selected files, or the commits of an
    upstream table, and `listed` all files at the path. Equal digests mean equal input, in any order.
    """

    at: datetime
    digest: str | None = None
    inputs: int | None = None
    listed: int | None = None
    problem: LookProblem | None = None
    message: str = ""
