"""Says which instants change the files that a query reads, so that statistics know how old they are."""

from hudi_operator.timeline.model import Action, Timeline
from hudi_operator.timeline.rules.counters import COMMITS

_CHANGES = COMMITS | {Action.ROLLBACK, Action.RESTORE}


def completed_changes(timeline: Timeline) -> list[str]:
    """Return the completions of commits, rollbacks and restores in the active timeline."""
    return [one.completion for one in timeline.completed if one.action in _CHANGES]
