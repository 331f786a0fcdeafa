"""Programs beside the control plane: kwok, which simulates nodes and pods, and an S3 server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from localcluster.kwok import ensure_kwok
from localcluster.toolchain import ensure_tools
from toolkit.control_plane import ControlPlane, free_ports, running

ACCOUNT = "scale-benchmark"


def running_kwok(folder: Path, plane: ControlPlane, *, stages: Path) -> AbstractContextManager[None]:
    """Simulate all nodes of a control plane, and their pods by the given stages."""
    command = (
        str(ensure_kwok()),
        f"--kubeconfig={plane.kubeconfig}",
        f"--config={stages}",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--cidr=10.10.0.0/16",
    )
    return running(folder, "kwok", *command)


@contextmanager
def running_s3(folder: Path) -> Iterator[str]:
    """Serve the subfolders as buckets; the account is in the environment, for the operator."""
    port = free_ports(1)[0]
    (folder / "attributes").mkdir()
    (folder / "buckets").mkdir(exist_ok=True)
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCOUNT, "AWS_SECRET_ACCESS_KEY": ACCOUNT}
    command = (
        str(ensure_tools() / "s3server"),
        f"-port=127.0.0.1:{port}",
        f"-data={folder}/buckets",
        f"-attributes={folder}/attributes",
    )
    environment = os.environ | {"ROOT_ACCESS_KEY": ACCOUNT, "ROOT_SECRET_KEY": ACCOUNT}
    with running(folder, "s3server", *command, environment=environment):
        yield f"http://127.0.0.1:{port}"
