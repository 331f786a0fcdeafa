"""The definition of a service, independent of any table. Every field is required, so that mypy finds gaps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.timeline import Action, PendingInstant, PendingKind

Options = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ServiceDefinition:
    """A service of a table: ingestion or a table service.

    `completes` are the actions of the instants that its runs complete; if empty, only the driver's report tells
    success. `plans` are the kinds of plans that it makes and executes, and `deals_with` tells which pending instants it
    finishes or rolls back.
    """

    service: Service
    completes: frozenset[Action]
    plans: frozenset[PendingKind]
    deals_with: Callable[[PendingInstant], bool]


@dataclass(frozen=True, kw_only=True)
class TableServiceDefinition(ServiceDefinition):
    """A table service with its mode and Hudi options.

    `mode` returns the mode declared in the spec. `inline_switch` is the option that runs it inside a writer,
    `other_switches` are always off. `options` go to every job, and `gates_open` only to its own job: the operator has
    counted before it starts one. Hudi would count again, and where the two disagree (a run requested by a person, the
    rest of a bounded plan) it would find nothing to do. `needs_all_partitions` tells whether incremental planning would
    lose partitions of its plans.
    """

    mode: Callable[[HudiTableSpec], ServiceMode]
    inline_switch: str
    other_switches: tuple[str, ...]
    options: Callable[[HudiTableSpec], Options]
    gates_open: Options
    needs_all_partitions: Callable[[HudiTableSpec], bool]


def given(options: Mapping[str, str | None]) -> dict[str, str]:
    """Return the options that have a value."""
    return {key: value for key, value in options.items() if value is not None}
