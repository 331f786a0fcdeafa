"""Probes the running programs themselves, because the API server's records may be older than a restart."""

import socket
import struct
import time
from collections.abc import Callable

from localcluster.console import succeeds
from localcluster.settings import DNS_ADDRESS, NODE_NAME, DevError
from localcluster.workloads import kubectl

ADDRESS_RECORD, INTERNET = 1, 1
RECURSION_DESIRED = 0x0100
RESPONSE_CODE = 0x000F


def wait_for_kubelet(*, start: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until the kubelet answers through the API server.

    The kubelet exits when the container runtime answers before it is ready; `start` restarts it, like a supervisor.
    """
    question = kubectl("get", "--raw", f"/api/v1/nodes/{NODE_NAME}/proxy/healthz", "--request-timeout=5s")
    deadline = time.monotonic() + seconds
    while not succeeds(question):
        if time.monotonic() > deadline:
            raise DevError("The kubelet does not answer; see kubelet.log and containerd.log.")
        start()
        time.sleep(0.2)


def wait_for_name_service(*, seconds: float = 60.0) -> None:
    """Wait until the API server's name can be looked up at the name service's address."""
    deadline = time.monotonic() + seconds
    while not resolves("kubernetes.default.svc.cluster.local"):
        if time.monotonic() > deadline:
            raise DevError(f"The name service at {DNS_ADDRESS} does not answer; see kube-proxy.log.")
        time.sleep(0.2)


def resolves(name: str) -> bool:
    """Tell whether the cluster's name service resolves a name."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = struct.pack(">6H", 1, RECURSION_DESIRED, 1, 0, 0, 0) + labels + b"\0"
    question += struct.pack(">2H", ADDRESS_RECORD, INTERNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(1.0)
        try:
            client.sendto(question, (DNS_ADDRESS, 53))
            answer = client.recv(512)
        except OSError:
            return False
    flags, answers = int.from_bytes(answer[2:4], "big"), int.from_bytes(answer[6:8], "big")
    return flags & RESPONSE_CODE == 0 and answers > 0
