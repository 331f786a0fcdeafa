"""The specs of decisions, which the table records once without a Job."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import LONGEST_OWNER, DecisionKind, InstantText, Model

LONGEST_PATTERN = 200


class RescanSpec(Model):
    """Read input once more: files of the source, or an upstream table as a whole."""

    path_glob: Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)] | None = None
    """Only files with a name that matches this pattern, for example `*-10-*.csv`; all files if absent."""


class AcceptCommitsSpec(Model):
    """Accept commits of other writers on a Serialized table; no other writer may write to the table from then on."""

    up_to: InstantText
    """Requested time of a completed instant: commits that had completed by then are accepted."""


class TakeOverSpec(Model):
    """Take the table over from another operator, or from a copy of this operator, that no longer works on the table."""

    owner: Annotated[str, Field(min_length=1, max_length=LONGEST_OWNER)]
    """The operator, or the run of a copy of this operator, as the message of the table names it."""


class AcknowledgeBadRowsSpec(Model):
    """Acknowledge the bad rows that the finding BadRows counts; the count begins again."""


DECISION_FIELDS: Mapping[DecisionKind, str] = {
    DecisionKind.RESCAN: "rescan",
    DecisionKind.ACCEPT_COMMITS: "acceptCommits",
    DecisionKind.TAKE_OVER: "takeOver",
    DecisionKind.ACKNOWLEDGE_BAD_ROWS: "acknowledgeBadRows",
}
"""The field of the spec for each decision."""
