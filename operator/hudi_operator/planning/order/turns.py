"""What follows the turn of a continuous driver: a service that it stops for, or another turn.

A driver never stops in vain: the service that it stops for starts next, and ingestion waits until that service has
started (`given_turn`), whatever happens while the driver stops.
"""

from dataclasses import dataclass

from hudi_jobs.contract import Service
from hudi_operator.api.status.table import ServicesStatus
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.order.alone import kept_apart
from hudi_operator.planning.order.inside import services_apart
from hudi_operator.planning.order.slots import in_order, limit_reached


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The due services that cannot run beside the driver, and the service that starts if the driver stops now.

    `following` is None if ingestion would start again before them all: they are passed over.
    """

    waiting: tuple[Service, ...] = ()
    following: Service | None = None


def turn_of(facts: Facts, needs: Needs) -> Turn:
    """Return the services that wait for a continuous driver to stop, and the service that would start after it.

    The running driver answers a request, and ingestion was passed over only before the driver's turn.
    """
    is_full = limit_reached(facts.observation, facts.active) is not None
    waiting = services_apart(facts, needs.decisions, quota_reached=is_full)
    if not waiting or needs.after_driver is None:
        return Turn()
    ingestion = facts.services.ingestion.copy_with(passed_over=0)
    services = facts.services.replaced({Service.INGESTION: ingestion})
    after = {**needs.decisions, Service.INGESTION: needs.after_driver}
    order = in_order(after, services, apart=kept_apart(facts.table.spec, facts.services))
    first = next((one for one in order if one in waiting or one is Service.INGESTION), None)
    return Turn(waiting=waiting, following=first if first in waiting else None)


def passed_over(services: ServicesStatus, skipped: tuple[Service, ...]) -> ServicesStatus:
    """Return the status of the services that were due when a driver began another turn."""
    return services.replaced(
        {one: services.of(one).copy_with(passed_over=services.of(one).passed_over + 1) for one in skipped}
    )
