"""Writes the command line as a wheel, and as one executable file."""

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from image.drop_unused import drop_unused
from localcluster.console import output_of, run_logged
from localcluster.settings import CHECKOUT, SOURCE

EXECUTABLE = "kubectl-hudi"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def write_wheel(folder: Path) -> None:
    """Write the wheel, which pip installs on every system."""
    run_logged(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        log_name="release",
        what="building the wheel",
        cwd=CHECKOUT,
    )


def write_executable(folder: Path) -> None:
    """Write a zip archive that the Python of this release's minor version runs, on machines like this one."""
    uv = output_of([str(SOURCE / "bootstrap"), "--python-only"], timeout=600).splitlines()[-1]
    with tempfile.TemporaryDirectory() as temporary:
        wheels, packages = Path(temporary) / "wheels", Path(temporary) / "packages"
        collect_dependencies(uv, packages)
        write_wheel(wheels)
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(packages)
        drop_unused(packages)
        run_logged(
            [str(Path(sys.executable).parent / "shiv"), "--site-packages", str(packages),
             "--console-script", EXECUTABLE, "--python", f"/usr/bin/env {PYTHON}",
             "--output-file", str(folder / EXECUTABLE), "--reproducible", "--compressed"],
            log_name="release",
            what="packing the executable",
        )  # fmt: skip


def collect_dependencies(uv: str, packages: Path) -> None:
    """Install the locked dependencies of the operator into a folder."""
    exported = [uv, "export", "--quiet", "--frozen", "--no-default-groups", "--no-emit-project", "--no-header"]
    requirements = packages.with_suffix(".txt")
    requirements.write_text(output_of([*exported, "--project", str(CHECKOUT), "--no-annotate"]))
    run_logged(
        # Copies, because hard links would let a change of this folder reach into uv's cache.
        [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(packages), "--link-mode=copy",
         "--require-hashes", "--requirement", str(requirements)],
        log_name="release",
        what="collecting packages",
    )  # fmt: skip
    shutil.rmtree(packages / "bin", ignore_errors=True)
