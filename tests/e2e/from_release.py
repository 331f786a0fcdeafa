"""A registry, the files of a release, and a shell that types what a page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.docs.pages import blocks

from localcluster import toolchain
from localcluster.settings import NODE_ADDRESS, REGISTRIES
from toolkit.cluster import ROOT, Cluster

HOST = f"{NODE_ADDRESS}:27504"
"""The registry listens on the node's bridge, which nothing outside of the machine reaches."""


@contextmanager
def running_registry(folder: Path) -> Iterator[Path]:
    """Serve a registry with a certificate that the node trusts; yield the file of the certificate."""
    certificate, key = make_certificate(folder)
    trust = REGISTRIES / HOST / "hosts.toml"
    trust.parent.mkdir(parents=True, exist_ok=True)
    trust.write_text(f'server = "https://{HOST}"\n[host."https://{HOST}"]\n  ca = "{certificate}"\n')
    program = toolchain.ensure_registry()
    with (folder / "registry.log").open("w") as log:
        server = subprocess.Popen((program, HOST, folder / "stored", certificate, key), stdout=log, stderr=log)
        try:
            wait_until_it_listens(server, folder / "registry.log")
            yield certificate
        finally:
            server.terminate()
            server.wait()
            trust.unlink()


def wait_until_it_listens(server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 30
    while subprocess.run(("curl", "-ksf", f"https://{HOST}/v2/"), capture_output=True, check=False).returncode:
        assert server.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate of the registry's address that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry of the tests")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(NODE_ADDRESS))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "registry.crt", folder / "registry.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return files


def write_release(folder: Path) -> None:
    """Have `make release` write its files."""
    command = (sys.executable, "-m", "release", "--folder", str(folder))
    subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": "dev"}, check=True, timeout=1500)


@dataclass
class Shell:
    """Types the commands of pages in a folder that holds a release and nothing else."""

    folder: Path
    certificate: Path
    cluster: Cluster
    values: dict[str, str] = field(default_factory=dict)
    """What the pages tell a reader to replace, with the values of this cluster."""

    def page(self, page: str, heading: str = "") -> str:
        """Type all commands of a page, or of one of its sections, and return the output."""
        return self.run("\n".join(self.replaced(one) for one in commands(page, heading)))

    def save(self, page: str, first_line: str, name: str) -> None:
        """Save the YAML of a page that contains a line."""
        (text,) = [block.text for block in blocks(page, "yaml") if first_line in block.text.splitlines()]
        (self.folder / name).write_text(self.replaced(text))

    def replaced(self, text: str) -> str:
        for shown, value in self.values.items():
            text = text.replace(shown, value)
        return text

    def run(self, script: str) -> str:
        """Run a script and return its output; the first command that fails fails the test with all output."""
        done = subprocess.run(
            ("bash", "-euxo", "pipefail", "-c", script),
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def environment(self) -> dict[str, str]:
        """The variables of a fresh machine with kubectl and helm; the checkout is not among them."""
        home = self.folder.parent / "home"
        (home / "bin").mkdir(parents=True, exist_ok=True)
        python = Path(sys.base_prefix) / "bin"
        paths = (home / "bin", self.cluster.tools, python, "/usr/local/bin", "/usr/bin", "/bin")
        return {
            "HOME": str(home),
            "PATH": ":".join(str(path) for path in paths if path),
            "KUBECONFIG": self.cluster.kubeconfig,
            "SSL_CERT_FILE": str(self.certificate),
            "REGISTRY": HOST,
        }


def commands(page: str, heading: str) -> list[str]:
    """Return the commands of a page or a section, with the lines that continue them."""
    found: list[str] = []
    for block in blocks(page, "console", text=section(page, heading) if heading else None):
        for line in block.text.splitlines():
            if line.startswith("$ "):
                found.append(line[2:])
            elif found and found[-1].endswith("\\"):
                found[-1] += f"\n{line}"
    assert found, f"{page} has no command below {heading}"
    return found


def section(page: str, heading: str) -> str:
    """Return the text below a heading of a page, up to the next heading."""
    text = (ROOT / "docs" / page).read_text()
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no heading {heading}"
    return found[1]
