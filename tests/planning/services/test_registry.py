"""The registry of services: what mypy cannot see of it."""

import pytest

from hudi_jobs.contract import Service
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.planning.needs.registry import evaluation_of
from hudi_operator.services.registry import DEFINITIONS, SERVICES, TABLE_SERVICES, definition_of, service_of
from hudi_operator.timeline import Action, Instant, PendingInstant, PendingKind, State


def test_every_service_but_the_deletion_of_a_table_is_listed_once() -> None:
    assert sorted(SERVICES) == sorted(set(Service) - {Service.DELETION})


def test_a_definition_belongs_to_the_service_that_it_is_found_by() -> None:
    found = [definition_of(service) for service in SERVICES]

    assert [one.service for one in found if one is not None] == list(SERVICES)


def test_the_status_has_a_place_for_every_service_and_no_other() -> None:
    assert set(ServicesStatus.model_fields) == {service.lower() for service in SERVICES}


def test_table_services_and_no_others_are_evaluated_by_a_timeline() -> None:
    evaluated = [service for service in Service if evaluation_of(service) is not None]

    assert sorted(evaluated) == sorted(one.service for one in TABLE_SERVICES)


@pytest.mark.parametrize("kind", PendingKind)
@pytest.mark.parametrize("action", Action)
def test_no_two_services_deal_with_one_pending_instant(kind: PendingKind, action: Action) -> None:
    pending = PendingInstant(Instant(time="20260101000000000", action=action, state=State.REQUESTED), kind)

    dealing = [one.service for one in DEFINITIONS if one.deals_with(pending)]

    assert dealing in ([], [service_of(pending)])
