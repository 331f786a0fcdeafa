"""`kubectl hudi wait`: waits until a table is in a state."""

import asyncio
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from hudi_operator.api.status.conditions import ConditionStatus, ConditionType
from hudi_operator.api.values.base import parse_duration
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Failed, Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.render.view import TableView

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

_POLL_SECONDS = 2.0

STATES = {
    "ready": ConditionType.READY,
    "healthy": ConditionType.HEALTHY,
    "fresh": ConditionType.FRESH,
    "suspended": ConditionType.SUSPENDED,
    "idle": None,
}
"""The state by its name, and the condition that shows it; `idle` is a table without a Job."""


@declare(
    details="A condition counts only if it is about the newest spec. `idle` waits until no Job of the table is left.",
    examples=["wait orders --for ready", "wait orders --for idle --timeout 1h"],
    exit_codes={
        0: "the table is in the state",
        1: "the time is over, or there is no such table",
        2: "the arguments make no sense",
        3: "no access",
    },
)
@table_argument
@click.option("--for", "state", type=click.Choice([*STATES]), default="ready", help="The state.")
@click.option("--timeout", metavar="DURATION", default="10m", help="The longest time to wait, such as 90s or 1h.")
@cluster_options
def command(*, place: Place, table: str, state: str, timeout: str) -> int:
    """Wait until the table is in the state."""
    try:
        longest = parse_duration(timeout)
    except ValueError as error:
        raise click.BadParameter(f"{timeout!r} is no duration such as 90s or 1h", param_hint="--timeout") from error
    view = in_cluster(place, lambda client: _wait(client, table, state, longest))
    print(f"HudiTable {view.name} is {state}.", file=sys.stderr)
    return 0


async def _wait(client: "PersonClient", name: str, state: str, longest: timedelta) -> TableView:
    loop = asyncio.get_running_loop()
    end = loop.time() + longest.total_seconds()
    while True:
        view = await table_of(client, name)
        if is_in_state(view, state):
            return view
        if loop.time() >= end:
            raise Failed(
                f"HudiTable {view.name} is not {state} after {longest}: {view.status.message or 'no status yet'}"
            )
        await asyncio.sleep(min(_POLL_SECONDS, max(0.0, end - loop.time())))


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
