"""The programs in the cluster, name service and S3 server, and requests to the API server."""

import json
import shutil
import string
import time
from pathlib import Path

from localcluster.console import output_of, say, succeeds
from localcluster.settings import (
    DNS_ADDRESS,
    KUBECONFIG,
    NODE_NAME,
    S3_ACCOUNT,
    S3_NODE_PORT,
    SOURCE,
    DevError,
    tool,
    tool_image,
)

DEPLOYMENTS = (("kube-system", "coredns"), ("storage", "s3"))


def kubectl(*arguments: str) -> list[str]:
    """Return a kubectl command for the chosen cluster."""
    built = tool("kubectl")
    program = built if Path(built).exists() else shutil.which("kubectl")
    if not program:
        raise DevError("There is no kubectl. Install it, or run `dev/cluster tools` to build it.")
    return [program, "--kubeconfig", str(KUBECONFIG), *arguments]


def manifest(name: str, *, s3_image: str) -> str:
    """Return a manifest with this cluster's addresses and images."""
    values = {
        "COREDNS_IMAGE": tool_image("coredns"),
        "S3_IMAGE": s3_image,
        "DNS_ADDRESS": DNS_ADDRESS,
        "S3_ACCESS_KEY": S3_ACCOUNT.access_key,
        "S3_SECRET_KEY": S3_ACCOUNT.secret_key,
        "S3_REGION": S3_ACCOUNT.region,
        "S3_NODE_PORT": str(S3_NODE_PORT),
    }
    return string.Template((SOURCE / "manifests" / name).read_text()).substitute(values)


def wait_for_api(*, seconds: float = 90.0) -> None:
    """Wait until the API server is ready to serve."""
    deadline = time.monotonic() + seconds
    while not succeeds(kubectl("get", "--raw", "/readyz", "--request-timeout=5s")):
        if time.monotonic() > deadline:
            raise DevError("The API server does not become ready; see kube-apiserver.log and etcd.log.")
        time.sleep(0.2)


def apply(*names: str, s3_image: str) -> None:
    """Create or update the objects of the manifests."""
    for name in names:
        output_of(
            kubectl("apply", "--server-side", "--force-conflicts", "-f", "-"), given=manifest(name, s3_image=s3_image)
        )


def wait_for_node(*, seconds: int = 90) -> None:
    """Wait until the node accepts pods."""
    deadline = time.monotonic() + seconds
    wait = kubectl("wait", "--for=condition=Ready", f"node/{NODE_NAME}", "--timeout=5s")
    while not succeeds(wait):
        if time.monotonic() > deadline:
            raise DevError("The node does not become ready; see kubelet.log and containerd.log.")
        time.sleep(0.2)


def wait_for_deployments(*deployments: tuple[str, str], seconds: int = 120) -> None:
    """Wait until every pod of the Deployments is ready."""
    for namespace, name in deployments:
        say(f"waiting for {namespace}/{name}")
        command = kubectl("rollout", "status", f"deployment/{name}", "-n", namespace, f"--timeout={seconds}s")
        if not succeeds(command, timeout=seconds + 10):
            pods = output_of(kubectl("describe", "pods", "-n", namespace))
            events = pods[pods.rfind("Events:") :].strip()
            raise DevError(f"The Deployment {namespace}/{name} does not become available. {events}")


def healthy() -> bool:
    """Tell whether the API server answers, the node is ready, and the in-cluster programs serve."""
    question = kubectl("get", "deployments,nodes", "-A", "-o", "json", "--request-timeout=5s")
    try:
        items = json.loads(output_of(question, timeout=10))["items"]
    except DevError:
        return False
    ready = {
        (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        for item in items
        if any(
            condition["type"] in {"Ready", "Available"} and condition["status"] == "True"
            for condition in item["status"].get("conditions", [])
        )
    }
    wanted = {("Deployment", namespace, name) for namespace, name in DEPLOYMENTS}
    return wanted | {("Node", None, NODE_NAME)} <= ready


def s3_endpoint() -> str:
    """Return the S3 server's URL for programs on this machine."""
    template = '{range .items[0].status.addresses[?(@.type=="InternalIP")]}{.address}{end}'
    address = output_of(kubectl("get", "nodes", "-o", f"jsonpath={template}")).split()[0]
    return f"http://{address}:{S3_NODE_PORT}"
