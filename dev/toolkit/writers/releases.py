"""The Hudi releases of foreign tables, each with its jar of Maven Central and its PySpark."""

import functools
import hashlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from localcluster.console import alone
from localcluster.settings import cache_directory
from toolkit.jars import fetch_jars

_HERE = Path(__file__).resolve().parent
_OLDER_SPARK = _HERE / "pyspark-3.4.txt"


@dataclass(frozen=True)
class Release:
    """A release of Hudi, with its default table version."""

    version: str
    table_version: int
    older_spark: bool = False

    @property
    def jar(self) -> Path:
        """The bundle jar in the cache."""
        return next(jar for jar in _jars() if jar.name.endswith(f"-bundle_2.12-{self.version}.jar"))

    @property
    def python(self) -> Path:
        """The interpreter with the release's PySpark."""
        return _older_python() if self.older_spark else Path(sys.executable)


RELEASES = {
    release.version: release
    for release in (
        Release("0.14.0", table_version=6, older_spark=True),
        Release("0.15.0", table_version=6),
        Release("1.0.2", table_version=8),
        Release("1.1.1", table_version=9),
        Release("1.2.0", table_version=9),
    )
}


@functools.cache
def _jars() -> list[Path]:
    with alone(cache_directory() / "jars.lock", meanwhile="another program is fetching jars"):
        return fetch_jars(_HERE / "jars.txt")


@functools.cache
def _older_python() -> Path:
    """Return the interpreter of an environment with PySpark 3.4; the first call makes it in about a minute."""
    home = cache_directory() / "writers" / hashlib.sha256(_OLDER_SPARK.read_bytes()).hexdigest()[:12]
    with alone(home.with_suffix(".lock"), meanwhile="another program is installing PySpark 3.4"):
        if not (home / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run((sys.executable, "-m", "venv", home), check=True)
            install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")
            subprocess.run((home / "bin" / "python", *install, "-r", _OLDER_SPARK), check=True, stdout=sys.stderr)
            (home / "complete").touch()
    return home / "bin" / "python"


if __name__ == "__main__":
    for release in RELEASES.values():
        print(release.version, release.jar, release.python)
