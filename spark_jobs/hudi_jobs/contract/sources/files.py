"""Files as a source, as the request says it: where they are, which are input, and how they are read."""

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.table.columns import DeclaredSchema


class FileFormat(StrEnum):
    """Formats of source files; the value is Spark's own name of the reader."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    AVRO = "avro"
    ORC = "orc"


_TEXT_FORMATS = frozenset({FileFormat.CSV, FileFormat.JSON})
_SAME_FOLDER = frozenset({"", "."})


class FileSource(Document):
    """Files under a prefix; `schema_ddl` is a Spark DDL string such as `id BIGINT, at TIMESTAMP`.

    Without a schema, CSV columns are strings and the other formats bring their own types.
    """

    kind: Literal["files"] = "files"
    path: str
    format: FileFormat
    options: dict[str, str] = Field(default_factory=dict)
    schema_ddl: str | None = None
    path_glob: str | None = None
    table_columns: DeclaredSchema | None = None
    """The declared columns of the table, for texts that nothing else converts; the driver sets them."""

    @property
    def columns_ddl(self) -> str | None:
        """The columns that the files are read with, as DDL."""
        return self.table_columns.ddl if self.table_columns is not None else self.schema_ddl

    def selects(self, path: str, size: int) -> bool:
        """Whether a listed file is input, for the driver and the operator alike.

        The path is relative to the source, and empty for an object at the source's own path.
        """
        return is_visible(path, size, self.format) and matches(path, self.path_glob)


def is_visible(path: str, size: int, format_: FileFormat) -> bool:
    """Whether a listed file can be input, whatever the pattern.

    A name that starts with `_` or `.`, at any level, is hidden, as in Hadoop and Spark. An empty CSV or JSON file has
    no rows and is ignored; an empty file of another format is half-written and stays in, to be refused by name.
    """
    if not path:
        return True
    if any(part.startswith(("_", ".")) for part in path.split("/") if part not in _SAME_FOLDER):
        return False
    return size > 0 or format_ not in _TEXT_FORMATS


def matches(path: str, glob: str | None) -> bool:
    """Whether a pattern matches a file: its name, or its whole path if the pattern has a slash."""
    if glob is None or not path:
        return True
    return fnmatchcase(path if "/" in glob else path.rpartition("/")[2], glob)
