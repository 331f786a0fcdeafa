"""Defects that the decision on operations could have, each of which the checker must find."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.model import scenarios
from tests.model.defects import Defect
from tests.model.world import Scenario

from hudi_jobs.contract import Service
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.facts.operations import assess_operations, declared
from hudi_operator.planning.facts.operations.admission import Held
from hudi_operator.planning.order import slots

_OPERATIONS = "hudi_operator.planning.facts.operations"


def _always(*_: object, **__: object) -> bool:
    return True


def _never(*_: object, **__: object) -> bool:
    return False


def _nothing(*_: object, **__: object) -> None:
    return None


def _by_a_restore_too(held: Held, entry: TableOperation) -> str | None:
    """Hold a restore as well, which would finish the pending one that it has left, begun or not."""
    return held.before or held.restore or (held.heartbeat if entry.dry_run else held.stranger or held.heartbeat)


def _beside_others(*arguments: Any, **others: Any) -> Any:
    """The Jobs that are at work are not waited for."""
    return _FOLLOWING(*arguments, **{**others, "active": ()})


def _as_a_service(service: Service, *arguments: Any, **others: Any) -> Any:
    """In an Optimistic table it runs beside ingestion, as a table service does."""
    return _OCCUPIED(Service.CLEANING if service is Service.OPERATION else service, *arguments, **others)


def _as_new(resource: HudiOperation, table: HudiTable, *, now: datetime) -> TableOperation:
    """What the resource says of itself is not read."""
    return _ENTRY(resource.copy_with(status=HudiOperationStatus()), table, now=now)


def _says_so(resource: HudiOperation) -> bool:
    """Only what is told to have begun has."""
    return resource.status.begun


def _has_resource(one: declared.Declared) -> bool:
    """Who removes the resource of an operation ends it."""
    return one.resource is not None and not one.is_finished and (one.entry.begun or one.job is not None)


def _where(deviation: str) -> Scenario:
    """The history in which only this befalls an operation, in each of its states."""
    return replace(scenarios.OPERATIONS, happenings=frozenset({deviation}))


_FOLLOWING = assess_operations._following
_ENTRY = declared._entry_of
_OCCUPIED = slots.occupied

_UNHELD = replace(scenarios.OPERATIONS, prefix=((29, ("operations lag", 0)),))
"""The resource is created before its controller gets to it."""
_LEFT = replace(
    scenarios.OPERATIONS,
    prefix=((40, ("operation deleted", 0)), (40, ("driver dies", 5)), (42, ("finalizer removed", 0))),
)
"""A driver has died in the midst of it, and somebody has removed the resource by force."""

_FORGOTTEN = replace(_where("driver dies"), prefix=((37, ("status restored", 0)),))
"""The status of the table is lost while the Job of its operation is at work."""

_DELETED_ERASURE = replace(
    scenarios.ERASURES, prefix=((39, ("operation deleted", 0)),), happenings=frozenset({"driver dies"})
)
_ERASURE_WITHOUT_KEYS = replace(scenarios.ERASURES, prefix=_LEFT.prefix)
_FORGOTTEN_SERVICE = replace(scenarios.WHAT_MAY_BE_LEFT, happenings=frozenset({"status restored"}))

OF_OPERATIONS = (
    Defect(
        name="an erasure that was killed midway is let go as a service is",
        scenario=_DELETED_ERASURE,
        says="the resource of an operation that has begun is let go",
        old=((f"{_OPERATIONS}.ended.may_be_left", _always), (f"{_OPERATIONS}.declared.may_be_left", _always)),
    ),
    Defect(
        name="an erasure goes on without the keys that its resource alone held",
        scenario=_ERASURE_WITHOUT_KEYS,
        says="it does not come to rest",
        old=((f"{_OPERATIONS}.assess_operations.is_without_keys", _never),),
        deviations=0,
    ),
    Defect(
        name="a service that was run once and that the table has forgotten is run again",
        scenario=_FORGOTTEN_SERVICE,
        says="a finished operation starts again",
        old=((f"{_OPERATIONS}.declared._entry_of", _as_new),),
    ),
    Defect(
        name="a run that was killed counts as one that changed nothing",
        scenario=_where("driver dies"),
        says="it does not come to rest",
        old=(
            (f"{_OPERATIONS}.ended._never_started", _always),
            (f"{_OPERATIONS}.ended.shows_work", _never),
            (f"{_OPERATIONS}.admission.Held.of", _by_a_restore_too),
        ),
    ),
    Defect(
        name="an operation does not wait for the Jobs at work",
        scenario=scenarios.APPROVALS,
        says="another Job is beside that of an operation",
        old=(
            (f"{_OPERATIONS}.assess_operations._following", _beside_others),
            ("hudi_operator.planning.order.slots.occupied", _as_a_service),
        ),
    ),
    Defect(
        name="services go on beside an operation",
        scenario=_where("driver dies"),
        says="a run starts while an operation has begun",
        old=(("hudi_operator.planning.facts.blocking.under_maintenance", _nothing),),
    ),
    Defect(
        name="a run is decided before its operation is recorded and held",
        lot=2,
        scenario=_UNHELD,
        says="an operation begins whose resource was let go",
        old=((f"{_OPERATIONS}.declared.Declared.may_start", property(_always)),),
    ),
    Defect(
        name="what the table has forgotten begins again",
        scenario=_where("status restored"),
        says="a finished operation starts again",
        old=((f"{_OPERATIONS}.declared._entry_of", _as_new),),
    ),
    Defect(
        name="an operation whose table has forgotten its Job counts as one that never began",
        scenario=_FORGOTTEN,
        says="it does not come to rest",
        old=(
            (f"{_OPERATIONS}.declared.may_have_begun", _says_so),
            ("hudi_operator.planning.outcome.status.operation_status.may_have_begun", _says_so),
            (f"{_OPERATIONS}.admission.Held.of", _by_a_restore_too),
        ),
    ),
    Defect(
        name="an operation ends with its resource",
        scenario=_LEFT,
        says="it does not come to rest",
        old=((f"{_OPERATIONS}.declared.Declared.must_be_finished", property(_has_resource)),),
        deviations=0,
    ),
    Defect(
        name="a table goes while its operation is in between",
        scenario=_where("table deleted"),
        says="a table is let go while an operation has begun",
        old=(("tests.model.operator.has_begun", _never),),
    ),
    Defect(
        name="the restore that an operation has left keeps it from going on",
        scenario=_where("driver dies"),
        says="it does not come to rest",
        old=(("hudi_operator.planning.facts.blocking._NOT_FOR_BEGUN", frozenset()),),
    ),
)
