"""How a table is written: the version of its format, its index, its writers, and the lock that they share."""

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field

from hudi_jobs.contract import ConcurrencyMode
from hudi_operator.api.values.base import DefaultsTo, Model, rules, value_or, words

TableVersion: TypeAlias = Literal[6, 8, 9]
"""Versions that Hudi 1.2.0 writes (`WRITTEN_VERSIONS` of the contract)."""

VERSION_RULES = (
    (
        "!has(self.tableVersion) || self.tableVersion >= 9 || size(self.recordKey) > 1 || !has(self.partitionBy) || "
        "size(self.partitionBy) < 2",
        "one recordKey column with several partitionBy columns needs tableVersion 9: with older versions, releases of "
        "Hudi write such keys in two ways, and the table does not record which",
    ),
    (
        "!has(self.tableVersion) || self.tableVersion >= 9 || !has(self.orderingFields) || "
        "size(self.orderingFields) < 2",
        "several orderingFields need tableVersion 9: readers of older versions support only one",
    ),
)


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


_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[0-9]{1,5}"


class ZooKeeperLock(Model):
    """A ZooKeeper ensemble that holds the locks."""

    connect: Annotated[
        str,
        Field(
            pattern=rf"^{_HOST}(,{_HOST})*$",
            max_length=1024,
            json_schema_extra=words("must be servers as host:port, with commas between them and no blanks"),
        ),
    ]
    """Servers as host:port, with commas between them."""

    base_path: Annotated[
        str,
        Field(
            pattern=r"^(/[A-Za-z0-9._-]+)+$",
            max_length=256,
            json_schema_extra=words(
                "must be a path such as /hudi, of letters, digits, '-', '_' and '.', without a slash at its end"
            ),
        ),
    ] = "/hudi"
    """Node that the locks of all tables lie under."""


class Lock(Model):
    """The place of the locks: exactly one kind."""

    zookeeper: ZooKeeperLock
    """A ZooKeeper ensemble."""


class ConcurrencySpec(Model):
    """Who writes to the table."""

    mode: ConcurrencyMode = ConcurrencyMode.SERIALIZED
    """Serialized: only the operator writes, one job at a time; Optimistic: other tools write too, under a shared lock.
    """

    lock: Annotated[Lock | None, DefaultsTo("the lock of the class")] = None
    """The lock that all writers share. Required for Optimistic, and only allowed there."""

    lock_key: Annotated[
        Annotated[
            str,
            Field(
                pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$",
                max_length=253,
                json_schema_extra=words(
                    "must be of letters, digits, '-', '_' and '.', and begin with a letter, digit or '_'"
                ),
            ),
        ]
        | None,
        DefaultsTo("the name of the resource"),
    ] = None
    """Name of the lock after the namespace and a dot, for all writers of the table."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(!has(self.lock) && !has(self.lockKey)) || (has(self.mode) && self.mode == 'Optimistic')",
                "lock and lockKey are only for mode Optimistic",
            ),
        )
    )
