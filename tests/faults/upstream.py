"""The real API server as plain HTTP, for what the operator's own client never does: watches, and requests passed on."""

from __future__ import annotations

import ssl

import aiohttp
from kubernetes.aio.client import Configuration


def open_session(configuration: Configuration) -> aiohttp.ClientSession:
    """Return a session with the credentials of a configuration; paths are relative to the API server."""
    token = configuration.api_key.get("BearerToken")
    return aiohttp.ClientSession(
        configuration.host,
        connector=aiohttp.TCPConnector(limit=0, ssl=_ssl_context(configuration)),
        headers={"Authorization": str(token)} if token else None,
        timeout=aiohttp.ClientTimeout(total=None, connect=30),
    )


def _ssl_context(configuration: Configuration) -> ssl.SSLContext | bool:
    if not configuration.host.startswith("https"):
        return True
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context
