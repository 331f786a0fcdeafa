"""Removes memory of a table that an operation made invalid by going back to an earlier state.

The checkpoint, the counts and the pending instants come from the timeline with every reconcile. The position in the
source is forgotten with the runs that a restore has undone (`facts/writers/acts.py`).
"""

from hudi_operator.api.status.operation import FINISHED
from hudi_operator.api.status.table import HudiTableStatus, ServicesStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.takeover import Protection, TakeoverStatus
from hudi_operator.planning.model import Observation
from hudi_operator.services.registry import SERVICES


def has_changed_history(before: HudiTableStatus, entries: tuple[TableOperation, ...]) -> bool:
    """Whether an operation that changed the table has ended in this reconcile."""
    over = {one.uid for one in before.operations if one.state in FINISHED}
    return any(one.begun and one.state in FINISHED and one.uid not in over for one in entries)


def services_after(services: ServicesStatus) -> ServicesStatus:
    """Return the memory of services: a service that found nothing to do, or no new input, may find some now."""
    present = [one for one in SERVICES if getattr(services, one.lower()) is not None]
    return services.replaced({one: services.of(one).copy_with(last_no_op_instant=None, look=None) for one in present})


def takeover_after(takeover: TakeoverStatus | None, observation: Observation) -> TakeoverStatus | None:
    """Return the memory of a takeover: if its savepoint is gone, the next table service makes another savepoint."""
    timeline = observation.snapshot.timeline
    if takeover is None or timeline is None or takeover.protection is not Protection.KEPT:
        return takeover
    if takeover.savepoint in timeline.counters.savepoints:
        return takeover
    return takeover.copy_with(protection=Protection.WANTED, savepoint=None)
