"""The directories and addresses of the local cluster."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

KUBERNETES_VERSION = "1.34.4"

NODE_NAME = "hudi-dev"
BRIDGE = "hudi0"
NODE_ADDRESS = "10.231.0.1"
POD_SUBNET = "10.231.0.0/16"
FIRST_POD_ADDRESS = "10.231.1.1"
SERVICE_SUBNET = "10.232.0.0/16"
API_SERVICE_ADDRESS = "10.232.0.1"
DNS_ADDRESS = "10.232.0.10"
API_PORT = 6443
S3_NODE_PORT = 30900
CGROUP = "hudi-operator-dev"


SOURCE = Path(__file__).resolve().parent.parent
CHECKOUT = SOURCE.parent
STATE = CHECKOUT / ".dev"
RUN = Path("/run/hudi-operator-dev")

KIND = os.environ.get("CLUSTER") == "kind"
"""Whether kind runs the cluster: docker builds the images, and `kind load` loads them into the nodes."""

CURRENT = KIND or os.environ.get("CLUSTER") == "current"
"""Whether KUBECONFIG names the cluster; it is never started, emptied or stopped here."""


class DevError(Exception):
    """An error that a person must fix; the message says what and how."""


def cache_directory() -> Path:
    """Return the directory shared by checkouts: built tools, images, downloads."""
    if chosen := os.environ.get("HUDI_OPERATOR_CACHE"):
        return Path(chosen).resolve()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).resolve() / "hudi-operator"


CACHE = cache_directory()
LOGS = STATE / "logs"
KUBECONFIG = STATE / "kubeconfig"
REGISTRIES = STATE / "registries"
"""The folder with a subfolder for each registry that has its own certificate authority, as containerd wants it."""
CONTAINERD_SOCKET = RUN / "containerd.sock"


@dataclass(frozen=True)
class S3Account:
    """The S3 server's only account; it guards only throw-away data on this machine."""

    access_key: str = "hudi-dev"
    secret_key: str = "hudi-dev-secret"
    region: str = "us-east-1"


S3_ACCOUNT = S3Account()


def tools_digest() -> str:
    """Return a short digest of everything that the cluster's programs are built from."""
    return digest_of_folder("tools")


def digest_of_folder(name: str) -> str:
    """Return a short digest of a folder of Go modules and of the Kubernetes version."""
    digest = hashlib.sha256(KUBERNETES_VERSION.encode())
    for path in sorted((SOURCE / name).rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(SOURCE)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def programs_of(folder: str) -> Path:
    """Return the directory of the programs of a folder of Go modules, whether or not they are built."""
    return CACHE / "tools" / f"{folder}-{digest_of_folder(folder)}"


def tools_directory() -> Path:
    """Return the directory of the built programs."""
    return CACHE / "tools" / f"kubernetes-{KUBERNETES_VERSION}-{tools_digest()}"


def tool_image(name: str) -> str:
    """Return the name of the image of one built program."""
    return f"hudi-operator.io/dev/{name}:{tools_digest()}"


def tool(name: str) -> str:
    """Return the path of one built program."""
    return str(tools_directory() / name)
