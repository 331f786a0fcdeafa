"""The kinds of decisions that people take about a table."""

from enum import StrEnum

LONGEST_OWNER = 330
"""The most characters of the name of an operator, or of a run."""


class DecisionKind(StrEnum):
    """The decision of a person about a table."""

    RESCAN = "Rescan"
    """Input is read once more."""

    ACCEPT_COMMITS = "AcceptCommits"
    """Commits of other writers on a Serialized table are accepted."""

    TAKE_OVER = "TakeOver"
    """The table is taken over from another operator."""

    ACKNOWLEDGE_BAD_ROWS = "AcknowledgeBadRows"
    """Quarantined rows have been seen."""
