"""Options for reaching an S3-compatible store."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class S3Options:
    """Endpoint, credentials and timeouts of an S3-compatible store.

    Without keys, the usual AWS sources are used (environment, shared files, web identity token, instance role). Times
    are seconds. Keys are left out of the representation, so no log can hold them.
    """

    endpoint: str | None = None
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    anonymous: bool = False
    virtual_hosted: bool = False
    connect_timeout: float = 5.0
    request_timeout: float = 20.0
    max_attempts: int = 3
