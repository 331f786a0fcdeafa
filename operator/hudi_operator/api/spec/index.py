"""The index of a table, and the changes of index that are safe on a table with data."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from hudi_operator.api.values.base import Model, rules
from hudi_operator.api.values.defaults import DefaultsTo, value_or

DEFAULT_BUCKETS = 256
"""Hudi's own default (`HoodieIndexConfig.BUCKET_INDEX_NUM_BUCKETS`)."""

_REMOVED = "InMemory"


class IndexType(StrEnum):
    """How Hudi finds the file group of a record key."""

    BLOOM = "Bloom"
    GLOBAL_BLOOM = "GlobalBloom"
    SIMPLE = "Simple"
    GLOBAL_SIMPLE = "GlobalSimple"
    BUCKET = "Bucket"
    RECORD_LEVEL = "RecordLevel"
    GLOBAL_RECORD_LEVEL = "GlobalRecordLevel"


def _not_removed(value: Any) -> Any:  # noqa: ANN401 - a validator sees whatever the document holds
    if value == _REMOVED:
        raise ValueError(
            "InMemory forgets every key when a run ends, so that each run writes all keys again; set Bloom, Simple, "
            "GlobalBloom or GlobalSimple, and look for rows that are there more than once"
        )
    return value


class Index(Model):
    """How Hudi finds the file group of a record key."""

    type: Annotated[IndexType, BeforeValidator(_not_removed)] = IndexType.BLOOM
    """Hudi's index type; Bloom suits most tables. Later changes are possible between Bloom and Simple, and between
    GlobalBloom and GlobalSimple."""

    buckets: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None, DefaultsTo(f"{DEFAULT_BUCKETS} for type Bucket")
    ] = None
    """Number of buckets per partition; only for type Bucket. Cannot be changed."""

    @property
    def bucket_count(self) -> int | None:
        """The number of buckets that a table with this index has."""
        return (self.buckets or DEFAULT_BUCKETS) if self.type is IndexType.BUCKET else None

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.buckets) || (has(self.type) && self.type == 'Bucket')",
                "buckets is only for index type Bucket",
            ),
        )
    )


def _type(spec: str) -> str:
    return value_or("index.type", Index().type, root=spec)


def _buckets(spec: str) -> str:
    return value_or("index.buckets", DEFAULT_BUCKETS, root=spec)


_LOCAL, _GLOBAL = "['Bloom', 'Simple']", "['GlobalBloom', 'GlobalSimple']"

INDEX_RULES = (
    (
        f"{_type('self')} == {_type('oldSelf')} || "
        f"({_type('self')} in {_LOCAL} && {_type('oldSelf')} in {_LOCAL}) || "
        f"({_type('self')} in {_GLOBAL} && {_type('oldSelf')} in {_GLOBAL}) || "
        f"({_type('oldSelf')} == '{_REMOVED}' && ({_type('self')} in {_LOCAL} || {_type('self')} in {_GLOBAL}))",
        "index.type cannot be changed but between Bloom and Simple, and between GlobalBloom and GlobalSimple: another "
        "index does not find the existing keys and writes them again; create another table",
    ),
    (
        f"{_type('self')} != 'Bucket' || {_type('oldSelf')} != 'Bucket' || {_buckets('self')} == {_buckets('oldSelf')}",
        f"index.buckets (by default {DEFAULT_BUCKETS}) cannot be changed: keys would go to other buckets and be "
        "written again; create another table",
    ),
)
"""Transition rules of a spec; a missing index is Bloom."""
