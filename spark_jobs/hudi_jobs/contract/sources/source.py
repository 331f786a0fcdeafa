"""The source of input in a request: a document for each kind of source, distinguished by `kind`."""

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import ConfigDict, Discriminator, Field, Tag

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.sources.files import FileSource
from hudi_jobs.contract.sources.hudi import HudiSource
from hudi_jobs.contract.sources.kafka import KafkaSource

_OTHER = "other"


class OtherSource(Document):
    """A source of a kind without a document in this release; the driver's own registry decides.

    So a driver can answer the request of a newer operator with an error for each task.
    """

    kind: str = Field(max_length=64)

    model_config = ConfigDict(extra="allow")


def _tag(value: object) -> str:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return next((known for known in KINDS if known == kind), _OTHER)


AnySource = Annotated[
    Annotated[FileSource, Tag("files")]
    | Annotated[KafkaSource, Tag("kafka")]
    | Annotated[HudiSource, Tag("hudi")]
    | Annotated[OtherSource, Tag(_OTHER)],
    Discriminator(_tag),
]
"""The document of any source."""

_TAGS = (tag.tag for _, tag in map(get_args, get_args(get_args(AnySource)[0])))

KINDS = tuple(tag for tag in _TAGS if tag != _OTHER)
"""The kinds of source that have a document."""
