"""Why a table could not be read at all. Damage to a part of it is a `Problem` of the `Timeline` instead."""

from enum import StrEnum


class UnreadableCause(StrEnum):
    """What kind of thing stands between the operator and the table."""

    NOT_FOUND = "NotFound"
    ACCESS_DENIED = "AccessDenied"
    UNREACHABLE = "Unreachable"
    CORRUPT = "Corrupt"
    UNSUPPORTED = "Unsupported"
    TOO_LARGE = "TooLarge"


class TimelineError(Exception):
    """No timeline could be given for a path. The message is one sentence for people."""


class NotAHudiTable(TimelineError):
    """There is no Hudi table at the path (yet). The store itself answered."""


class TableUnreadable(TimelineError):
    """There may be a table, but it cannot be read. `cause` says why, the message says what to do."""

    def __init__(self, cause: UnreadableCause, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class CorruptContent(TimelineError):
    """The content of one timeline file is not what its name promises."""


class ContentTooLarge(CorruptContent):
    """A timeline file is larger than is read, or says more than is kept."""


class TooMuchKept(ContentTooLarge):
    """What was asked for of a timeline file takes too much memory; less of it may not."""


class ReadBudgetSpent(ContentTooLarge):
    """This read has used up its budget. Nothing is wrong with the file; the next read reads it."""


class InstantContentMissing(TimelineError):
    """The file with the content of an instant is not there: archived, rolled back or never written."""
