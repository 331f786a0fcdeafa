"""Builds Kubernetes Events as documents, as shown by `kubectl describe`."""

import hashlib
import logging
from datetime import UTC, datetime
from enum import StrEnum

import structlog

from hudi_operator.kube.errors import KubernetesError, NamespaceTerminating, NotFound
from hudi_operator.kube.transport import Document

REPORTING_COMPONENT = "hudi-operator"
_MESSAGE_LIMIT = 1024  # the API server refuses longer events
_NAME_LIMIT = 200

_log = structlog.get_logger(__name__)


class EventType(StrEnum):
    """Whether an event needs attention."""

    NORMAL = "Normal"
    WARNING = "Warning"


def event_manifest(
    about: Document, *, kind: EventType, reason: str, message: str, instance: str, once: bool = False
) -> Document:
    """Return an event of core/v1 about an object; events about cluster-wide objects live in `default`.

    With `once`, the name derives from the object and the reason, so that a second event is refused.
    """
    metadata = about["metadata"]
    namespace = metadata.get("namespace") or "default"
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {**_name(metadata, reason, once=once), "namespace": namespace},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "name": metadata["name"],
            **{key: metadata[key] for key in ("namespace", "uid", "resourceVersion") if metadata.get(key)},
        },
        "type": kind.value,
        "reason": reason,
        "message": message if len(message) <= _MESSAGE_LIMIT else message[: _MESSAGE_LIMIT - 3] + "...",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "source": {"component": REPORTING_COMPONENT},
        "reportingComponent": REPORTING_COMPONENT,
        "reportingInstance": instance,
    }


def _name(metadata: Document, reason: str, *, once: bool) -> Document:
    beginning = f"{metadata['name'][:_NAME_LIMIT]}."
    if not once:
        return {"generateName": beginning}
    digest = hashlib.sha256(f"{metadata.get('uid', '')}\n{reason}".encode()).hexdigest()[:16]
    return {"name": f"{beginning}{digest}"}


def log_lost_event(event: Document, error: KubernetesError) -> None:
    """Log an event that could not be posted, so that it is not lost."""
    # A namespace being deleted accepts no new objects, and has no reader left.
    expected = isinstance(error, NotFound | NamespaceTerminating)
    _log.log(
        logging.DEBUG if expected else logging.WARNING,
        "event not posted",
        namespace=event["metadata"]["namespace"],
        about=event["involvedObject"]["name"],
        reason=event["reason"],
        text=event["message"],
        error=str(error),
    )
