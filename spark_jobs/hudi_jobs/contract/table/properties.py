"""The identity of a table by its own properties, and every difference from its declaration.

The operator asks before it starts anything, the driver before it writes anything. A property that `hoodie.properties`
lacks has the value that Hudi 1.2.0 assumes for a table of that version (`HoodieTableConfig`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.table.column_types import stored_columns
from hudi_jobs.contract.table.columns import DeclaredSchema, schema_changes
from hudi_jobs.contract.table.facts import NO_FACTS, TableFacts, consequences
from hudi_jobs.contract.table.index import may_follow
from hudi_jobs.contract.table.location import Location
from hudi_jobs.contract.table.merging import columns_of, earlier_merge_of, ordering_of, version_of
from hudi_jobs.contract.table.support import EVERY_SERVICE, WRITTEN_VERSIONS, Unsupported, unsupported
from hudi_jobs.contract.table.times import unsupported_times
from hudi_jobs.contract.vocabulary import Service, TableType
from hudi_jobs.contract.wording import shortened


class TableDefinition(Document):
    """The declared identity and shape of a Hudi table.

    `index` is the note of the declared index (`index_note`). `metadata_table` is None if the spec does not set it: then
    the table keeps what it has. The same holds for `version`, which only a new table is created with.
    """

    name: str
    base_path: str
    type: TableType
    record_key: tuple[str, ...] = Field(min_length=1)
    partition_by: tuple[str, ...] = ()
    ordering_fields: tuple[str, ...] = ()
    index: str | None = None
    metadata_table: bool | None = None
    version: int | None = None
    declared: DeclaredSchema | None = None
    """All columns of the table; None if the input decides."""

    @property
    def uses_of_columns(self) -> dict[str, str]:
        """The use of each column that keeps its type."""
        uses = dict.fromkeys(self.ordering_fields, "ordering")
        uses |= dict.fromkeys(self.partition_by, "partition")
        return uses | dict.fromkeys(self.record_key, "record key")

    @property
    def location(self) -> Location:
        """The folder of the table; raises `NotALocation`, which no run does that has taken the lease."""
        return Location.parse(self.base_path)


NONE = "(none)"
"""The text for a list without columns."""

_Declared: TypeAlias = str | tuple[str, ...]

_SHOWN = 120
_REPORTED = 12
_DECLARE = "declare what the table has"
_CLOSING = (
    "Nothing starts, because rows would be lost or duplicated. To correct an immutable field, delete this resource "
    "with deletionPolicy Retain, which keeps the data, and apply it again."
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field, its declared value, the table's value, and what a person can do about the difference.

    `field` is a field of the spec. If no field declares the property, `field` is its key in `hoodie.properties` or the
    name of a fact of the commits, and `declared` lists the supported values. The services that it `refuses` do not
    start; the next run resolves a difference that `passes`. All texts are short and printable, whatever the file holds.
    """

    field: str
    declared: str
    found: str
    advice: str
    is_property: bool = False
    refuses: frozenset[Service] = EVERY_SERVICE
    passes: bool = False

    @property
    def stops(self) -> bool:
        """Whether the difference keeps a service from starting."""
        return bool(self.refuses)

    @property
    def stops_everything(self) -> bool:
        """Whether the difference keeps every service from starting."""
        return self.refuses >= EVERY_SERVICE

    @property
    def sentence(self) -> str:
        """The difference as one sentence for people."""
        if self.is_property:
            return (
                f"{self.field}: the table has {self.found}, but the operator supports only {self.declared}; "
                f"{self.advice}."
            )
        return f"{self.field}: the spec declares {self.declared}, but the table has {self.found}; {self.advice}."


def differences_message(found: Sequence[Difference]) -> str:
    """Return the sentences on all differences, those that stop the table first, and their effect."""
    reported = sorted(found, key=lambda one: not one.stops)
    more = [f"And {len(reported) - _REPORTED} more."] if len(reported) > _REPORTED else []
    closing = [_CLOSING] if any(one.stops_everything for one in found) else []
    return " ".join([*(one.sentence for one in reported[:_REPORTED]), *more, *closing])


def differences(
    properties: Mapping[str, str],
    definition: TableDefinition,
    *,
    written_index: str | None = None,
    ingests: bool = True,
    facts: TableFacts = NO_FACTS,
    declared_zone: str | None = None,
) -> tuple[Difference, ...]:
    """Return all differences between a table and its declaration, and everything that cannot be honoured.

    `written_index` is the index in the newest commit that notes it, and `facts` are the facts outside of the table's
    properties. A table without an ingestion needs no generated keys, so fewer properties are checked.
    """
    return (
        *_identity(properties, definition),
        *_ordering(properties, definition),
        *_index(definition, written_index),
        *_metadata_table(properties, definition),
        *_version(properties, definition),
        *map(_unsupported, unsupported(properties, declared_index=definition.index, ingests=ingests)),
        *map(_unsupported, _times(properties) if ingests else ()),
        *map(_unsupported, consequences(facts, declared_zone=declared_zone, ingests=ingests)),
        *(_columns(definition, facts) if ingests else ()),
    )


def sentence_of(one: Unsupported) -> str:
    """Return the sentence about a property that cannot be honoured."""
    return _unsupported(one).sentence


def record_key_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of the record key; none if Hudi makes the keys itself."""
    return columns_of(properties.get("hoodie.table.recordkey.fields"))


def partition_columns_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the partition columns without the kinds that a custom key generator notes, as in `day:TIMESTAMP`."""
    columns = columns_of(properties.get("hoodie.table.partition.fields"))
    return tuple(column.partition(":")[0] for column in columns)


def has_metadata_table(properties: Mapping[str, str]) -> bool:
    """Tell whether readers of the table use a metadata table (`HoodieTableConfig.isMetadataTableAvailable`)."""
    return "files" in properties.get("hoodie.table.metadata.partitions", "").split(",")


def printable(text: str) -> str:
    """Return a text from a file in printable form, shortened."""
    return shortened(text, _SHOWN)


def late_changes_remark(properties: Mapping[str, str]) -> str | None:
    """Return the sentence on a table whose compaction may be refused because of late changes in its log files."""
    found = earlier_merge_of(properties)
    if found is None:
        return None
    payload = f"payload class {found.payload}" if found.is_stored else "no payload class"
    return (
        "Compaction and clustering are refused (RowsWouldChange) where log files of the other tool hold late changes, "
        f"which Hudi 1.2.0 merges otherwise: table version 6, precombine field {printable(found.ordering)}, {payload}."
    )


def _identity(properties: Mapping[str, str], definition: TableDefinition) -> Iterator[Difference]:
    key = record_key_of(properties)
    pairs: tuple[tuple[str, _Declared, _Declared], ...] = (
        ("tableName", definition.name, properties.get("hoodie.table.name", "")),
        ("type", definition.type.value, _type_of(properties)),
        # Without any ordering field, `unsupported` explains more than the difference of columns.
        ("recordKey", definition.record_key, key or definition.record_key),
        ("partitionBy", definition.partition_by, partition_columns_of(properties)),
    )
    for field, declared, found in pairs:
        if declared != found:
            yield _difference(field, declared, found)


def _type_of(properties: Mapping[str, str]) -> str:
    """Return the type of a table in the words of the spec, or as stored if Hudi knows no such type."""
    stored = properties.get("hoodie.table.type", TableType.COPY_ON_WRITE.hudi_name)
    return next((one.value for one in TableType if one.hudi_name == stored), stored)


def _ordering(properties: Mapping[str, str], definition: TableDefinition) -> Iterator[Difference]:
    declared, found = definition.ordering_fields, ordering_of(properties)
    if declared == found.columns:
        return
    if found.ignored:
        yield Difference(
            field="orderingFields",
            declared=_text(declared),
            found=f"{NONE}, because {printable(found.decided_by)} lets the row that is written last win",
            advice="declare no orderingFields if a late row may win",
        )
        return
    yield _difference("orderingFields", declared, found.columns)


def _index(definition: TableDefinition, written: str | None) -> Iterator[Difference]:
    if written is not None and definition.index is not None and not may_follow(written, definition.index):
        yield _difference("index", definition.index, written)


def _metadata_table(properties: Mapping[str, str], definition: TableDefinition) -> Iterator[Difference]:
    found = has_metadata_table(properties)
    if definition.metadata_table is None or definition.metadata_table is found:
        return
    advice = (
        "the metadata table is kept, because Hudi would delete it and other tools may use it"
        if found
        else "a run creates a metadata table once nothing is pending"
    )
    yield Difference(
        field="metadataTable.enabled",
        declared=str(definition.metadata_table).lower(),
        found=str(found).lower(),
        advice=advice,
        refuses=frozenset(),
        passes=not found,
    )


_NEXT_RUN = "the next run that writes rows makes the change"


def _columns(definition: TableDefinition, facts: TableFacts) -> Iterator[Difference]:
    """Yield every column that differs from the newest commit's schema; nothing before the first commit."""
    stored = stored_columns(facts.newest_schema)
    if definition.declared is None or stored is None:
        return
    for one in schema_changes(definition.declared, stored, definition.uses_of_columns):
        yield Difference(
            field=f"schema.columns[{printable(one.path)}]",
            declared=printable(one.declared or NONE),
            found=printable(one.stored or NONE),
            advice=one.problem or _NEXT_RUN,
            refuses=frozenset() if one.problem is None else frozenset({Service.INGESTION}),
            passes=one.problem is None,
        )


def _times(properties: Mapping[str, str]) -> Iterator[Unsupported]:
    """Yield the patterns of times that cannot be ingested; `unsupported` reports patterns that are not stored."""
    return (one for one in unsupported_times(properties) if one.found)


def _version(properties: Mapping[str, str], definition: TableDefinition) -> Iterator[Difference]:
    found = version_of(properties)
    # `unsupported` reports a version that cannot be written, and stops the table.
    if definition.version in {None, found} or found not in WRITTEN_VERSIONS:
        return
    yield Difference(
        field="tableVersion",
        declared=str(definition.version),
        found=str(found),
        advice="no run changes the version as a side effect; change it with a HudiOperation (upgrade or downgrade), "
        f"or {_DECLARE}",
        refuses=frozenset(),
    )


def _unsupported(one: Unsupported) -> Difference:
    return Difference(
        field=printable(one.key),
        declared=one.possible,
        found=printable(one.found) or NONE,
        advice=one.advice,
        is_property=True,
        refuses=one.refuses,
    )


def _difference(field: str, declared: _Declared, found: _Declared) -> Difference:
    return Difference(field=field, declared=_text(declared), found=_text(found), advice=_DECLARE)


def _text(value: _Declared) -> str:
    return printable(value if isinstance(value, str) else ",".join(value)) or NONE
