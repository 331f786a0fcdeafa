"""Typed errors of calls to the Kubernetes API.

Reads of a missing object return None instead of raising `NotFound`; deleting a missing object succeeds.
"""

import json
from collections.abc import Mapping
from typing import Any

_MESSAGE_LIMIT = 1000
_TERMINATING = "NamespaceTerminating"


class KubernetesError(Exception):
    """A call to the Kubernetes API failed; `status` is the HTTP status, 0 without a response."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message[:_MESSAGE_LIMIT])
        self.status = status
        self.reason = reason


class NotFound(KubernetesError):
    """The object of a write, its namespace or its kind does not exist."""


class NotServed(NotFound):
    """The API server does not serve the kind: its CustomResourceDefinition is missing."""


class Conflict(KubernetesError):
    """The object was changed, or deleted and recreated, since it was read: read and decide again."""


class AlreadyExists(KubernetesError):
    """An object with this name already exists."""


class Forbidden(KubernetesError):
    """The operator may not do this: RBAC, a quota, or a namespace being deleted; see the message."""


class NamespaceTerminating(Forbidden):
    """The namespace is being deleted, so nothing can be created in it."""


class Rejected(KubernetesError):
    """The API server rejects this document or request; a retry would not help."""


class WriteRefused(KubernetesError):
    """This process may not write, because it is not the leader (any more); nothing was sent."""


class Expired(KubernetesError):
    """The API server dropped the state of a paged listing: list again."""


class ApiUnavailable(KubernetesError):
    """The API server gave no usable response: throttled, overloaded, unreachable, too slow, or unauthenticated.

    A write may still have taken effect. `retry_after` is the server's requested delay in seconds, or None.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


def error_from_response(call: str, *, status: int, headers: Mapping[str, str], body: bytes) -> KubernetesError:
    """Return the error for a response with status 400 or more; `call` names the request."""
    document = _status_document(body)
    reason = str(document.get("reason") or "")
    if status == 404 and not document:  # a missing object is told by a document
        return NotServed(f"{call}: the API server does not serve this kind", status=status)
    detail = document.get("message") or body[:300].decode("utf-8", "replace") or f"HTTP {status}"
    message = f"{call}: {detail}"
    # 401 means expired credentials of the operator, and does not judge the request.
    if status in {401, 429} or status >= 500:
        retry_after = _retry_after(headers, document)
        return ApiUnavailable(message, status=status, reason=reason, retry_after=retry_after)
    kind = NamespaceTerminating if status == 403 and _is_terminating(document) else _kind_of(status, reason)
    return kind(message, status=status, reason=reason)


def _is_terminating(document: Mapping[str, Any]) -> bool:
    """Tell whether admission names the end of the namespace as a cause (`NamespaceTerminatingCause` of Kubernetes)."""
    details = document.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    found = causes if isinstance(causes, list) else []
    return any(isinstance(cause, dict) and cause.get("reason") == _TERMINATING for cause in found)


def _kind_of(status: int, reason: str) -> type[KubernetesError]:
    if status == 409:
        return AlreadyExists if reason == "AlreadyExists" else Conflict
    kinds: dict[int, type[KubernetesError]] = {403: Forbidden, 404: NotFound, 410: Expired}
    return kinds.get(status, Rejected)


def _status_document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(headers: Mapping[str, str], document: dict[str, Any]) -> float | None:
    details = document.get("details")
    from_body = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    try:
        return max(0.0, float(headers.get("Retry-After") or from_body or ""))
    except (TypeError, ValueError):
        return None
