"""The source of input in a request: a document for each kind of source, distinguished by `kind`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.sources.kafka import KafkaSource
from hudi_jobs.contract.sources.upstream import HudiSource

_OTHER = "other"


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


class OtherSource(Document):
    """A source of a kind without a document in this release; the driver's own registry decides.

    So a driver can answer the request of a newer operator with an error for each task.
    """

    kind: str = Field(max_length=64)

    model_config = ConfigDict(extra="allow")


_KINDS = ("files", "kafka", "hudi")


def _tag(value: object) -> str:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return next((known for known in _KINDS if known == kind), _OTHER)


AnySource = Annotated[
    Annotated[FileSource, Tag("files")]
    | Annotated[KafkaSource, Tag("kafka")]
    | Annotated[HudiSource, Tag("hudi")]
    | Annotated[OtherSource, Tag(_OTHER)],
    Discriminator(_tag),
]
"""The document of any source."""
