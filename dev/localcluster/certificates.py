"""The cluster's certificate authority, the certificates it signs, and the kubeconfig files."""

import base64
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localcluster.console import output_of
from localcluster.settings import API_PORT, API_SERVICE_ADDRESS, NODE_ADDRESS, NODE_NAME, STATE

DIRECTORY = STATE / "pki"
VALID_DAYS = "3650"

KUBECONFIG_TEMPLATE = """\
apiVersion: v1
kind: Config
current-context: hudi-dev
clusters:
- name: hudi-dev
  cluster:
    server: https://{address}:{port}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: hudi-dev
  context: {{cluster: hudi-dev, user: {user}}}
"""


@dataclass(frozen=True)
class Identity:
    """A client of the API server, or the server itself."""

    name: str
    user: str
    group: str
    addresses: str = f"DNS:{NODE_NAME}"


API_SERVER = Identity(
    name="apiserver",
    user="kube-apiserver",
    group="kubernetes",
    addresses=(
        f"IP:127.0.0.1,IP:{NODE_ADDRESS},IP:{API_SERVICE_ADDRESS},DNS:localhost,DNS:kubernetes,"
        "DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
    ),
)
CLIENTS = (
    Identity(name="admin", user="admin", group="system:masters"),
    Identity(
        name="controller-manager",
        user="system:kube-controller-manager",
        group="system:kube-controller-manager",
    ),
    Identity(name="scheduler", user="system:kube-scheduler", group="system:kube-scheduler"),
    Identity(name="proxy", user="system:kube-proxy", group="system:node-proxier"),
    Identity(
        name="kubelet",
        user=f"system:node:{NODE_NAME}",
        group="system:nodes",
        addresses=f"DNS:{NODE_NAME},IP:{NODE_ADDRESS}",
    ),
)


def path(name: str) -> str:
    """Return the path of a file of the certificate directory."""
    return str(DIRECTORY / name)


def create() -> None:
    """Create all keys, certificates and kubeconfig files unless they exist already."""
    complete = DIRECTORY / "complete"
    if complete.exists():
        return
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    DIRECTORY.chmod(0o700)
    make_key("ca.key")
    output_of(
        ["openssl", "req", "-x509", "-new", "-sha256", "-key", path("ca.key"), "-out", path("ca.crt"),
         "-subj", "/CN=hudi-dev", "-days", VALID_DAYS, "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    )  # fmt: skip
    make_key("service-accounts.key")
    output_of(["openssl", "pkey", "-in", path("service-accounts.key"), "-pubout", "-out", path("service-accounts.pub")])
    sign(API_SERVER)
    for identity in CLIENTS:
        sign(identity)
        write_kubeconfig(identity)
    complete.touch()


def make_key(name: str) -> None:
    """Create a private key on the curve P-256."""
    output_of(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path(name)])


def sign(identity: Identity) -> None:
    """Create a key and a certificate signed by the cluster's authority."""
    make_key(f"{identity.name}.key")
    request = output_of(
        ["openssl", "req", "-new", "-key", path(f"{identity.name}.key"),
         "-subj", f"/O={identity.group}/CN={identity.user}"]
    )  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".cnf") as extensions:
        extensions.write(
            "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
            "extendedKeyUsage=clientAuth,serverAuth\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
            f"subjectAltName={identity.addresses}\n"
        )
        extensions.flush()
        output_of(
            ["openssl", "x509", "-req", "-sha256", "-CA", path("ca.crt"), "-CAkey", path("ca.key"),
             "-CAcreateserial", "-out", path(f"{identity.name}.crt"), "-days", VALID_DAYS,
             "-extfile", extensions.name],
            given=request,
        )  # fmt: skip


def write_kubeconfig(identity: Identity) -> None:
    """Write a kubeconfig that holds the identity's key, readable for its owner only."""
    target = Path(path(f"{identity.name}.conf"))
    target.touch(mode=0o600)
    target.write_text(
        KUBECONFIG_TEMPLATE.format(
            address=NODE_ADDRESS,
            port=API_PORT,
            user=identity.name,
            authority=encoded("ca.crt"),
            certificate=encoded(f"{identity.name}.crt"),
            key=encoded(f"{identity.name}.key"),
        )
    )


def encoded(name: str) -> str:
    """Return a file's content in base64."""
    return base64.b64encode(Path(path(name)).read_bytes()).decode()
