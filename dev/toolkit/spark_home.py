"""Lays out Spark as in the Spark image, with its archive of classes, for drivers on this machine."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark

from hudi_operator.jobs.settings.spark_conf import JAVA_OPTIONS, SMALL_JVM
from localcluster.console import alone
from localcluster.settings import CHECKOUT, SOURCE, cache_directory
from toolkit.jars import fetch_jars

ARCHIVE = "classes.jsa"
OUR_JAR = "hudi-operator.jar"
LOCAL_FILES = {
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.hadoop.fs.local.block.size": "1048576",
}
"""For tables on local disks, which only tests and demonstrations have.

Without Hadoop's native library, which neither PySpark nor Maven has, Hadoop's local file system starts `chmod` and `ls`
for files, about fifty times in a short test. Hudi opens each file of the metadata table with a buffer of the size of a
block, which is 32 MiB without this setting (`HoodieStorage.openSeekable`).
"""

JAVA = CHECKOUT / "spark_jobs" / "java" / "src"
"""The Java classes of the jobs, `main`, and their tests, `test`."""

_IMAGE = SOURCE / "image"
_LOCAL_JARS = Path(__file__).with_name("local_jars.txt")


def spark_home() -> Path:
    """Return the cached home with its archive of classes; the first call makes it in a minute.

    An archive is bound to the JVM and to the place of the jars; both are part of the name.
    """
    home = cache_directory() / "spark" / _digest()
    with alone(home.with_suffix(".lock"), meanwhile="another program is laying out Spark"):
        if not (home / ARCHIVE).exists():
            shutil.rmtree(home, ignore_errors=True)
            install_spark(home)
            make_archive(home)
    return home


def java_options(home: Path, jvm: str = SMALL_JVM) -> str:
    """Return the JVM options of small drivers, with the archive's path on this machine."""
    return f"{JAVA_OPTIONS} {jvm} -XX:SharedArchiveFile={home / ARCHIVE}"


def install_spark(home: Path) -> None:
    """Lay out Spark as in the image, with the jar of `LOCAL_FILES`: a folder of jars, and the jar that orders them."""
    source = Path(pyspark.__file__).parent
    (home / "jars").mkdir(parents=True)
    for folder in ("bin", "python"):
        shutil.copytree(source / folder, home / folder)
    (home / "lib").mkdir()
    for jar in (*(source / "jars").glob("*.jar"), *fetch_jars(), *fetch_jars(_LOCAL_JARS)):
        _link(jar, home / "lib" / jar.name)
    for program in (
        ("build_java.py", JAVA / "main", "lib", f"lib/{OUR_JAR}"),
        ("one_class_path.py", "lib", "jars/class-path.jar"),
    ):
        subprocess.run((sys.executable, _IMAGE / program[0], *program[1:]), cwd=home, check=True)


def _link(file: Path, name: Path) -> None:
    """Give a file another name; copy it to another file system."""
    try:
        name.hardlink_to(file)
    except OSError:
        shutil.copy(file, name)


def make_archive(home: Path) -> None:
    """Run typical driver work once and archive the classes, like the image's build."""
    unfinished = home / "unfinished.jsa"
    command = (sys.executable, _IMAGE / "train.py", unfinished)
    environment = {**os.environ, "SPARK_HOME": str(home)}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    unfinished.rename(home / ARCHIVE)


def _digest() -> str:
    java = Path(shutil.which("java") or "java").resolve()
    digest = hashlib.sha256(f"{pyspark.__version__} {java} {java.stat().st_mtime_ns}".encode())
    for name in ("jars.txt", "build_java.py", "one_class_path.py", "train.py"):
        digest.update((_IMAGE / name).read_bytes())
    digest.update(_LOCAL_JARS.read_bytes())
    for source in sorted((JAVA / "main").rglob("*.java")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


if __name__ == "__main__":
    spark_home()
