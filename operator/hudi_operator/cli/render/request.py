"""What write commands send: the HudiOperation, and the target of a restore, as values."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from hudi_operator.api.status.timeline import InstantStatus
from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.cli.render.view import TableView
from hudi_operator.planning.model.times import format_time, instant_time

_LONGEST_TABLE = 40
_COMMITS = frozenset({"commit", "deltacommit", "replacecommit"})
_INSTANT = re.compile(r"[0-9]{14}([0-9]{3})?")
_TIME_OF_DAY = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?")


class NotUnderstood(ValueError):
    """An argument that names nothing; the message is a sentence."""


def operation(
    view: TableView, field: str, value: Mapping[str, Any], *, suffix: str, who: str | None, dry_run: bool = False
) -> dict[str, Any]:
    """Return a HudiOperation on a table; the random `suffix` makes its name new."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "-", field).lower()
    name = f"{view.metadata.name[:_LONGEST_TABLE].rstrip('-.')}-{kind}-{suffix}"
    spec: dict[str, Any] = {"tableRef": {"name": view.metadata.name}, field: dict(value)}
    return document(view.metadata.namespace, name, spec | ({"dryRun": True} if dry_run else {}), who=who)


def repeated(original: Mapping[str, Any], *, suffix: str, who: str | None) -> dict[str, Any]:
    """Return a HudiOperation that asks for the same as another, under a new name and without its approval."""
    spec = {key: value for key, value in original["spec"].items() if key not in {"approved", "requestedBy"}}
    metadata = original["metadata"]
    return document(metadata["namespace"], f"{metadata['name'][:200]}-{suffix}", spec, who=who)


def document(namespace: str, name: str, spec: Mapping[str, Any], *, who: str | None) -> dict[str, Any]:
    """Return the document of a HudiOperation."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "HudiOperation",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, **({"requestedBy": who} if who else {})},
    }


def restore_target(view: TableView, text: str, *, now: datetime, zone: tzinfo | None = None) -> dict[str, str]:
    """Return the commit or savepoint that a restore goes back to.

    `text` is an instant, `savepoint/NAME`, or a time, which means the newest commit that had completed by then. A time
    without an offset is in `zone`, or in that of this machine. Raises `NotUnderstood`.
    """
    kind, slash, name = text.partition("/")
    if slash and kind in {"savepoint", "hsp", "hudisavepoint"} and name:
        return {"savepoint": name}
    if _INSTANT.fullmatch(text):
        return {"instant": text}
    return {"instant": _commit_by(view, _moment(text, now, zone))}


def _moment(text: str, now: datetime, zone: tzinfo | None) -> datetime:
    if _TIME_OF_DAY.fullmatch(text):
        hours, _, rest = text.partition(":")
        text = f"{now.astimezone(zone).date()}T{hours:0>2}:{rest}"
    try:
        found = datetime.fromisoformat(text)
        moment = found.astimezone(UTC) if found.tzinfo is not None else _in_zone(found, zone)
    except NotUnderstood:
        raise
    except (ValueError, OverflowError) as error:
        kinds = "an instant of 14 or 17 digits, savepoint/NAME, or a time such as 14:00 or 2026-03-10T14:00"
        raise NotUnderstood(f"{text!r} is neither {kinds}.") from error
    if moment > now:
        raise NotUnderstood(f"{format_time(moment)} lies in the future.")
    return moment


def _in_zone(local: datetime, zone: tzinfo | None) -> datetime:
    """Return a time of a zone with the offset of its own day; a time that the zone has twice or skips is refused."""
    first, second = (local.replace(fold=fold, tzinfo=zone).astimezone(UTC) for fold in (0, 1))
    if first != second:
        raise NotUnderstood(
            f"{local.isoformat()} is no single time here, because the clock was changed: add the offset, as +01:00."
        )
    return first


def _commit_by(view: TableView, moment: datetime) -> str:
    """Return the newest commit that had completed by a moment, as far as the status shows."""
    timeline, found = view.status.timeline, view.status.table
    if timeline is None or found is None:
        raise NotUnderstood(f"The status of HudiTable {view.name} shows no timeline: name the instant.")
    if found.zone != "UTC":
        raise NotUnderstood(f"The instants of HudiTable {view.name} are in a local time: name the instant.")
    done = [one for one in timeline.instants if one.state == "COMPLETED"]
    before = [one for one in done if (at := _completed(one)) is not None and at <= moment]
    commits = [one for one in before if one.action in _COMMITS]
    if not commits:
        oldest = min((one.time for one in timeline.instants), default="none")
        raise NotUnderstood(
            f"No commit that the status of HudiTable {view.name} shows had completed by {format_time(moment)}; "
            f"the oldest shown instant is {oldest}. Find the commit with `hudi-operator timeline` and name its instant."
        )
    return max(commits, key=lambda one: (_completed(one) or moment, one.time)).time


def _completed(one: InstantStatus) -> datetime | None:
    return instant_time(one.completed_at or one.time)


def record_keys(given: Sequence[str]) -> list[dict[str, str]]:
    """Return the records of `--key`: `id=4711`, `a=1,b=2`, or a JSON object; raises `NotUnderstood`."""
    return [_record_key(one) for one in given]


def _record_key(text: str) -> dict[str, str]:
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise NotUnderstood("A key that begins with { must be a JSON object of texts.") from error
        if isinstance(found, dict) and found and all(isinstance(one, str) for one in found.values()):
            return found
        raise NotUnderstood("A key that begins with { must be a JSON object of texts.")
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name and value for name, _, value in parts) or len({name for name, *_ in parts}) < len(parts):
        raise NotUnderstood("A key is FIELD=VALUE, or FIELD=VALUE,FIELD=VALUE for several fields, each field once.")
    return {name: value for name, _, value in parts}


def suspension(who: str | None, reason: str | None) -> str:
    """Return the value of the annotation that suspends: who, and why."""
    return ": ".join(filter(None, (who or "kubectl hudi", reason)))


def requested_at(now: datetime) -> str:
    """Return a value of the annotation that requests a run; each call gives a new value."""
    return now.astimezone(UTC).isoformat()
