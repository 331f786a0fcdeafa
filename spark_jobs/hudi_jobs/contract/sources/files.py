"""Files as a source, as the request says it: where they are, and how they are read."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from hudi_jobs.contract.document import Document


class FileFormat(StrEnum):
    """Formats of source files; the value is Spark's own name of the reader."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    AVRO = "avro"
    ORC = "orc"


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
