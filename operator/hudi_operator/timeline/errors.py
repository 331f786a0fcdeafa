"""Errors for a table that cannot be read at all. Damage to a part of it is a `Problem` of the `Timeline`."""

from enum import StrEnum


class UnreadableCause(StrEnum):
    """Why the operator cannot read a table."""

    NOT_FOUND = "NotFound"
    ACCESS_DENIED = "AccessDenied"
    UNREACHABLE = "Unreachable"
    CORRUPT = "Corrupt"
    UNSUPPORTED = "Unsupported"
    TOO_LARGE = "TooLarge"


class TimelineError(Exception):
    """The path has no readable timeline. The message is a sentence for people."""


class NotAHudiTable(TimelineError):
    """The path holds no Hudi table (yet). The store itself answered."""


class TableUnreadable(TimelineError):
    """A table may exist but cannot be read. `cause` says why, the message says what to do."""

    def __init__(self, cause: UnreadableCause, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class CorruptContent(TimelineError):
    """A timeline file's content does not match its name."""


class ContentTooLarge(CorruptContent):
    """A timeline file exceeds the limits on size or memory."""


class TooMuchKept(ContentTooLarge):
    """The wanted fields of a timeline file take too much memory; fewer fields may fit."""


class ReadBudgetSpent(ContentTooLarge):
    """This read has spent its budget. The file is fine; the next read continues."""


class InstantContentMissing(TimelineError):
    """The instant's file does not exist: archived, rolled back or never written."""
