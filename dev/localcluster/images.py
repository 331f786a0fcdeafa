"""Entry point of `dev/images`: builds the images of the operator and the Spark jobs and loads them into the cluster."""

import hashlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localcluster import base_image, containers, image_loading, mounts, toolchain
from localcluster.base_image import BUILDAH
from localcluster.console import alone, interrupt_on_termination, output_of, run_logged, say, stop_with, succeeds
from localcluster.settings import CACHE, CHECKOUT, CONTAINERD_SOCKET, CURRENT, KIND, LOGS, STATE, DevError

LOCAL_REPOSITORY = "hudi-operator.io"
RECORD = STATE / "images.env"
CERTIFICATES = Path(os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt")


BASE_INPUTS = ("Dockerfile", ".dockerignore", "dev/image", "spark_jobs/java/src/main", "pyproject.toml", "uv.lock")


@dataclass(frozen=True)
class Image:
    """A target of the Dockerfile, and the code in it."""

    target: str
    variable: str
    code: tuple[str, ...]

    def name(self) -> str:
        """Return the image's name; its tag is a digest of everything that the image is built from."""
        return f"{repository()}/{self.target}:{digest_of_files((*BASE_INPUTS, *self.code))}"

    def base_name(self) -> str:
        """Return the name of the image of the slow stages, without our code."""
        return f"{LOCAL_REPOSITORY}/{self.target}-base:{digest_of_files(BASE_INPUTS)}"


IMAGES = (
    Image("operator", "OPERATOR_IMAGE", ("operator/hudi_operator", "spark_jobs/hudi_jobs")),
    Image("spark", "SPARK_IMAGE", ("spark_jobs/hudi_jobs",)),
)


def repository() -> str:
    """Return the registry and path that image names begin with."""
    return os.environ.get("IMAGE_REPOSITORY") or LOCAL_REPOSITORY


def digest_of_files(inputs: tuple[str, ...]) -> str:
    """Return a short digest of files and directories of the checkout."""
    digest = hashlib.sha256()
    for path in sorted(files_of(inputs)):
        digest.update(f"{path.relative_to(CHECKOUT)}\0{path.stat().st_mode & 0o111:o}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def files_of(inputs: tuple[str, ...]) -> list[Path]:
    """Return the files behind a list of files and directories, without Python's own caches."""
    found: list[Path] = []
    for name in inputs:
        path = CHECKOUT / name
        if not path.exists():
            raise DevError(f"{path} does not exist, and the images are built from it.")
        candidates = path.rglob("*") if path.is_dir() else [path]
        found += [file for file in candidates if file.is_file() and "__pycache__" not in file.parts]
    return found


def main() -> None:
    """Build the changed images, load them, and record their names; with `--bases`, only build the slow stages."""
    interrupt_on_termination()
    names: dict[str, str] = {}
    try:
        STATE.mkdir(exist_ok=True)
        with alone(CACHE / "images.lock", meanwhile="another program is building images"):
            try:
                if "--bases" in sys.argv[1:]:
                    provide_bases()
                    return
                names = {image.variable: provide(image) for image in IMAGES}
            finally:
                mounts.unmount_below(CACHE / "buildah")
    except DevError as error:
        stop_with(error)
    except KeyboardInterrupt:
        say("interrupted; the same command again takes up where this left off")
        sys.exit(130)
    RECORD.write_text("".join(f"{variable}={name}\n" for variable, name in names.items()))
    for variable, name in names.items():
        say(f"{variable}={name}")


def provide(image: Image) -> str:
    """Make an image available to the cluster and return its name."""
    name = image.name()
    if KIND:
        build_with_docker(image, name)
        load_into_kind(name)
        return name
    if CURRENT and not os.environ.get("IMAGE_REPOSITORY"):
        raise DevError("Set IMAGE_REPOSITORY to a registry path that you may push to and the cluster pulls from.")
    if not CURRENT and not CONTAINERD_SOCKET.exists():
        raise DevError("The local cluster is down. Start it with `make cluster-up`, then run this again.")
    if not CURRENT and name in containers.present_images():
        say(f"{name} is loaded already")
        return name
    if uses_docker():
        build_with_docker(image, name)
        output_of(["docker", "push", name], timeout=1800) if CURRENT else load_from_docker(name)
    else:
        prepare_buildah()
        build_with_buildah(image, name)
        output_of([*BUILDAH, "push", name], timeout=1800) if CURRENT else image_loading.load(name, buildah=BUILDAH)
    return name


def provide_bases() -> None:
    """Build the slow stages, without a cluster; docker builds them with the rest."""
    if not uses_docker():
        prepare_buildah()
        for image in IMAGES:
            ensure_base(image)


def uses_docker() -> bool:
    """Tell whether docker builds the images; a client may be installed without its daemon or buildx."""
    if shutil.which("buildah"):
        return False
    return succeeds(["docker", "info"]) and succeeds(["docker", "buildx", "version"])


def prepare_buildah() -> None:
    """Install buildah if missing, and remove working containers of interrupted builds."""
    toolchain.ensure_packages(toolchain.IMAGE_PROGRAMS)
    output_of([*BUILDAH, "rm", "--all"])


def ensure_base(image: Image) -> str:
    """Build the missing slow stages of an image, and return their name."""
    base = image.base_name()
    if not succeeds([*BUILDAH, "inspect", "--type", "image", base]):
        base_image.ensure()
        say(f"building {base}: minutes the first time; log: {LOGS / f'image-{image.target}.log'}")
        build_target(image, target=f"{image.target}-base", name=base, options=())
    return base


def build_with_buildah(image: Image, name: str) -> None:
    """Build a target with buildah, which needs no daemon."""
    base = ensure_base(image)
    say(f"building {name}")
    build_target(
        image, target=image.target, name=name, options=(f"--build-context={image.target}-base=docker-image://{base}",)
    )


def build_target(image: Image, *, target: str, name: str, options: tuple[str, ...]) -> None:
    """Build one stage of the Dockerfile; unchanged steps come from the cache."""
    secrets = [f"--secret=id=ca-bundle,src={CERTIFICATES}"] if CERTIFICATES.exists() else []
    run_logged(
        [*BUILDAH, "bud", "--layers", "--isolation=chroot", "--network=host", "--pull=never", *secrets,
         *options,
         f"--target={target}", f"--tag={name}", f"--file={CHECKOUT / 'Dockerfile'}", str(CHECKOUT)],
        log_name=f"image-{image.target}",
        what=f"building {target}",
    )  # fmt: skip


def build_with_docker(image: Image, name: str) -> None:
    """Build a target with docker."""
    say(f"building {name}; log: {LOGS / f'image-{image.target}.log'}")
    run_logged(
        ["docker", "build", f"--target={image.target}", f"--tag={name}", str(CHECKOUT)],
        log_name=f"image-{image.target}",
        what=f"building {image.target}",
        environment=os.environ | {"DOCKER_BUILDKIT": "1"},
    )


def load_into_kind(name: str) -> None:
    """Load an image from docker into the nodes of the kind cluster KIND_CLUSTER, by default `kind`."""
    say(f"loading {name}")
    cluster = os.environ.get("KIND_CLUSTER") or "kind"
    output_of(["kind", "load", "docker-image", name, "--name", cluster], timeout=600)


def load_from_docker(name: str) -> None:
    """Load an image from docker into containerd."""
    say(f"loading {name}")
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        archive = Path(directory) / "image.tar"
        output_of(["docker", "save", "--output", str(archive), name], timeout=600)
        containers.import_archive(archive)


if __name__ == "__main__":
    main()
