"""A kubelet that has the logs of a fake node's pods and nothing else; the API server fetches them from it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass
class Kubelet:
    """The logs by the names of their pods, and the port at which they are served."""

    port: int
    logs: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def serving_logs(folder: Path) -> AsyncIterator[Kubelet]:
    """Serve logs on this machine with a certificate of its own, which an API server without a CA for kubelets takes."""
    kubelet = Kubelet(port=0)

    async def answer(request: web.Request) -> web.Response:
        found = kubelet.logs.get(request.match_info["pod"])
        return web.Response(text=found) if found is not None else web.Response(status=404)

    application = web.Application()
    application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_context(folder)).start()
        kubelet.port = runner.addresses[0][1]
        yield kubelet
    finally:
        await runner.cleanup()


def _context(folder: Path) -> ssl.SSLContext:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("kubelet")]), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = folder / "kubelet.pem"
    file.write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()) + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
