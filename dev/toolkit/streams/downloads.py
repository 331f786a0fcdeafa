"""Downloads the servers' pinned files from Maven Central into the cache; no image contains them."""

import functools
import shutil
import tarfile
from pathlib import Path

from localcluster.console import alone
from localcluster.settings import cache_directory
from toolkit.jars import fetch_jars

_LISTS = Path(__file__).resolve().parent / "packages"


@functools.cache
def class_path(name: str) -> str:
    """Return the class path of the jars of a list."""
    return ":".join(str(jar) for jar in _fetch(name))


@functools.cache
def unpacked(name: str) -> list[Path]:
    """Return the unpacked folder of each archive of a list."""
    return [_unpack(archive) for archive in _fetch(name)]


def _fetch(name: str) -> list[Path]:
    with alone(cache_directory() / "jars.lock", meanwhile="another program is fetching jars"):
        return fetch_jars(_LISTS / f"{name}.txt")


def _unpack(archive: Path) -> Path:
    folder = cache_directory() / "streams" / archive.name.removesuffix(".tar.gz")
    with alone(folder.with_name(f"{folder.name}.lock"), meanwhile="another program is unpacking the same"):
        if not folder.exists():
            unfinished = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(unfinished, ignore_errors=True)
            with tarfile.open(archive) as content:
                content.extractall(unfinished, filter="data")
            unfinished.rename(folder)
    return folder
