"""The reasons why the operator starts nothing for a table."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class BlockerReason(StrEnum):
    """Why the operator starts nothing for a table, as the reason of its conditions.

    A blocker ends by itself once its cause is gone, because the operator reconciles the table again and again.
    """

    INVALID_SPEC = "InvalidSpec"
    """This version of the operator cannot read the spec."""

    CLASS_NOT_FOUND = "TableClassNotFound"
    """The class does not exist, or no class is marked as the default."""

    CLASS_INVALID = "TableClassInvalid"
    """This version of the operator cannot read the class."""

    CLASS_NOT_ALLOWED = "ClassNotAllowed"
    """The class does not allow tables of this namespace."""

    PATH_NOT_ALLOWED = "PathNotAllowed"
    """A path lies outside the prefixes that the class allows, is itself such a prefix, or lies inside a table."""

    SOURCE_NOT_ALLOWED = "SourceNotAllowed"
    """The class does not allow what the source names, such as a broker, topic, registry or Secret of Kafka."""

    SETTING_NOT_ALLOWED = "SettingNotAllowed"
    """A key of `sparkConf`, `hudiOptions` or of a reader is not allowed."""

    SIZE_NOT_ALLOWED = "SizeNotAllowed"
    """The spec asks for more than the class allows."""

    PROFILE_NOT_ALLOWED = "ProfileNotAllowed"
    """The class does not offer the profile that the spec names."""

    INVALID_SCHEDULE = "InvalidSchedule"
    """The schedule has no next time."""

    INVALID_PATTERN = "InvalidPattern"
    """A regular expression of the spec cannot be compiled."""

    LOCK_MISSING = "LockMissing"
    """The table is Optimistic, and neither it nor its class names a lock."""

    PATH_CLAIMED = "BasePathClaimed"
    """Another HudiTable claims this folder, a parent of it or a folder inside it."""


@dataclass(frozen=True, kw_only=True)
class Blocker:
    """A reason to start nothing for a table, with a sentence that tells the owner what to do.

    A blocker that `hides` the table concerns its base path, class, namespace or claim. The folder may belong to
    somebody else, so the operator does not read it. Status then shows nothing of the folder, unless the blocker
    `keeps_figures`: it says nothing against the path, so a table that holds its claim keeps its last figures.
    """

    reason: BlockerReason
    message: str
    hides: bool = True
    keeps_figures: bool = False


def is_hidden(blockers: Iterable[Blocker]) -> bool:
    """Whether a blocker hides the table."""
    return any(blocker.hides for blocker in blockers)


def keeps_figures(blockers: Iterable[Blocker]) -> bool:
    """Whether a table is hidden, and no blocker says anything against its path."""
    hiding = [blocker for blocker in blockers if blocker.hides]
    return bool(hiding) and all(blocker.keeps_figures for blocker in hiding)
