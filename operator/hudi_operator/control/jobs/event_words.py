"""Reads from the Events about a Job or pod what it waits for."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from hudi_operator.kube.objects import Document, text
from hudi_operator.planning.model.times import parse_time

NOT_ALLOWED = "The operator may not read the Events that say why."

Words = Mapping[str, str]
"""The newest Warning about an object by its uid; empty where nothing was said, `NOT_ALLOWED` without the right."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_COMBINED = "(combined from similar events): "
_STATE_AGAIN = re.compile(r"Error: \w+")
_PULLING = re.compile(r'(?:Failed to pull|Back-off pulling) image "[^"]*"(?:: (?:ErrImagePull: )?)?')


def newest_words(events: Iterable[Document], *, since: datetime | None = None) -> str:
    """Return the message of the newest Event that says a cause, of those last seen at `since` or later."""
    said = [
        (moment, words)
        for event in events
        if (words := _words_of(event)) and ((moment := _seen_at(event)) is None or since is None or moment >= since)
    ]
    return max(said, key=lambda one: (one[0] is not None, one[0] or _LONG_AGO), default=(None, ""))[1]


def _words_of(event: Document) -> str:
    """Return the cause in the message of an Event; empty for the kubelet's repetition of a container's state."""
    said = (text(event, "message") or "").removeprefix(_COMBINED)
    return "" if _STATE_AGAIN.fullmatch(said) else cause_of_pull(said)


def _seen_at(event: Document) -> datetime | None:
    """Return when an Event was last seen; Events of the scheduler say so in `series`."""
    moments = (
        parse_time(text(event, "series", "lastObservedTime")),
        *(parse_time(text(event, name)) for name in ("lastTimestamp", "eventTime", "firstTimestamp")),
        parse_time(text(event, "metadata", "creationTimestamp")),
    )
    return max((moment for moment in moments if moment is not None), default=None)


def cause_of_pull(said: str) -> str:
    """Return the answer of the registry without the kubelet's words before it, which change with each attempt."""
    found = _PULLING.match(said)
    return said[found.end() :] if found else said
