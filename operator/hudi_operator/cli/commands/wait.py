"""`kubectl hudi wait`: waits until a table is in a state."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.api.resources import parse_operation
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.values.base import parse_duration
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Failed, Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.object_names import ObjectName
from hudi_operator.cli.base.read import operation_of, table_of
from hudi_operator.cli.render.view import TableView, operation_status

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

_POLL_SECONDS = 2.0
_NO_STATUS = "the operator has not written a status yet."

STATES = {
    "ready": ConditionType.READY,
    "healthy": ConditionType.HEALTHY,
    "fresh": ConditionType.FRESH,
    "suspended": ConditionType.SUSPENDED,
    "idle": None,
}
"""The state by its name, and the condition that shows it; `idle` is a table without a Job."""


@declare(
    details="A condition counts only if it is about the newest spec. `idle` means that no Job of the table is left.\n\n"
    "With --operation it waits until that HudiOperation has ended, and fails if the operation failed.",
    examples=[
        "wait orders --for ready",
        "wait orders --for idle --timeout 1h",
        "wait orders --operation orders-restore-1a2b3c",
    ],
    exit_codes={
        0: "the table is in the state",
        1: "the time is over, or there is no such table",
        2: "the arguments make no sense",
        3: "no access",
    },
)
@table_argument()
@click.option("--for", "state", type=click.Choice([*STATES]), default="ready", help="The state.")
@click.option(
    "--operation",
    type=ObjectName(),
    metavar="NAME",
    help="Wait for the end of this HudiOperation of the table instead.",
)
@click.option("--timeout", metavar="DURATION", default="10m", help="The longest time to wait, such as 90s or 1h.")
@cluster_options
def command(*, place: Place, table: str, state: str, operation: str | None, timeout: str) -> int:
    """Wait until the table is in the state."""
    try:
        longest = parse_duration(timeout)
    except ValueError as error:
        raise click.BadParameter(f"{timeout!r} is no duration such as 90s or 1h", param_hint="--timeout") from error
    if operation is not None:
        print(
            in_cluster(place, lambda client: _polled(lambda: _operation_end(client, table, operation), longest)),
            file=sys.stderr,
        )
        return 0
    print(
        in_cluster(place, lambda client: _polled(lambda: _table_state(client, table, state), longest)), file=sys.stderr
    )
    return 0


class Pending(NamedTuple):
    """What was waited for has not come; the sentence says what is the case."""

    sentence: str


async def _polled(look: Callable[[], Awaitable[str | Pending]], longest: timedelta) -> str:
    """Return the sentence of the first look that is not pending; raises `Failed` when the time is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + longest.total_seconds()
    while isinstance(found := await look(), Pending):
        if loop.time() >= end:
            raise Failed(f"After {longest}, {found.sentence}")
        await asyncio.sleep(min(_POLL_SECONDS, max(0.0, end - loop.time())))
    return found


async def _table_state(client: "PersonClient", name: str, state: str) -> str | Pending:
    view = await table_of(client, name)
    if is_in_state(view, state):
        return f"HudiTable {view.name} is {state}."
    return Pending(f"HudiTable {view.name} is not {state}: {view.why or _NO_STATUS}")


async def _operation_end(client: "PersonClient", table: str, name: str) -> str | Pending:
    status = operation_status(parse_operation(await operation_of(client, table, name)))
    sentence = f"HudiOperation {client.namespace}/{name} is {status.state}: {status.message or _NO_STATUS}"
    if status.state is OperationState.FAILED:
        raise Failed(sentence)
    return escaped(sentence) if status.state is OperationState.SUCCEEDED else Pending(sentence)


def is_in_state(view: TableView, state: str) -> bool:
    """Tell whether a table is in a state, by a status about its newest spec."""
    kind, current = STATES[state], view.status.observed_generation == view.metadata.generation
    if kind is None:
        return current and not view.status.active_jobs
    found = view.condition(kind)
    return (
        found is not None
        and found.status is ConditionStatus.TRUE
        and found.observed_generation == view.metadata.generation
    )
