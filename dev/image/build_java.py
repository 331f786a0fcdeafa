"""Compiles the Java classes of the jobs into one jar: `build_java.py SOURCES LIBRARY JAR`.

LIBRARY is the folder of Spark's and Hudi's jars. Equal sources make an equal jar.
"""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

RELEASED = {
    "org/apache/hudi/hadoop/fs/inline/InLineFsDataInputStream.class": (
        "a0e8c2aac9cb728b761f852d9c5ab84552e5636688dcd5f78230470d2fbefb25"
    ),
    "org/apache/hudi/hadoop/fs/inline/InLineFsDataInputStream$OffsetAdjustingStream.class": (
        "06168ff284d51e6b711d8825938a2b25eb36ee42f59a7061da9077b8137913a5"
    ),
}
"""SHA-256 of the classes in Hudi's jar that classes of ours replace: their sources are copies of that release's."""

OURS = "io/hudioperator/"
LINT = "-Xlint:all,-path,-serial"
OPTIONS = ("--release", "17", "-encoding", "UTF-8", "-proc:none", "-implicit:none", LINT, "-Werror")
EARLIEST = (1980, 1, 1, 0, 0, 0)


def main(sources: str, library: str, jar: str) -> None:
    """Check which classes are replaced, compile, and write the jar."""
    require_released(Path(library))
    with TemporaryDirectory() as folder:
        compile_java(Path(sources), jars_of(Path(library)), Path(folder))
        write_jar(Path(folder), Path(jar))


def require_released(library: Path) -> None:
    """Exit when Hudi's jar does not have the classes that ours are made to replace."""
    (bundle,) = library.glob("hudi-spark*.jar")
    with zipfile.ZipFile(bundle) as archive:
        for name, expected in RELEASED.items():
            if hashlib.sha256(archive.read(name)).hexdigest() != expected:
                sys.exit(
                    f"{bundle.name} has another {name} than the one that spark_jobs/java repairs. Remove the source "
                    "there when the release has the repair, else bring it in line with the release."
                )


def jars_of(library: Path) -> list[Path]:
    """Return the jars of a folder in the order of their names."""
    return sorted(library.glob("*.jar"))


def compile_java(sources: Path, class_path: list[Path], folder: Path) -> None:
    """Compile all sources below a folder; a warning is an error."""
    files = sorted(map(str, sources.rglob("*.java")))
    command = ("javac", *OPTIONS, "-cp", os.pathsep.join(map(str, class_path)), "-d", str(folder), *files)
    try:
        code = subprocess.run(command, check=False).returncode
    except FileNotFoundError:
        sys.exit("There is no javac. Install a JDK 17, or run `make bootstrap`, which does.")
    if code != 0:
        sys.exit(f"The Java sources in {sources} do not compile.")


def write_jar(folder: Path, jar: Path) -> None:
    """Write the classes into a jar, with times that are always the same."""
    with zipfile.ZipFile(jar, "w") as archive:
        for file in sorted(folder.rglob("*.class")):
            name = file.relative_to(folder).as_posix()
            if not name.startswith(OURS) and name not in RELEASED:
                sys.exit(f"{name} would replace a class of a library of which build_java.py does not know the release.")
            archive.writestr(zipfile.ZipInfo(name, EARLIEST), file.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(*sys.argv[1:])
