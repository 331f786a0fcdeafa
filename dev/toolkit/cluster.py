"""Access to the cluster for programs on this machine."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from kubernetes.config import new_client_from_config
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError, NotFoundError
from urllib3.exceptions import HTTPError

from localcluster.settings import CURRENT

ROOT = Path(__file__).resolve().parents[2]
OPERATOR_NAMESPACE = "hudi-operator"
OPERATOR_SECRET = "object-store"
S3_IN_CLUSTER = "http://s3.storage.svc:9000"

PATHS = {
    "hudisavepoints": "apis/hudi-operator.io/v1beta1",
    "hudioperations": "apis/hudi-operator.io/v1beta1",
    "huditables": "apis/hudi-operator.io/v1beta1",
    "jobs": "apis/batch/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "namespaces": "api/v1",
    "pods": "api/v1",
}
"""The readable kinds, with their paths in the API server."""

Document = dict[str, Any]


class CommandFailed(Exception):
    """A program failed; the message holds its output."""


@dataclass(frozen=True)
class S3Access:
    """The address and account of the S3 server for this machine."""

    endpoint: str
    access_key: str
    secret_key: str
    region: str


class Cluster:
    """Runs kubectl and helm on the local cluster, or on the current one with CLUSTER=current."""

    @cached_property
    def tools(self) -> Path | None:
        """Folder of kubectl and helm; None to use those on the PATH."""
        if CURRENT:
            return None
        return Path(run(("dev/cluster", "tools")).strip().splitlines()[-1])

    @cached_property
    def kubeconfig(self) -> str:
        """The kubeconfig in use."""
        if CURRENT:
            return os.environ.get("KUBECONFIG", str(Path.home() / ".kube" / "config"))
        return str(ROOT / ".dev" / "kubeconfig")

    @cached_property
    def s3(self) -> S3Access:
        """Address and account of the S3 server."""
        lines = run(("dev/s3-endpoint", "--env")).splitlines()
        values = dict(line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export "))
        return S3Access(
            endpoint=values["AWS_ENDPOINT_URL"],
            access_key=values["AWS_ACCESS_KEY_ID"],
            secret_key=values["AWS_SECRET_ACCESS_KEY"],
            region=values["AWS_REGION"],
        )

    def kubectl(self, *arguments: str, given: str | None = None, timeout: float = 120) -> str:
        """Run kubectl and return its output."""
        return run((self._program("kubectl"), *arguments), given=given, kubeconfig=self.kubeconfig, timeout=timeout)

    def helm(self, *arguments: str, given: str | None = None, timeout: float = 300) -> str:
        """Run helm and return its output."""
        return run((self._program("helm"), *arguments), given=given, kubeconfig=self.kubeconfig, timeout=timeout)

    def apply(self, *documents: Document | str | Path) -> None:
        """Apply manifests: documents, YAML text or files."""
        text = "\n---\n".join(_as_yaml(document) for document in documents)
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=text)

    def get(self, kind: str, name: str, *, namespace: str | None = None) -> Document | None:
        """Return an object, or None when it does not exist; the kind is a key of `PATHS`."""
        return self._read(kind, name, namespace=namespace)

    def items(self, kind: str, *, namespace: str, selector: str = "") -> list[Document]:
        """Return the objects of a kind, a key of `PATHS`, in a namespace."""
        found = self._read(kind, namespace=namespace, selector=selector)
        return list(found["items"]) if found else []

    def make_tenant(self, namespace: str) -> None:
        """Create a namespace with the restricted Pod Security Standard and the store's credentials."""
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
            },
            self.credentials(namespace),
        )

    def credentials(self, namespace: str, *, secret_key: str | None = None) -> Document:
        """Return the Secret with the store's credentials."""
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": OPERATOR_SECRET, "namespace": namespace},
            "stringData": {
                "AWS_ACCESS_KEY_ID": self.s3.access_key,
                "AWS_SECRET_ACCESS_KEY": secret_key or self.s3.secret_key,
            },
        }

    def install_operator(self, *, values: Document | None = None) -> None:
        """Install or upgrade the chart with the images that dev/images has built, and wait until it is ready."""
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
        self.make_tenant(OPERATOR_NAMESPACE)
        self.install_chart("--wait", "--timeout", "180s", values=values)

    def install_chart(self, *options: str, values: Document | None = None) -> None:
        """Install or upgrade the chart alone, without the definitions of its kinds."""
        self.helm(
            "upgrade",
            "--install",
            "hudi-operator",
            str(ROOT / "charts" / "hudi-operator"),
            "--namespace",
            OPERATOR_NAMESPACE,
            "--skip-crds",
            *options,
            "--values",
            "-",
            given=yaml.safe_dump({**chart_values(), **(values or {})}),
        )

    @cached_property
    def _api(self) -> DynamicClient:
        return DynamicClient(new_client_from_config(self.kubeconfig))

    def _read(self, kind: str, *name: str, namespace: str | None, selector: str = "") -> Document | None:
        scope = ("namespaces", namespace) if namespace else ()
        path = "/".join(("", PATHS[kind], *scope, kind, *name))
        try:
            # Waiting callers ask often, and every start of kubectl costs a tenth of a second of processor time.
            response = self._api.request("get", path, serialize=False, label_selector=selector)
        except NotFoundError:
            return None
        except (DynamicApiError, HTTPError) as error:
            raise CommandFailed(f"GET {path} failed: {error}") from error
        return dict(json.loads(response.data))

    def _program(self, name: str) -> str:
        return str(self.tools / name) if self.tools else name


def chart_values() -> Document:
    """Return the chart's values for the images that dev/images has built."""
    names = dict(line.split("=", 1) for line in (ROOT / ".dev" / "images.env").read_text().splitlines() if line)
    return {
        "image": _image(names["OPERATOR_IMAGE"]),
        "sparkImage": _image(names["SPARK_IMAGE"]),
        "objectStore": {"credentialsSecretName": OPERATOR_SECRET},
    }


def _image(name: str) -> dict[str, str]:
    repository, _, tag = name.rpartition(":")
    return {"repository": repository, "tag": tag}


def _as_yaml(document: Document | str | Path) -> str:
    if isinstance(document, Path):
        return document.read_text()
    return document if isinstance(document, str) else yaml.safe_dump(document, sort_keys=False)


def run(
    command: Sequence[str], *, given: str | None = None, kubeconfig: str | None = None, timeout: float = 3600
) -> str:
    """Run a program in the checkout and return its output; raise `CommandFailed` with its error output."""
    environment = {**os.environ, **({"KUBECONFIG": kubeconfig} if kubeconfig else {})}
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=timeout, check=False
    )
    if done.returncode != 0:
        raise CommandFailed(
            f"`{' '.join(command)}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()}"
        )
    return done.stdout
