"""Entry point of `make release`: writes the files of a release into a folder, by default `dist`."""

import argparse
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from localcluster.console import interrupt_on_termination, output_of, say, stop_with
from localcluster.settings import CHECKOUT, DevError
from release import chart, checksums, images, notes, python_files
from release.version import current_version

PARTS = ("notes", "chart", "wheel", "executable", "images")


@dataclass(frozen=True)
class Options:
    """What a person asked for."""

    folder: Path
    registry: str
    parts: tuple[str, ...]


def main() -> None:
    """Write the parts that were asked for, and the checksums of all."""
    interrupt_on_termination()
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "dist", help="where to write (dist)")
    parser.add_argument("--registry", default="", help="registry and path that the chart takes its images from")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="which files to write (all)")
    given = parser.parse_args()
    try:
        write(Options(given.folder.resolve(), given.registry.strip("/"), tuple(given.parts)))
    except DevError as error:
        stop_with(error)
    except KeyboardInterrupt:
        sys.exit(130)


def write(options: Options) -> None:
    """Write the files into an empty folder; the same commit gives the same files."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or commit_time())
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    version = current_version()
    say(f"writing release {version} into {options.folder}")
    if "notes" in options.parts:
        notes.write(options.folder, version)
    if "chart" in options.parts:
        chart.write(options.folder, version, registry=options.registry, epoch=epoch)
    if "wheel" in options.parts:
        python_files.write_wheel(options.folder)
    if "executable" in options.parts:
        python_files.write_executable(options.folder)
    if "images" in options.parts:
        images.write(options.folder, version, epoch=epoch)
    checksums.write(options.folder)
    for path in sorted(options.folder.iterdir()):
        say(f"  {path.stat().st_size / 1e6:9.2f} MB  {path.name}")


def commit_time() -> str:
    """Return the time of the commit, so that a second build gives the same bytes."""
    return output_of(["git", "-C", str(CHECKOUT), "log", "-1", "--format=%ct"]).strip()


if __name__ == "__main__":
    main()
