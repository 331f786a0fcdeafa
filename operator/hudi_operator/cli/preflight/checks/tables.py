"""Tables that are suspended, being deleted, or unhealthy before the upgrade."""

from collections.abc import Iterator, Sequence

from hudi_jobs.contract.wording import counted, listed
from hudi_operator.api.resources import parse_table
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType
from hudi_operator.cli.preflight.check import ClusterState, Line, fine, name_of, warning

_SHOWN = 3


def check_tables(state: ClusterState) -> Iterator[Line]:
    """Say which tables are in a state that the upgrade leaves, or that hides what it does."""
    going = [one.name for one in state.tables if one.metadata.deletion_timestamp is not None]
    if going:
        yield warning(
            f"{_named('table', going)} being deleted.",
            "Wait for the end; `kubectl hudi explain` says what it waits for.",
        )
    others = [name_of(one) for one in state.others if (one.get("metadata") or {}).get("deletionTimestamp")]
    if others:
        yield warning(f"{_named('other object', others)} being deleted.", "Wait for the end: look at its message.")
    unread = [one.name for one in state.tables if parse_table(dict(one.document)).unreadable]
    if unread:
        yield warning(
            f"This version cannot read a part of the status of {_named('table', unread)}; it builds the part again.",
            "Wait until nothing runs on these tables: kubectl hudi wait TABLE --for idle",
        )
    unhealthy = [one.name for one in state.tables if one.is_unhealthy]
    if unhealthy:
        yield warning(
            f"{_named('table', unhealthy)} unhealthy already; attempts that are used up count from zero afterwards.",
            "Look at them first: kubectl hudi status -A --unhealthy",
        )
    suspended = [one.name for one in state.tables if one.is_condition(ConditionType.SUSPENDED, ConditionStatus.TRUE)]
    if suspended:
        yield fine(f"{_named('table', suspended)} suspended, and stays so.")
    if not (going or unhealthy):
        yield fine(f"{counted(len(state.tables), 'table')}: none is unhealthy or being deleted.")


def _named(thing: str, names: Sequence[str]) -> str:
    return f"{counted(len(names), thing)} ({listed(names, _SHOWN)})"
