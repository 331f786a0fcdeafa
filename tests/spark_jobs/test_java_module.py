"""The Java classes of the jobs: their own tests, and the class of Hudi that one of them repairs."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import classes
from hudi_jobs.spark.session import java_class
from image.build_java import RELEASED, compile_java, require_released, write_jar
from toolkit.jars import fetch_jars
from toolkit.spark_home import JAVA, OUR_JAR, java_options

pytestmark = pytest.mark.spark

JUNIT = JAVA.parents[2] / "dev" / "toolkit" / "junit.txt"
REPAIRED = "org.apache.hudi.hadoop.fs.inline.InLineFsDataInputStream"
CLOSE = """
  public void close() throws java.io.IOException;
    Code:
       0: aload_0
       1: getfield      // Field outer:Lorg/apache/hadoop/fs/FSDataInputStream;
       4: invokevirtual // Method org/apache/hadoop/fs/FSDataInputStream.close:()V
       7: return
"""


def members(jar: Path) -> set[str]:
    """The members of the class and its inner class with their code, without the numbers of constants."""
    command = ("javap", "-p", "-c", "-cp", jar, REPAIRED, f"{REPAIRED}$OffsetAdjustingStream")
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {_plain(member) for member in re.split(r"\n\s*\n|^\S.*\n", shown, flags=re.MULTILINE)} - {""}


def _plain(text: str) -> str:
    return re.sub(r"[ \n]+", " ", re.sub(r"#\d+,?|\}", "", text)).strip()


def test_java_classes_pass_their_junit_tests(installed_spark: Path, tmp_path: Path) -> None:
    class_path = [installed_spark / "conf/", installed_spark / "jars/class-path.jar", *fetch_jars(JUNIT)]
    compile_java(JAVA / "test", class_path, tmp_path)
    command = ["java", *java_options(installed_spark).split(), "-cp", ":".join(map(str, (*class_path, tmp_path)))]
    launcher = ["org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--details=tree"]
    done = subprocess.run(
        (*command, *launcher, "--fail-if-no-tests", "--disable-ansi-colors", f"--scan-classpath={tmp_path}"),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_repaired_class_of_hudi_differs_from_the_released_one_by_the_method_close(installed_spark: Path) -> None:
    (released,) = (installed_spark / "lib").glob("hudi-spark*.jar")
    before, after = members(released), members(installed_spark / "lib" / OUR_JAR)
    assert before < after
    assert after - before == {_plain(CLOSE)}


def test_drivers_load_the_repaired_class_of_hudi_from_our_jar(spark: SparkSession) -> None:
    for name in (REPAIRED, f"{REPAIRED}$OffsetAdjustingStream"):
        found = classes(spark).java.lang.Class.forName(name)
        assert found.getProtectionDomain().getCodeSource().getLocation().getPath().endswith(f"/{OUR_JAR}")


def test_missing_java_class_fails_the_task_with_the_name_of_the_jar(spark: SparkSession) -> None:
    with pytest.raises(TaskFailed, match=r"io\.hudioperator\.csv\.Missing.* no hudi-operator\.jar"):
        java_class(spark, "csv.Missing")


def test_no_jar_is_built_with_a_hudi_whose_classes_are_not_those_that_ours_repair(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "hudi-spark3.5-bundle_2.12-1.2.1.jar", "w") as jar:
        for name in RELEASED:
            jar.writestr(name, b"another class")
    with pytest.raises(SystemExit, match=r"1\.2\.1\.jar has another .* Remove the source"):
        require_released(tmp_path)


def test_no_jar_is_built_with_a_class_that_would_replace_one_of_a_library_unnoticed(tmp_path: Path) -> None:
    foreign = tmp_path / "org/apache/spark/Foreign.class"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"")
    with pytest.raises(SystemExit, match=r"org/apache/spark/Foreign\.class would replace"):
        write_jar(tmp_path, tmp_path / "ours.jar")
