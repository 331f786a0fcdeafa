"""Checks of files of the timeline that cannot be understood."""

from hudi_jobs.contract.table.facts import TableFacts
from hudi_jobs.contract.wording import shortened
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Check, Evidence, Examined
from hudi_operator.timeline import Timeline
from hudi_operator.timeline.model import Problem

_SHOWN = 400


def _corrupt(table: Examined) -> Evidence | None:
    if not table.damaged:
        return None
    problem = table.damaged[0]
    message = shortened(f"{problem.file}: {problem.reason} Restore the file.", _SHOWN)
    return Evidence(message=message, count=len(table.damaged))


def unexplained(timeline: Timeline, facts: TableFacts) -> tuple[Problem, ...]:
    """Return the problems of files that no finding of their own explains.

    UpgradeUnfinished explains all missing files, and FileSlicesUncertain the time of a compaction.
    """
    if facts.moved is not None:
        return ()
    early = facts.early_compaction
    return tuple(one for one in timeline.problems if early is None or early not in one.file)


def _damaged(table: Examined) -> Evidence | None:
    problems = unexplained(table.timeline, table.facts)
    if not problems:
        return None
    others = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
    message = shortened(f"{problems[0].file}: {problems[0].reason}", _SHOWN) + others
    return Evidence(message=message, count=len(problems))


TIMELINE_CORRUPT = Check(
    code=FindingCode.TIMELINE_CORRUPT,
    severity=Severity.CRITICAL,
    blocks="Everything on a Serialized table, unless the commit is known to be the operator's.",
    remedy="Restore the file; the message names it.",
    find=_corrupt,
)
TIMELINE_DAMAGED = Check(
    code=FindingCode.TIMELINE_DAMAGED,
    severity=Severity.WARNING,
    blocks="Services whose count depends on the file.",
    remedy=(
        "Restore the missing or damaged file; `hudi-operator timeline` lists all. Remove only a file that the message "
        "calls ignored: without the file of a commit, its rows are lost."
    ),
    find=_damaged,
)

CHECKS = (TIMELINE_CORRUPT, TIMELINE_DAMAGED)
