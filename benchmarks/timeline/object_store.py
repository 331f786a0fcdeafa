"""An S3 server for the benchmark, with a log to count its requests."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import obstore
from make_fixtures import cache
from obstore.store import S3Store

from hudi_operator.storage import S3Options


@dataclass(frozen=True)
class ObjectStore:
    """A running server, a bucket, and the log."""

    options: S3Options
    bucket: str
    log: Path

    def requests(self) -> int:
        """Return the number of answered requests."""
        time.sleep(0.05)  # the log is written after the answer
        with self.log.open(errors="replace") as lines:
            return sum(1 for line in lines if "HTTP/1" in line or "s3_" in line)

    def upload(self, files: dict[str, bytes], prefix: str) -> str:
        """Put files below a prefix and return its URL."""
        store = S3Store(
            self.bucket,
            endpoint=self.options.endpoint,
            access_key_id=self.options.access_key,
            secret_access_key=self.options.secret_key,
            region="us-east-1",
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
        )
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda item: obstore.put(store, f"{prefix}/{item[0]}", item[1]), files.items()))
        return f"s3a://{self.bucket}/{prefix}"


@contextmanager
def running_store(work: Path) -> Iterator[ObjectStore]:
    """Start versitygw if this machine has built it, else moto's server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = work / "requests.log"
    log.touch()
    gateways = sorted((cache() / "tools").glob("*/versitygw"))
    options = S3Options(endpoint=f"http://127.0.0.1:{port}", access_key="bench", secret_key="benchbench")
    if gateways:
        data = work / "gateway"
        (data / "root" / "bench").mkdir(parents=True)
        (data / "side").mkdir()
        command = [gateways[-1], "-q", "-a", "bench", "-s", "benchbench", "--port", f"127.0.0.1:{port}"]
        command += ["--access-log", log, "posix", "--sidecar", data / "side", data / "root"]
    else:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (work / "server.log").open("w") if gateways else log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            _wait_for(port, process)
            if not gateways:
                subprocess.run(["curl", "-sf", "-X", "PUT", f"{options.endpoint}/bench"], check=True)
            print(f"S3 server: {'versitygw' if gateways else 'moto'}", file=sys.stderr)
            yield ObjectStore(options, "bench", log)
        finally:
            process.terminate()
            process.wait(timeout=10)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"the S3 server ended with exit code {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the S3 server did not start within 30 seconds")
