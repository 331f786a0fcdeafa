"""Sends HTTP requests to the Kubernetes API: credentials, JSON, timeouts, typed errors, and the API server's clock.

Times that are compared with each other come from it: when a Job was created or a table deleted, and when a run ended,
which the next process reads from the status. So a wrong or adjusted clock of this machine neither abandons a Job too
early nor delays a run, and two processes agree.

Documents are plain dicts in the API's own camelCase. The client's generated model classes are not used: they drop
unknown fields, and cost memory and time for every object.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, ApiException, Configuration
from kubernetes.aio.client.rest import RESTResponse
from yaml import YAMLError

from hudi_operator.kube.errors import ApiUnavailable, Expired, Rejected, error_from_response

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_TO_THE_SECOND = 1.0


def boot_time() -> float:
    """Return seconds of a clock that is never adjusted and runs on while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


class ApiServerClock:
    """Tells the API server's time; until the first response, this machine's time."""

    def __init__(self, *, wall_time: float | None = None, seconds: float | None = None) -> None:
        self._ahead = (time.time() if wall_time is None else wall_time) - (boot_time() if seconds is None else seconds)
        """The difference between seconds since 1970 and `boot_time`."""

    def now(self) -> datetime:
        """Return the API server's time."""
        return self.at(boot_time())

    def at(self, seconds: float) -> datetime:
        """Return the API server's time at a given value of `boot_time`."""
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=self._ahead + seconds)

    def heard(self, date: str | None, *, sent: float, received: float) -> None:
        """Learn from the `Date` header of a response, written between `sent` and `received` by `boot_time`.

        The header is uncertain by a second and by the duration of the call: the clock moves only if it lies outside
        that range.
        """
        written = _seconds(date)
        if written is not None:
            self._ahead = min(max(self._ahead, written - received), written + _TO_THE_SECOND - sent)


def _seconds(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except (ValueError, OverflowError):
        return None


DEFAULT_TIMEOUT = 10.0
"""Seconds for a call, including connection and body."""

PAGE_SIZE = 500
_LISTING_ATTEMPTS = 3
_SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")

MERGE_PATCH = "application/merge-patch+json"

Document = dict[str, Any]
"""A Kubernetes object or list as JSON."""


async def load_configuration() -> Configuration:
    """Find the API server and the credentials: KUBECONFIG, else the pod's service account, else ~/.kube/config."""
    configuration, _ = await _load(kubeconfig=None, context=None)
    return configuration


async def load_context(*, kubeconfig: str | None, context: str | None) -> tuple[Configuration, str]:
    """Find the API server and the credentials of a context, and its namespace, or else the pod's or `default`.

    `kubeconfig` replaces the variable KUBECONFIG, and `context` the current context of the file.
    """
    configuration, found = await _load(kubeconfig=kubeconfig, context=context)
    if found is None:
        return configuration, (_SERVICE_ACCOUNT_TOKEN.parent / "namespace").read_text().strip()
    return configuration, str(found.get("namespace") or "default")


async def _load(*, kubeconfig: str | None, context: str | None) -> tuple[Configuration, Document | None]:
    """Return the configuration, and the context of the kubeconfig; None in a pod."""
    configuration = Configuration()
    # The session must not take HTTPS_PROXY from the environment: that proxy is meant for external traffic, and kopf
    # ignores it as well. A proxy for the API server is set in the kubeconfig (`proxy-url`).
    configuration.client_session_kwargs = {"trust_env": False}
    kubeconfig = kubeconfig or os.environ.get("KUBECONFIG")
    try:
        if not kubeconfig and not context and _in_pod():
            config.load_incluster_config(client_configuration=configuration)
            return configuration, None
        files = _existing(kubeconfig or _DEFAULT_KUBECONFIG)
        loader = await config.load_kube_config(files, context=context, client_configuration=configuration)
    except (config.ConfigException, OSError) as error:
        raise _no_credentials(str(error)) from error
    except (YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
        # The client reads the file without checking its shape.
        raise _no_credentials(f"{kubeconfig or _DEFAULT_KUBECONFIG} is no kubeconfig: {error}") from error
    if any(field in (loader._user or ()) for field in _IMPERSONATION):  # noqa: SLF001 - the client drops these fields
        raise _no_credentials("the user of the context impersonates another, which is not supported")
    return configuration, loader.current_context["context"]


_DEFAULT_KUBECONFIG = "~/.kube/config"
_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")


def _existing(kubeconfig: str) -> str:
    """Return the files of a list as KUBECONFIG has them that exist; raises `Rejected` without any."""
    files = [file for one in kubeconfig.split(os.pathsep) if one and (file := Path(one).expanduser()).exists()]
    if not files:
        raise _no_credentials(f"there is no file {kubeconfig}")
    return os.pathsep.join(map(str, files))


def _no_credentials(why: str) -> Rejected:
    return Rejected(
        f"no credentials for a Kubernetes API server: {why}; set KUBECONFIG, or run in a pod that has a service account"
    )


def _in_pod() -> bool:
    return _SERVICE_ACCOUNT_TOKEN.is_file()


class Transport:
    """Sends requests over a connection pool; every method raises only `KubernetesError`."""

    def __init__(self, configuration: Configuration, *, timeout_seconds: float = DEFAULT_TIMEOUT) -> None:
        self._client = ApiClient(configuration)
        self._client.user_agent = "hudi-operator"
        self._timeout = timeout_seconds
        self.clock = ApiServerClock()

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Document | None = None,
        content_type: str = "application/json",
    ) -> Document:
        """Send a request and return the response's document."""
        call = f"{method} {path}"
        with _outages(call, self._timeout):
            async with asyncio.timeout(self._timeout):
                total = aiohttp.ClientTimeout(total=self._timeout)
                response = await self._open(method, path, query or {}, body, content_type, limits=total)
                content = await response.read()
        _raise_for_status(call, response, content)
        return _parse(call, content)

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """Yield the content at a path piece by piece, for as long as any comes."""
        call = f"GET {path}"
        with _outages(call, self._timeout):
            async with asyncio.timeout(self._timeout):
                endless = aiohttp.ClientTimeout(sock_connect=self._timeout)
                response = await self._open("GET", path, query, None, "application/json", limits=endless)
                content = await response.read() if response.status >= 400 else b""
            _raise_for_status(call, response, content)
            try:
                async for piece in response.response.content.iter_any():
                    yield piece
            finally:
                response.response.close()  # and with it the connection, which may hold more

    async def read(self, path: str, *, query: Mapping[str, str], most_bytes: int) -> bytes:
        """Return the content at a path as it is, at most the first `most_bytes` of it."""
        content = b""
        with _outages(f"GET {path}", self._timeout):
            async with asyncio.timeout(self._timeout), aclosing(self.stream(path, query=query)) as pieces:
                async for piece in pieces:
                    content += piece
                    if len(content) >= most_bytes:
                        break
        return content[:most_bytes]

    async def list_items(self, path: str, *, label_selector: str | None = None) -> AsyncIterator[Document]:
        """Yield every object of a listing, page by page.

        If the API server drops the listing's state half-way, the listing restarts and objects may appear twice.
        """
        for attempt in range(1, _LISTING_ATTEMPTS + 1):
            try:
                async for item in self._pages(path, label_selector):
                    yield item
            except Expired as error:
                if attempt == _LISTING_ATTEMPTS:
                    raise ApiUnavailable(str(error), status=error.status, reason=error.reason) from error
            else:
                return

    async def _pages(self, path: str, label_selector: str | None) -> AsyncIterator[Document]:
        query = {"limit": str(PAGE_SIZE)}
        if label_selector:
            query["labelSelector"] = label_selector
        while True:
            page = await self.request("GET", path, query=query)
            for item in items_of(page):
                yield item
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            query["continue"] = token

    async def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Document | None,
        content_type: str,
        *,
        limits: aiohttp.ClientTimeout,
    ) -> RESTResponse:
        headers = {"Accept": "application/json", "Content-Type": content_type, "User-Agent": self._client.user_agent}
        # The configuration's hook renews expiring tokens, such as those of service accounts.
        await self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        url = self._client.configuration.host + path + ("?" + urlencode(query) if query else "")
        sent = boot_time()
        response = await self._client.call_api(method, url, header_params=headers, body=body, _request_timeout=limits)
        self.clock.heard(response.headers.get("Date"), sent=sent, received=boot_time())
        return response


def items_of(page: Document) -> Iterator[Document]:
    """Yield the objects of a listing with their apiVersion and kind, which the items of built-in kinds lack."""
    kind = str(page.get("kind", "")).removesuffix("List")
    for item in page.get("items") or ():
        yield {"apiVersion": page.get("apiVersion"), "kind": kind, **item}


@contextmanager
def _outages(call: str, timeout_seconds: float) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise ApiUnavailable(f"{call}: no answer within {timeout_seconds:g} seconds") from error
    except (aiohttp.ClientError, ApiException, OSError) as error:
        raise ApiUnavailable(f"{call}: {type(error).__name__}: {error}") from error


def _raise_for_status(call: str, response: RESTResponse, content: bytes) -> None:
    if response.status >= 400:
        raise error_from_response(call, status=response.status, headers=response.headers, body=content)


def _parse(call: str, content: bytes) -> Document:
    document: Any = None
    with suppress(ValueError):
        document = json.loads(content)
    if not isinstance(document, dict):
        raise Rejected(f"{call}: the answer is not a JSON document")
    return document
