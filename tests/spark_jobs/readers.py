"""Readers of a table that share nothing with the driver but the metastore and the files."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hudi import HudiTableBuilder
from tests.docs.pages import read

from toolkit.spark_home import LOCAL_FILES

Rows = list[tuple[Any, ...]]

_READING = "start/read-it.md"
_CATALOG = "guides/catalog.md"
_ADDRESS = "thrift://metastore.example.com:9083"

_SPARK = """
import sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.appName("read").master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
    .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
    .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
    {settings}
    .getOrCreate()
)
for name in map(str.strip, sys.stdin):
    spark.catalog.refreshTable(name)
    rows = spark.sql(f"SELECT id, v, day FROM {{name}} ORDER BY id").collect()
    print("ANSWER", [tuple(row) for row in rows], flush=True)
"""

_DAFT = """
import sys
import daft, pyarrow
from hudi import HudiTableBuilder

def refusal(path):
    try:
        daft.read_hudi(path).collect()
    except Exception as error:
        return str(error)

for path in map(str.strip, sys.stdin):
    frame = daft.from_arrow(pyarrow.Table.from_batches(HudiTableBuilder.from_base_uri(path).build().read()))
    rows = [tuple(row.values()) for row in frame.select("id", "v", "day").sort("id").to_pylist()]
    print("ANSWER", [rows, refusal(path)], flush=True)
"""


class Reader:
    """A reader in a process of its own; it answers names of entries, or paths, with rows."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def answer(self, question: str) -> Any:
        """Return the answer of the process to a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(question, file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return ast.literal_eval(line.removeprefix("ANSWER "))
        pytest.fail(f"the reader has ended: {self._log.read_text()[-3000:]}")


@contextmanager
def _started(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Reader]:
    log = folder / "log.txt"
    with log.open("w") as written:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
    yield Reader(process, log)
    process.kill()
    process.wait()


@contextmanager
def spark_by_name(metastore: str, spark_home: Path, folder: Path) -> Iterator[Reader]:
    """Start Spark with the settings of the guide; it answers the name of an entry with rows."""
    settings = re.findall(r"^    \.config\(.*\)$", read(_CATALOG), re.MULTILINE)
    assert len(settings) == 2
    local = [f'.config("{key}", "{value}")' for key, value in LOCAL_FILES.items()]
    text = "\n    ".join((*settings, *local)).replace(_ADDRESS, metastore)
    environment = {"SPARK_HOME": str(spark_home), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    with _started([sys.executable, "-c", _SPARK.format(settings=text)], folder, environment) as reader:
        yield reader


@contextmanager
def daft_by_path(folder: Path) -> Iterator[Reader]:
    """Start the release of Daft that the page names; it answers a path with rows, and the error of `daft.read_hudi`."""
    with _started(daft_command(_DAFT), folder) as reader:
        yield reader


def daft_command(program: str) -> list[str]:
    """Return the command of a program with the release of Daft that the page names."""
    release = re.search(r"Daft (\d+\.\d+)", read(_READING))
    assert release is not None
    packages = [f"--with={name}" for name in (f"daft[hudi]~={release[1]}.0", "hudi~=0.5.0", "sortedcontainers")]
    run = [_find_uv(), "run", "--quiet", "--isolated", "--no-project", f"--python={sys.executable}"]
    return [*run, *packages, "python", "-c", program]


def _find_uv() -> str:
    """Ask for uv as the scripts do."""
    bootstrap = Path(__file__).parents[2] / "dev" / "bootstrap"
    printed = subprocess.run([bootstrap, "--python-only"], capture_output=True, text=True, timeout=600, check=True)
    return printed.stdout.splitlines()[-1]


def hudi_rs_rows(path: str, *, read_optimized: bool = False) -> Rows:
    """Read with hudi-rs, which shares no code with Spark."""
    table = HudiTableBuilder.from_base_uri(path)
    if read_optimized:
        table = table.with_hudi_option("hoodie.read.use.read_optimized.mode", "true")
    return sorted((row["id"], row["v"], row["day"]) for row in pa.Table.from_batches(table.build().read()).to_pylist())
