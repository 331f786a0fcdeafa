"""Writes an instant or an ended run as one line of text, so that a status stays short, and reads it back."""

from collections.abc import Iterable, Mapping
from typing import Any

from hudi_jobs.contract import Service

_INSTANT = ("time", "action", "state", "completedAt")
_RUN = ("job", "service", "outcome", "reason", "instant", "startedAt", "finishedAt", "undoneBy")
_LONGEST = 400

INSTANT_PATTERN = r"^\S+ \S+ \S+( \S+)?$"


def instant_line(instant: Mapping[str, str]) -> str:
    """Return `TIME ACTION STATE`, and the completion time where the timeline records one."""
    return " ".join(instant[name] for name in _INSTANT if name in instant)


def instant_of(line: str) -> dict[str, str]:
    """Return the fields of an instant's line; raise ValueError for any other text."""
    return _fields(line, " ", _INSTANT, required=3)


def run_line(run: Mapping[str, str]) -> str:
    """Return the fields of a run between slashes, which neither names nor instants hold; the end may be absent."""
    return "/".join(str(run.get(name, "")) for name in _RUN).rstrip("/")


def run_of(line: str) -> dict[str, str]:
    """Return the fields of a run's line; raise ValueError for any other text."""
    return _fields(line, "/", _RUN, required=3)


def with_lines(document: dict[str, Any]) -> dict[str, Any]:
    """Return a table's status with one line for each instant of its timeline and for each run of its history.

    A deletion reads why its last attempts failed, so runs of deletions stay objects.
    """
    parts: dict[str, Any] = {}
    if "timeline" in document:
        parts["timeline"] = {name: _as_lines(name, value) for name, value in document["timeline"].items()}
    if "history" in document:
        parts["history"] = [
            run if run.get("service") == Service.DELETION else run_line(run) for run in document["history"]
        ]
    return document | parts


def _as_lines(name: str, value: Any) -> Any:  # noqa: ANN401 - any part of a timeline's status
    match name:
        case "latestCompleted":
            return instant_line(value)
        case "instants" | "pending":
            return [instant_line(one) for one in value]
        case _:
            return value


def _fields(line: str, separator: str, names: Iterable[str], *, required: int) -> dict[str, str]:
    values, known = line[:_LONGEST].split(separator), tuple(names)
    if len(line) > _LONGEST or not required <= len(values) <= len(known):
        raise ValueError(f"{line[:80]!a} is no line of {', '.join(known)}")
    return {name: value for name, value in zip(known, values, strict=False) if value}
