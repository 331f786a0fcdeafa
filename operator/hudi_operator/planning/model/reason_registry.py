"""The registry of reasons: the kind of each reason, when the operator tries again, and what helps.

The decision on retries, the advice in conditions and the reference page come from it. A new member of an enumeration
needs a line here: without it this module cannot be imported.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from hudi_jobs.contract import Effect, FailureReason, Outcome
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.model.advice import (
    BLOCKERS,
    CLASSES,
    ENDINGS,
    FAILURES,
    FINDINGS,
    OPERATIONS,
    OUTCOMES,
    PODS,
    RUNS,
    SAVEPOINTS,
    SERVICES,
    TABLES,
    TIMELINE,
    WAITING,
    AnyReason,
    Table,
)
from hudi_operator.planning.model.blockers import BlockerReason
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.observation import PodTrouble, TimelineTrouble
from hudi_operator.planning.model.reasons import (
    ClassReason,
    EndingEvent,
    EndingReason,
    OperationEvent,
    OperationReason,
    Retry,
    RunRemark,
    RunTrouble,
    SavepointReason,
    TableEvent,
    TableReason,
    Waiting,
)

_EVENT = (Retry.NEVER, "")
"""An Event only tells what has happened."""

_KINDS: Mapping[type[AnyReason], tuple[str, Table]] = {
    Outcome: ("Outcome of a run", OUTCOMES),
    BlockerReason: ("Blocker", BLOCKERS),
    TimelineTrouble: ("Timeline that cannot be read", TIMELINE),
    PodTrouble: ("Trouble of a pod", PODS),
    FailureReason: ("Failure that the driver reports", FAILURES),
    RunTrouble: ("Failure that the operator finds", RUNS),
    RunRemark: ("Run that did not fail", dict.fromkeys(RunRemark, (Retry.NEVER, ""))),
    Reason: ("Whether a service is due", SERVICES),
    Waiting: ("Service that waits", WAITING),
    FindingCode: ("Finding", FINDINGS),
    TableReason: ("Condition of a table", TABLES),
    ClassReason: ("Condition of a class", CLASSES),
    SavepointReason: ("Savepoint", SAVEPOINTS),
    OperationReason: ("Operation", OPERATIONS),
    EndingReason: ("Deletion", ENDINGS),
    OperationEvent: ("Event about an operation", dict.fromkeys(OperationEvent, _EVENT)),
    TableEvent: ("Event", dict.fromkeys(TableEvent, _EVENT)),
    Effect: ("Event about an instant", dict.fromkeys(Effect, _EVENT)),
    EndingEvent: ("Event at the end of a table", dict.fromkeys(EndingEvent, _EVENT)),
}

KINDS: Mapping[type[AnyReason], str] = {kind: title for kind, (title, _) in _KINDS.items()}
"""The title of each enumeration."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The entry of one reason."""

    name: AnyReason
    kind: str
    retry: Retry
    advice: str


def entries(kind: type[AnyReason]) -> Iterator[Entry]:
    """Yield the entries of an enumeration; a `KeyError` names a member without a line."""
    title, table = _KINDS[kind]
    for member in kind:
        retry, advice = table[member]
        yield Entry(name=member, kind=title, retry=retry, advice=advice)


REGISTRY: tuple[Entry, ...] = tuple(chain.from_iterable(map(entries, _KINDS)))
"""All reasons; a word of two enumerations has two entries."""


def entry_of(reason: AnyReason) -> Entry:
    """Return the entry of a reason."""
    return next(entry for entry in entries(type(reason)) if entry.name is reason)


def words(kinds: Iterable[type[AnyReason]], *retries: Retry) -> frozenset[str]:
    """Return the reasons of these enumerations with this retry."""
    return frozenset(entry.name.value for kind in kinds for entry in entries(kind) if entry.retry in retries)
