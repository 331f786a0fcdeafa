"""An API server, its store, the Job controller and the scheduler, for one measurement and no longer.

A cluster of its own leaves the development cluster alone, and its API server counts nobody else's requests.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from ssl import CERT_NONE, create_default_context

import yaml

from localcluster.kwok import ensure_kwok
from localcluster.toolchain import ensure_tools

TOKEN = "scale-benchmark"
LIMITS = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""With their default limits the controllers would be what is measured: 485 pods a minute."""


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane."""

    url: str
    kubeconfig: Path

    def get(self, path: str) -> str:
        """Return what the API server answers to a GET."""
        context = create_default_context()
        context.check_hostname, context.verify_mode = False, CERT_NONE
        request = urllib.request.Request(f"{self.url}{path}", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return str(answer.read().decode())


@contextmanager
def running_s3(folder: Path) -> Iterator[str]:
    """Serve the folders in a folder as buckets; the account is in the environment, for the operator to take."""
    port = free_ports(1)[0]
    (folder / "attributes").mkdir()
    (folder / "buckets").mkdir(exist_ok=True)
    os.environ |= {"AWS_ACCESS_KEY_ID": TOKEN, "AWS_SECRET_ACCESS_KEY": TOKEN}
    command = (
        str(ensure_tools() / "s3server"),
        f"-port=127.0.0.1:{port}",
        f"-data={folder}/buckets",
        f"-attributes={folder}/attributes",
    )
    environment = os.environ | {"ROOT_ACCESS_KEY": TOKEN, "ROOT_SECRET_KEY": TOKEN}
    with (folder / "s3server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def running_control_plane(folder: Path, *, kwok_stages: Path) -> Iterator[ControlPlane]:
    """Start everything in an empty folder, and stop it at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *command: str) -> None:
        with (folder / f"{name}.log").open("wb") as log:
            started.append(subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    try:
        plane = _start_api_server(folder, start)
        _start_controllers(folder, start, plane)
        start(
            "kwok",
            str(ensure_kwok()),
            f"--kubeconfig={plane.kubeconfig}",
            f"--config={kwok_stages}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
            "--cidr=10.10.0.0/16",
        )
        yield plane
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _start_api_server(folder: Path, start: Callable[..., None]) -> ControlPlane:
    tools = ensure_tools()
    etcd_port, peer_port, port = free_ports(3)
    plane = ControlPlane(f"https://127.0.0.1:{port}", write_kubeconfig(folder, port))
    make_keys(folder)
    etcd, peer = f"http://127.0.0.1:{etcd_port}", f"http://127.0.0.1:{peer_port}"
    start(
        "etcd",
        str(tools / "etcd"),
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={etcd}",
        f"--advertise-client-urls={etcd}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    )
    start(
        "kube-apiserver",
        str(tools / "kube-apiserver"),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder}/certificates",
        f"--token-auth-file={folder}/tokens.csv",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={folder}/service-accounts.pub",
        f"--service-account-signing-key-file={folder}/service-accounts.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.233.0.0/16",
        "--shutdown-delay-duration=0s",
    )
    wait_until_ready(plane)
    return plane


def _start_controllers(folder: Path, start: Callable[..., None], plane: ControlPlane) -> None:
    tools = ensure_tools()
    manager_port, scheduler_port = free_ports(2)
    common = (f"--kubeconfig={plane.kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1", *LIMITS)
    start(
        "kube-controller-manager",
        str(tools / "kube-controller-manager"),
        *common,
        f"--secure-port={manager_port}",
        f"--cert-dir={folder}/certificates",
        f"--service-account-private-key-file={folder}/service-accounts.key",
        "--use-service-account-credentials",
        "--controllers=*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller",
    )
    start(
        "kube-scheduler",
        str(tools / "kube-scheduler"),
        *common,
        f"--secure-port={scheduler_port}",
        f"--cert-dir={folder}/certificates",
    )


def write_kubeconfig(folder: Path, port: int) -> Path:
    """Write the credentials of the only user, who may do everything."""
    (folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "scale", "cluster": {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}}
        ],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "scale", "context": {"cluster": "scale", "user": "admin"}}],
        "current-context": "scale",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


def make_keys(folder: Path) -> None:
    """Make the keys that sign the tokens of service accounts."""
    private, public = str(folder / "service-accounts.key"), str(folder / "service-accounts.pub")
    subprocess.run(("openssl", "genrsa", "-out", private, "2048"), check=True, capture_output=True)
    subprocess.run(("openssl", "rsa", "-in", private, "-pubout", "-out", public), check=True, capture_output=True)


def wait_until_ready(plane: ControlPlane) -> None:
    """Wait until the API server answers that it is ready."""
    deadline = time.monotonic() + 120
    while True:
        try:
            plane.get("/readyz")
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)
        else:
            return


def free_ports(count: int) -> Sequence[int]:
    """Return ports that nobody listens on."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
