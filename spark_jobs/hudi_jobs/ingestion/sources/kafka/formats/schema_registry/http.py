"""Sends GET requests to the registry: bounded in time and size, without redirects, by HTTP only."""

import http.client
import ssl
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.sources.kafka import SchemaRegistry
from hudi_jobs.spark.failures import TaskFailed

_CHUNK = 65_536
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_DENIED = frozenset({401, 403})
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"


@dataclass(frozen=True)
class Bounds:
    """Time and attempts for a request, and the size limit of an answer."""

    seconds: float = 15.0
    attempts: int = 3
    pause: float = 0.5
    answer: int = 4 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """A response of the registry."""

    status: int
    body: bytes


class Endpoint:
    """The registry as a server."""

    def __init__(self, registry: SchemaRegistry, bounds: Bounds, pause: Callable[[float], None] = time.sleep) -> None:
        self._url = required_url(registry.url)
        self._headers = {"Accept": _ACCEPT, **_credentials(registry.credentials_folder)}
        self._opener = _opener(self._url, registry.ca_file)
        self._bounds = bounds
        self._pause = pause

    @property
    def url(self) -> str:
        """The registry's address, for messages."""
        return self._url

    def get(self, path: str) -> Answer:
        """Return the response of a working server; raise `TaskFailed` otherwise."""
        said = ""
        for attempt in range(self._bounds.attempts):
            if attempt:
                self._pause(self._bounds.pause * 2 ** (attempt - 1))
            try:
                answer = self._once(path)
            except (OSError, http.client.HTTPException) as error:
                said = _said(error)
                continue
            if answer.status in _DENIED:
                raise self._denied(answer.status)
            if answer.status not in _AGAIN:
                return answer
            said = f"it answers with the status {answer.status}"
        raise self.unavailable(said)

    def unavailable(self, said: str) -> TaskFailed:
        """Return the failure for a misbehaving registry."""
        return TaskFailed(
            FailureReason.SOURCE_UNAVAILABLE,
            f"The schema registry {self._url} cannot be used: {said}; check its url, and that it runs.",
        )

    def _denied(self, status: int) -> TaskFailed:
        return TaskFailed(
            FailureReason.SOURCE_ACCESS_DENIED,
            f"The schema registry {self._url} refuses the job with the status {status}; check the credentials and "
            "their permissions.",
        )

    def _once(self, path: str) -> Answer:
        until = time.monotonic() + self._bounds.seconds
        request = urllib.request.Request(f"{self._url}{path}", headers=self._headers)  # noqa: S310 - see required_url
        with self._opener.open(request, timeout=self._bounds.seconds) as response:
            if 300 <= response.status < 400:
                raise self.unavailable("it redirects to another address, which is not followed")
            return Answer(response.status, self._body(response, until))

    def _body(self, response: http.client.HTTPResponse, until: float) -> bytes:
        body = bytearray()
        while chunk := response.read1(_CHUNK):
            body += chunk
            if len(body) > self._bounds.answer:
                raise self.unavailable(f"an answer has more than {self._bounds.answer:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError
        return bytes(body)


def required_url(url: str) -> str:
    """Return a registry's address without a trailing slash; raise `TaskFailed` if it is not HTTP."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    plain = usable and not (parts.username or parts.password or parts.query or parts.fragment)
    if not plain or any(not "!" <= each <= "~" for each in url):
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The url of the schema registry, {url[:200]!a}, does not have the form http(s)://host[:port][/path]; put "
            "credentials into a Secret.",
        )
    return url.rstrip("/")


def _opener(url: str, ca_file: str | None) -> urllib.request.OpenerDirector:
    """Return an opener for the address's http or https only: no files, redirects or proxies."""
    opener = urllib.request.OpenerDirector()
    opener.add_handler(_handler(url, ca_file))
    return opener


def _handler(url: str, ca_file: str | None) -> urllib.request.BaseHandler:
    if urlsplit(url).scheme == "http":
        # Reading the machine's certificates takes a tenth of a second per batch.
        return urllib.request.HTTPHandler()
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST, f"The certificates {ca_file} of the schema registry cannot be read: {error}"
        ) from error
    return urllib.request.HTTPSHandler(context=context)


def _credentials(folder: str | None) -> dict[str, str]:
    if folder is None:
        return {}
    username, password = (_secret(Path(folder, name)) for name in ("username", "password"))
    return {"Authorization": "Basic " + b64encode(f"{username}:{password}".encode()).decode()}


def _secret(path: Path) -> str:
    try:
        return path.read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The Secret of the schema registry has no readable {path.name}; it needs username and password.",
        ) from error


def _said(error: Exception) -> str:
    """Return a short description of an error, without server-controlled text."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({reason.verify_message})"
    if isinstance(reason, TimeoutError):
        return "it does not answer in time"
    if isinstance(reason, OSError):
        return reason.strerror or type(reason).__name__
    return f"it does not speak HTTP ({type(reason).__name__})"
