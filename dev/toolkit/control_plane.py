"""A control plane without a node: an API server, its store, the controllers and the scheduler.

A separate control plane leaves the development cluster alone, and its API server counts only the caller's requests.
"""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from ssl import CERT_NONE, create_default_context

import yaml

from localcluster.toolchain import ensure_tools

TOKEN = "control-plane"
LIMITS = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""The controllers' default limits would dominate the measurement: 485 pods a minute."""


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane."""

    url: str
    kubeconfig: Path

    def get(self, path: str) -> str:
        """Return the API server's answer to a GET."""
        context = create_default_context()
        context.check_hostname, context.verify_mode = False, CERT_NONE
        request = urllib.request.Request(f"{self.url}{path}", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return str(answer.read().decode())


@contextmanager
def running(folder: Path, name: str, *command: str, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run a program in a folder, with its log there, until the context or this program ends."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            ("setpriv", "--pdeathsig", "TERM", *command),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def running_control_plane(folder: Path) -> Iterator[ControlPlane]:
    """Start everything in an empty folder, and stop it at the end."""
    with ExitStack() as programs:
        plane = _start_api_server(folder, programs)
        _start_controllers(folder, programs, plane)
        yield plane


def _start_api_server(folder: Path, programs: ExitStack) -> ControlPlane:
    tools = ensure_tools()
    etcd_port, peer_port, port = free_ports(3)
    plane = ControlPlane(f"https://127.0.0.1:{port}", write_kubeconfig(folder, port))
    make_keys(folder)
    etcd, peer = f"http://127.0.0.1:{etcd_port}", f"http://127.0.0.1:{peer_port}"
    store = (
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
    server = (
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
    programs.enter_context(running(folder, "etcd", *store))
    programs.enter_context(running(folder, "kube-apiserver", *server))
    wait_until_ready(plane)
    return plane


def _start_controllers(folder: Path, programs: ExitStack, plane: ControlPlane) -> None:
    tools = ensure_tools()
    manager_port, scheduler_port = free_ports(2)
    common = (
        f"--kubeconfig={plane.kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder}/certificates",
        *LIMITS,
    )
    manager = (
        str(tools / "kube-controller-manager"),
        *common,
        f"--secure-port={manager_port}",
        f"--service-account-private-key-file={folder}/service-accounts.key",
        "--use-service-account-credentials",
        "--controllers=*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller",
    )
    programs.enter_context(running(folder, "kube-controller-manager", *manager))
    scheduler = (str(tools / "kube-scheduler"), *common, f"--secure-port={scheduler_port}")
    programs.enter_context(running(folder, "kube-scheduler", *scheduler))


def write_kubeconfig(folder: Path, port: int) -> Path:
    """Write the credentials of the only user, an administrator."""
    (folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    authority = f"{folder}/certificates/apiserver.crt"  # the API server signs its own
    server = {"server": f"https://127.0.0.1:{port}", "certificate-authority": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "own", "cluster": server}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "admin"}}],
        "current-context": "own",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


def make_keys(folder: Path) -> None:
    """Create the keys that sign service account tokens."""
    private, public = str(folder / "service-accounts.key"), str(folder / "service-accounts.pub")
    subprocess.run(("openssl", "genrsa", "-out", private, "2048"), check=True, capture_output=True)
    subprocess.run(("openssl", "rsa", "-in", private, "-pubout", "-out", public), check=True, capture_output=True)


def wait_until_ready(plane: ControlPlane) -> None:
    """Wait until the API server is ready."""
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
    """Return free ports."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
