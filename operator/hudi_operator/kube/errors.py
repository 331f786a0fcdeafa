"""What can go wrong with a call to the Kubernetes API, as types to tell apart.

Reads of one object answer None instead of raising `NotFound`; deletions of what is gone already are a success.
"""

import json
from collections.abc import Mapping
from typing import Any

_MESSAGE_LIMIT = 1000


class KubernetesError(Exception):
    """A call to the Kubernetes API failed; `status` is the HTTP status, 0 where no answer came."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message[:_MESSAGE_LIMIT])
        self.status = status
        self.reason = reason


class NotFound(KubernetesError):
    """The object of a write does not exist, or its namespace or kind does not."""


class Conflict(KubernetesError):
    """The object was changed, or deleted and made again, since it was read: read it again and decide again."""


class AlreadyExists(KubernetesError):
    """An object of this name exists."""


class Forbidden(KubernetesError):
    """The operator may not do this: RBAC, a quota, or a namespace that is being deleted; the message says which."""


class Rejected(KubernetesError):
    """The API server refuses this document or request; sending it again changes nothing."""


class WriteRefused(KubernetesError):
    """This process may not write, because it does not lead (any more); nothing was sent."""


class Expired(KubernetesError):
    """A paged listing took so long that the API server no longer holds its state: list again."""


class ApiUnavailable(KubernetesError):
    """The API server gave no usable answer: throttled, overloaded, unreachable, too slow, or not knowing the operator.

    A write may still have taken effect. `retry_after` is what the server asked for in seconds, or None.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


def error_from_response(call: str, *, status: int, headers: Mapping[str, str], body: bytes) -> KubernetesError:
    """Return the error that an answer with a status of 400 or more stands for; `call` names the request."""
    document = _status_document(body)
    reason = str(document.get("reason") or "")
    detail = document.get("message") or body[:300].decode("utf-8", "replace") or f"HTTP {status}"
    message = f"{call}: {detail}"
    # 401 says that the operator's credentials have run out, and nothing about the request.
    if status in {401, 429} or status >= 500:
        retry_after = _retry_after(headers, document)
        return ApiUnavailable(message, status=status, reason=reason, retry_after=retry_after)
    kind = _kind_of(status, reason)
    return kind(message, status=status, reason=reason)


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
