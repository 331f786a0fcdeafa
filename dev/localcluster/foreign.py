"""CLUSTER=current and CLUSTER=kind: uses an existing cluster for development."""

import os
import shutil
import tempfile
from pathlib import Path

from localcluster import containers, lifecycle, toolchain, workloads
from localcluster.base_image import BUILDAH
from localcluster.console import output_of, say
from localcluster.settings import KIND, KUBECONFIG, STATE, DevError, tool, tool_image, tools_digest


def use_current() -> None:
    """Install the S3 server into the cluster of KUBECONFIG, and copy that kubeconfig."""
    given = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    source = Path(given.split(":")[0]).resolve()
    if not source.exists():
        raise DevError(f"This needs a kubeconfig, and {source} does not exist. Set KUBECONFIG.")
    STATE.mkdir(exist_ok=True)
    if source != KUBECONFIG.resolve():
        shutil.copyfile(source, KUBECONFIG)
        KUBECONFIG.chmod(0o600)
    if not shutil.which("kubectl"):
        toolchain.ensure_tools(("kubectl",))
    workloads.wait_for_api(seconds=20)
    workloads.apply("s3.yaml", s3_image=s3_image())
    workloads.wait_for_deployments(("storage", "s3"))
    lifecycle.make_buckets()
    if not KIND and not os.environ.get("IMAGE_REPOSITORY"):
        say("before `make images`, set IMAGE_REPOSITORY to a registry path that this cluster pulls from")


def s3_image() -> str:
    """Return the S3 server's image: S3_IMAGE, or our own, pushed to IMAGE_REPOSITORY."""
    if chosen := os.environ.get("S3_IMAGE"):
        return chosen
    if KIND:
        raise DevError("Set S3_IMAGE to an image of the Versity gateway that the nodes of kind can pull.")
    repository = os.environ.get("IMAGE_REPOSITORY")
    if not repository:
        raise DevError(
            "The S3 server's image has to come from somewhere. Set IMAGE_REPOSITORY to a registry path that you may "
            "push to and the cluster pulls from, or S3_IMAGE to an image that it can pull already."
        )
    program = toolchain.S3_SERVER
    toolchain.ensure_tools((program,))
    toolchain.ensure_packages({"buildah": "buildah"})
    name = f"{repository}/{program}:{tools_digest()}"
    say(f"pushing {name}")
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory) / "image.tar"
        containers.write_image(archive, name=tool_image(program), program=Path(tool(program)))
        pulled = output_of([*BUILDAH, "pull", "--quiet", f"oci-archive:{archive}"]).split()[-1]
        output_of([*BUILDAH, "push", pulled, f"docker://{name}"], timeout=600)
    return name
