"""The jars of the Spark image, for programs that run Spark on this machine."""

import os
import subprocess
import sys
from pathlib import Path

from localcluster.settings import SOURCE, cache_directory

_MAVEN_CENTRAL = "https://repo1.maven.org/maven2"


def fetch_jars(listing: Path = SOURCE / "image" / "jars.txt") -> list[Path]:
    """Return the jars of a list, by default the image's, and download the missing ones.

    MAVEN_REPOSITORY names another repository than Maven Central.
    """
    folder = cache_directory() / "jars"
    repository = os.environ.get("MAVEN_REPOSITORY", _MAVEN_CENTRAL)
    program = SOURCE / "image" / "fetch_jars.py"
    subprocess.run((sys.executable, str(program), str(listing), str(folder), repository), check=True)
    lines = listing.read_text().splitlines()
    return [folder / Path(line.split()[1]).name for line in lines if line and not line.startswith("#")]


if __name__ == "__main__":
    fetch_jars()
