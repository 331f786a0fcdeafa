"""What the operator has to know of a service, whatever its table. Every part is required, so that mypy finds a gap."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.conditions import ConditionType
from hudi_operator.timeline import Action, PendingInstant, PendingKind

Options = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ServiceDefinition:
    """One service of a table's life, ingestion or a table service.

    `condition` says how its runs end. `completes` are the actions of the instants that its runs complete; a service
    that completes none is known to have succeeded by the driver's word alone. `plans` are the kinds of plans that it
    makes and executes, and `deals_with` tells which pending instants it finishes or rolls back.
    """

    service: Service
    condition: ConditionType
    completes: frozenset[Action]
    plans: frozenset[PendingKind]
    deals_with: Callable[[PendingInstant], bool]


@dataclass(frozen=True, kw_only=True)
class TableServiceDefinition(ServiceDefinition):
    """A table service, with its mode and its options of Hudi.

    `mode` is what the spec declares. `inline_switch` is the option that runs it inside a writer, `other_switches` are
    those that are always off. `options` are what every job is told of it, and `gates_open` what only its own job is
    told: the operator has counted before it starts one. Hudi would count again, and where the two disagree (a run that
    a person asks for, what a bounded plan left over) it would answer that there is nothing to do.
    `needs_all_partitions` tells whether its plans would lose partitions where Hudi plans incrementally.
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
