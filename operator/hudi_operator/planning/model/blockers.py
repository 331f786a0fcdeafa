"""Why nothing may be started for a table."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class BlockerReason(StrEnum):
    """Why nothing may be started for a table, as the reason of its conditions.

    All of them end by themselves once the cause is gone, because the table is reconciled again and again.
    """

    INVALID_SPEC = "InvalidSpec"
    """This version of the operator cannot read the spec."""

    CLASS_NOT_FOUND = "TableClassNotFound"
    """The class does not exist, or none is marked as the default."""

    CLASS_INVALID = "TableClassInvalid"
    """This version of the operator cannot read the class."""

    CLASS_NOT_ALLOWED = "ClassNotAllowed"
    """The class is not for tables of this namespace."""

    PATH_NOT_ALLOWED = "PathNotAllowed"
    """A path lies outside of what the class allows, is the whole of it, or lies inside of a table."""

    SOURCE_NOT_ALLOWED = "SourceNotAllowed"
    """A broker, topic, registry or Secret of a Kafka source is none that the class allows."""

    SETTING_NOT_ALLOWED = "SettingNotAllowed"
    """A key of `sparkConf`, `hudiOptions` or of a reader is not allowed."""

    SIZE_NOT_ALLOWED = "SizeNotAllowed"
    """The spec asks for more than the class allows."""

    INVALID_SCHEDULE = "InvalidSchedule"
    """The schedule has no next time."""

    INVALID_PATTERN = "InvalidPattern"
    """A regular expression of the spec cannot be compiled."""

    LOCK_MISSING = "LockMissing"
    """The table is Optimistic, and neither it nor its class names a lock."""

    PATH_CLAIMED = "BasePathClaimed"
    """Another HudiTable has this folder, or one around it or inside it."""


@dataclass(frozen=True, kw_only=True)
class Blocker:
    """A reason for which nothing may be started, with a sentence that says what to do.

    One that `hides` the table concerns its base path, class, namespace or claim: the folder may be somebody else's, so
    it is not read, and nothing of it is shown.
    """

    reason: BlockerReason
    message: str
    hides: bool = True


def is_hidden(blockers: Iterable[Blocker]) -> bool:
    """Whether one of these blockers hides the table."""
    return any(blocker.hides for blocker in blockers)
