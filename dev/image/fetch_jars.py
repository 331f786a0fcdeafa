"""Downloads the jars of a list into a directory: fetch_jars.py LIST DIRECTORY MAVEN_REPOSITORY."""

import hashlib
import os
import shutil
import sys
import urllib.request
from pathlib import Path


def main(listing: Path, directory: Path, repository: str) -> None:
    """Fetch every jar that is not there yet and check its digest."""
    directory.mkdir(parents=True, exist_ok=True)
    for line in listing.read_text().splitlines():
        if line and not line.startswith("#"):
            expected, path = line.split()
            fetch(f"{repository.rstrip('/')}/{path}", directory / Path(path).name, expected)


def fetch(url: str, target: Path, expected: str) -> None:
    """Download one file under its final name only when its SHA-256 is the expected one."""
    if target.exists() and sha256(target) == expected:
        return
    print(f"fetching {url}", flush=True)
    unfinished = target.with_suffix(f".{os.getpid()}.part")
    with urllib.request.urlopen(url, timeout=60) as response, unfinished.open("wb") as output:
        shutil.copyfileobj(response, output, 1 << 20)
    found = sha256(unfinished)
    if found != expected:
        unfinished.unlink()
        sys.exit(f"{url} has the SHA-256 {found}, and {expected} was expected")
    unfinished.chmod(0o644)
    unfinished.rename(target)


def sha256(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
