"""`history`: what ran on a table and who asked for it, and `events`: what the operator said of it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import SUSPEND_ANNOTATION, HudiOperation, InvalidObject
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import service_name
from hudi_operator.cli.render.text import Cell, Row, Tone, age, duration, table
from hudi_operator.cli.render.view import TableView, operation_status
from hudi_operator.planning.model import suspension_text
from hudi_operator.planning.model.times import parse_time

_OLDEST = datetime.min.replace(tzinfo=UTC)
_OUTCOMES = {Outcome.FAILED: Tone.BAD, Outcome.SUCCEEDED: Tone.GOOD}
_STATES = {OperationState.FAILED: Tone.BAD, OperationState.SUCCEEDED: Tone.GOOD}


class Entry(NamedTuple):
    """A line of the history."""

    at: datetime | None
    what: str
    outcome: Cell
    took: str
    who: str
    message: str


def entries(view: TableView, operations: Sequence[HudiOperation | InvalidObject]) -> list[Entry]:
    """Return the runs and operations of a table, the newest first. Unfinished entries come first."""
    runs = map(_of_run, view.status.history)
    found = [*runs, *map(_of_operation, operations), *_forgotten(view, operations), *_suspension(view)]
    unfinished = [one for one in found if one.at is None]
    return unfinished + sorted((one for one in found if one.at), key=lambda one: one.at or _OLDEST, reverse=True)


def history_text(found: Sequence[Entry], *, now: datetime, colour: bool) -> str:
    """Return the history as a table."""
    rows: list[Row] = [
        [age(one.at, now) or "now", one.what, one.outcome, one.took, one.who, one.message] for one in found
    ]
    return table(["AGO", "WHAT", "OUTCOME", "TOOK", "WHO", "MESSAGE"], rows, colour=colour)


def history_document(found: Sequence[Entry]) -> list[dict[str, str | None]]:
    """Return the history as values for programs."""
    return [
        {
            "at": one.at.isoformat() if one.at is not None else None,
            "what": one.what,
            "outcome": one.outcome.text,
            "who": one.who,
            "message": one.message,
        }
        for one in found
    ]


def _of_run(run: RunStatus) -> Entry:
    began, ended = parse_time(run.started_at), parse_time(run.finished_at)
    took = duration(ended - began) if began is not None and ended is not None else ""
    outcome = f"{run.outcome} ({run.reason})" if run.reason else str(run.outcome)
    who = "an operation" if run.service is Service.OPERATION else "the operator"
    return Entry(ended, service_name(run.service), Cell(outcome, _OUTCOMES.get(run.outcome)), took, who, run.message)


def _of_operation(one: HudiOperation | InvalidObject) -> Entry:
    status = operation_status(one)
    began, ended = parse_time(status.started_at), parse_time(status.finished_at)
    took = duration(ended - began) if began is not None and ended is not None else ""
    outcome = Cell(status.reason or status.state, _STATES.get(status.state, Tone.WARN))
    return Entry(ended, f"hop/{one.metadata.name}{_kind(one)}", outcome, took, _requester(one), status.message or "")


def _kind(one: HudiOperation | InvalidObject) -> str:
    if not isinstance(one, HudiOperation):
        return ""
    dry = ", dry run" if one.spec.dry_run else ""
    return f" ({one.spec.decision or one.spec.kind}{dry})"


def _requester(one: HudiOperation | InvalidObject) -> str:
    status = operation_status(one)
    asked = status.requested_by or (one.spec.requested_by if isinstance(one, HudiOperation) else None)
    if asked is None:
        return "not said"
    return asked if status.requester_verified else f"{asked} (not verified)"


def _forgotten(view: TableView, operations: Sequence[HudiOperation | InvalidObject]) -> Iterator[Entry]:
    """Yield the operations that the table remembers, and that are no longer in the cluster."""
    there = {one.metadata.uid for one in operations}
    for one in view.status.ended_operations:
        if one.uid not in there:
            outcome = Cell(one.state, _STATES.get(one.state))
            yield Entry(parse_time(one.at), f"hop/{one.resource}", outcome, "", "not said", "The resource is gone.")


def _suspension(view: TableView) -> Iterator[Entry]:
    text = suspension_text(view.metadata.annotations.get(SUSPEND_ANNOTATION))
    if text is not None:
        outcome, message = Cell("Suspended", Tone.WARN), f"by the annotation {SUSPEND_ANNOTATION}"
        yield Entry(None, "suspension", outcome, "", text or "not said", message)


def events_text(found: Sequence[Mapping[str, Any]], *, now: datetime, colour: bool) -> str:
    """Return Events as a table, the newest first."""
    rows: list[Row] = [
        [
            age(event_time(one), now),
            Cell(str(one.get("type", "")), Tone.WARN if one.get("type") == "Warning" else None),
            str(one.get("reason", "")),
            str(one.get("count") or 1),
            str(one.get("message", "")),
        ]
        for one in newest_first(found)
    ]
    return table(["AGO", "TYPE", "REASON", "TIMES", "MESSAGE"], rows, colour=colour)


def newest_first(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return Events by their last time."""
    return sorted(found, key=lambda one: event_time(one) or _OLDEST, reverse=True)


def event_time(event: Mapping[str, Any]) -> datetime | None:
    """Return when an Event happened last."""
    series = event.get("series")
    last = series.get("lastObservedTime") if isinstance(series, Mapping) else None
    times = (last, event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp"))
    return next((found for one in times if isinstance(one, str) and (found := parse_time(one))), None)
