"""Tables that can be written without losing a row or a property that their own writers rely on.

Allowlists throughout: `hoodie.properties` is a file of somebody else's and names classes that Hudi loads. Unknown
values are refused before anything is started.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hudi_jobs.contract.table.merging import (
    COMMIT_TIME_STRATEGY,
    EVENT_TIME_STRATEGY,
    PAYLOAD_STRATEGY,
    PAYLOADS,
    columns_of,
    payload_of,
    strategy_of,
    version_of,
)
from hudi_jobs.contract.vocabulary import Service

EVERY_SERVICE = frozenset(Service)
"""The services that an unsupported property refuses by default."""

WRITTEN_VERSIONS = frozenset({6, 8, 9})
"""Table versions that Hudi 1.2.0 writes without upgrading the table, if told to (`hoodie.write.table.version`)."""

TABLE_VERSION = "hoodie.table.version"
"""The property that holds the version of the table's format."""

SLASHED = "hoodie.datasource.write.slash.separated.date.partitioning"
"""The option by which a write makes folders such as `2026/01/02` of days such as `2026-01-02`."""

_OTHER_VERSION = (
    "upgrade the table with your own tool, for example by one write with Hudi 0.15.0, which makes it version 6, "
    "or by upgrade_table of Hudi 1.2.0, which makes it version 9; this operator upgrades tables from version 6 on"
)

SIMPLE, COMPLEX, NON_PARTITIONED = "SIMPLE", "COMPLEX", "NON_PARTITION"
TIMESTAMP, CUSTOM = "TIMESTAMP", "CUSTOM"

_CLASSES = {
    f"org.apache.hudi.keygen.{name}": kind
    for kind, names in {
        SIMPLE: ("SimpleKeyGenerator", "SimpleAvroKeyGenerator"),
        COMPLEX: ("ComplexKeyGenerator", "ComplexAvroKeyGenerator"),
        NON_PARTITIONED: ("NonpartitionedKeyGenerator", "NonpartitionedAvroKeyGenerator"),
        TIMESTAMP: ("TimestampBasedKeyGenerator", "TimestampBasedAvroKeyGenerator"),
        CUSTOM: ("CustomKeyGenerator", "CustomAvroKeyGenerator"),
    }.items()
    for name in names
}
_TYPES = {f"{kind}{suffix}": kind for kind in set(_CLASSES.values()) for suffix in ("", "_AVRO")}

_MERGE_MODES = frozenset({"", "COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM"})
_STRATEGIES = frozenset({None, EVENT_TIME_STRATEGY, COMMIT_TIME_STRATEGY, PAYLOAD_STRATEGY})
_DATE_PARSER = "org.apache.hudi.keygen.parser.HoodieDateTimeParser"
_TIMESTAMP_TYPES = frozenset(
    {"UNIX_TIMESTAMP", "DATE_STRING", "MIXED", "EPOCHMILLISECONDS", "EPOCHMICROSECONDS", "SCALAR"}
)
_KEYS_FOUND_WITHOUT_META_FIELDS = frozenset({"Simple", "GlobalSimple"})
_ENCRYPTION = re.compile(r"^(hoodie\.|parquet\.)?(encryption\.|crypto\.|parquet\.(encryption|crypto)\.)")
_FALSE, _TRUE = "false", "true"

_COPY = "write its rows to another table at another base path"
_TELL = "leave the table in Observe, or " + _COPY


@dataclass(frozen=True, kw_only=True)
class _Property:
    """A property with few valid values: Hudi's default if it is missing, and the supported values."""

    key: str
    default: str
    possible: tuple[str, ...]
    alternatives: tuple[str, ...] = ()

    def found(self, properties: Mapping[str, str]) -> str:
        return next((properties[key] for key in (self.key, *self.alternatives) if key in properties), self.default)

    def honours(self, found: str) -> bool:
        # Hudi reads booleans and the modes of change data in any case of letters, and all other values as spelt.
        return found in self.possible or (self.key in _IN_ANY_CASE and found.lower() in map(str.lower, self.possible))


_CDC_MODE = "hoodie.table.cdc.supplemental.logging.mode"
_META_FIELDS = "hoodie.populate.meta.fields"
_BOOLEANS = {
    "hoodie.table.multiple.base.file.formats.enable": (_FALSE,),
    "hoodie.datasource.write.drop.partition.columns": (_FALSE,),
    "hoodie.table.cdc.enabled": (_FALSE, _TRUE),
    _META_FIELDS: (_TRUE, _FALSE),
}
_IN_ANY_CASE = frozenset({_CDC_MODE, *_BOOLEANS})
_FEW_VALUES = (
    _Property(
        key="hoodie.table.base.file.format",
        alternatives=("hoodie.table.ro.file.format",),
        default="PARQUET",
        possible=("PARQUET",),
    ),
    _Property(
        key="hoodie.table.log.file.format",
        alternatives=("hoodie.table.rt.file.format",),
        default="HOODIE_LOG",
        possible=("HOODIE_LOG",),
    ),
    _Property(key="hoodie.table.format", default="native", possible=("native",)),
    _Property(key=_CDC_MODE, default="DATA_BEFORE_AFTER", possible=("DATA_BEFORE_AFTER", "DATA_BEFORE", "OP_KEY_ONLY")),
    _Property(
        key="hoodie.table.partial.update.mode",
        default="NONE",
        possible=("NONE", "IGNORE_DEFAULTS", "FILL_UNAVAILABLE"),
    ),
    *(_Property(key=key, default=possible[0], possible=possible) for key, possible in _BOOLEANS.items()),
)


@dataclass(frozen=True, kw_only=True)
class Unsupported:
    """An unsupported property: its supported values, the table's value, and the advice. `found` is not bounded.

    `refuses` are the services that do not start; restore and erasure are among `Service.OPERATION`.
    """

    key: str
    possible: str
    found: str
    advice: str = _TELL
    refuses: frozenset[Service] = EVERY_SERVICE


def unsupported(properties: Mapping[str, str], *, declared_index: str | None, ingests: bool) -> Iterator[Unsupported]:
    """Yield every unsupported property of a table; properties of key lookup count only if rows are ingested."""
    yield from _version(properties)
    yield from _few_values(properties)
    yield from _kept_elsewhere(properties)
    yield from _merging(properties)
    yield from _keys(properties, ingests=ingests)
    if ingests:
        yield from _slashes(properties)
    yield from _without_meta_fields(properties, declared_index if ingests else None)


def key_generator_of(properties: Mapping[str, str]) -> str | None:
    """Return the kind of the key generator; None unless it is a key generator of Hudi with columns as keys.

    The class goes before the type (`KeyGeneratorType.getKeyGeneratorClassName`); without either, the columns decide
    (`KeyGenUtils.inferKeyGeneratorType`).
    """
    named = properties.get("hoodie.table.keygenerator.class")
    if named is not None:
        return _CLASSES.get(named)
    named = properties.get("hoodie.table.keygenerator.type")
    if named is not None:
        return _TYPES.get(named)
    partitions = columns_of(properties.get("hoodie.table.partition.fields"))
    keys = columns_of(properties.get("hoodie.table.recordkey.fields"))
    if not partitions:
        return NON_PARTITIONED
    return SIMPLE if len(partitions) == len(keys) == 1 else COMPLEX


def _version(properties: Mapping[str, str]) -> Iterator[Unsupported]:
    if version_of(properties) not in WRITTEN_VERSIONS:
        found = properties.get(TABLE_VERSION, "")
        yield Unsupported(key=TABLE_VERSION, possible="6, 8 or 9", found=found, advice=_OTHER_VERSION)


def _few_values(properties: Mapping[str, str]) -> Iterator[Unsupported]:
    for one in _FEW_VALUES:
        found = one.found(properties)
        if not one.honours(found):
            yield Unsupported(key=one.key, possible=" or ".join(one.possible), found=found)


def _kept_elsewhere(properties: Mapping[str, str]) -> Iterator[Unsupported]:
    """Yield the properties of a table with rows outside its own files, or in unreadable files."""
    bootstrap = properties.get("hoodie.bootstrap.base.path")
    if bootstrap:
        yield Unsupported(
            key="hoodie.bootstrap.base.path", possible="a table that was not bootstrapped", found=bootstrap
        )
    encrypted = sorted(key for key in properties if _ENCRYPTION.match(key))
    if encrypted:
        yield Unsupported(key=encrypted[0], possible="a table without encryption", found=properties[encrypted[0]])


def _merging(properties: Mapping[str, str]) -> Iterator[Unsupported]:
    mode = properties.get("hoodie.record.merge.mode", "")
    if mode.upper() not in _MERGE_MODES:
        possible = "COMMIT_TIME_ORDERING, EVENT_TIME_ORDERING or CUSTOM by a payload class of Hudi"
        yield Unsupported(key="hoodie.record.merge.mode", possible=possible, found=mode)
    payload, strategy = payload_of(properties), strategy_of(properties)
    by_payload = mode.upper() == "CUSTOM" or strategy == PAYLOAD_STRATEGY
    if (payload is None and by_payload) or (payload is not None and payload not in PAYLOADS):
        yield Unsupported(
            key="hoodie.compaction.payload.class",
            possible="a payload class of Hudi for rows, such as DefaultHoodieRecordPayload",
            found=payload or "",
        )
    if strategy not in _STRATEGIES:
        possible = "the strategy by event time, by commit time or by a payload class"
        yield Unsupported(key="hoodie.record.merge.strategy.id", possible=possible, found=strategy or "")


def _keys(properties: Mapping[str, str], *, ingests: bool) -> Iterator[Unsupported]:
    keys = columns_of(properties.get("hoodie.table.recordkey.fields"))
    if not keys:
        yield Unsupported(
            key="hoodie.table.recordkey.fields",
            possible="a table with a record key",
            found="",
            advice="Hudi makes the keys of this table itself, so nothing can be upserted; " + _TELL,
        )
    kind = key_generator_of(properties)
    if kind is None:
        key = "hoodie.table.keygenerator.class"
        key = key if key in properties else "hoodie.table.keygenerator.type"
        possible = "Hudi's key generator Simple, Complex, NonPartitioned, TimestampBased or Custom"
        yield Unsupported(key=key, possible=possible, found=properties.get(key, ""))
    if kind in {TIMESTAMP, CUSTOM}:
        yield from _timestamps(properties, kind=kind)
    if ingests and kind == COMPLEX and len(keys) == 1 and (version_of(properties) or 0) < 9:
        yield Unsupported(
            key="hoodie.table.keygenerator.class",
            possible="Complex with several record key columns, or table version 9",
            found=f"Complex with the single record key column {keys[0]}",
            advice="Hudi releases write such keys either as value or as column:value, and the table does not record "
            f"which, so rows could be duplicated: leave ingestion to the tool that does it now, or {_COPY}",
        )


def _slashes(properties: Mapping[str, str]) -> Iterator[Unsupported]:
    """Yield day partitions in folders such as `2026/01/02` if Hudi or the column may make the slashes.

    A DataFrame of Hudi 1.2.0 stores the reader of such folders with the table, and not the option of the writer, so
    that nothing tells which of them does.
    """
    reader = properties.get("hoodie.table.partition_extractor_class", "")
    is_one = len(columns_of(properties.get("hoodie.table.partition.fields"))) == 1
    if is_one and reader.endswith(".SlashEncodedDayPartitionValueExtractor") and SLASHED not in properties:
        yield Unsupported(
            key=SLASHED,
            possible="true or false where days lie in folders such as 2026/01/02",
            found="",
            advice="add it to hoodie.properties (Hudi CLI: table update-configs): true if the column holds values "
            "such as 2026-01-02, false if it holds 2026/01/02; or leave ingestion to the tool that does it "
            "now",
        )


def _timestamps(properties: Mapping[str, str], *, kind: str) -> Iterator[Unsupported]:
    """Yield the missing properties that a key generator needs to find the partition of a row again."""
    if kind == CUSTOM:
        fields = columns_of(properties.get("hoodie.table.partition.fields"))
        kinds = {field.rpartition(":")[2].upper() if ":" in field else "" for field in fields}
        if not kinds <= {"SIMPLE", "TIMESTAMP"}:
            yield Unsupported(
                key="hoodie.table.partition.fields",
                possible="columns with their kinds, as in day:TIMESTAMP",
                found=properties.get("hoodie.table.partition.fields", ""),
            )
        if "TIMESTAMP" not in kinds:
            return
    type_ = _timebased(properties, "timestamp.type")
    wanted = ["timestamp.type", "output.dateformat"]
    wanted += ["input.dateformat"] if type_ in {"DATE_STRING", "MIXED"} else []
    for name in (each for each in wanted if not _timebased(properties, each)):
        yield _kept(f"hoodie.keygen.timebased.{name}", "the option that the table was written with", "")
    if type_ and type_ not in _TIMESTAMP_TYPES:
        yield _kept("hoodie.keygen.timebased.timestamp.type", " or ".join(sorted(_TIMESTAMP_TYPES)), type_)
    parser = properties.get("hoodie.keygen.datetime.parser.class")
    if parser and parser != _DATE_PARSER:
        yield Unsupported(key="hoodie.keygen.datetime.parser.class", possible="the parser of Hudi", found=parser)


def _kept(key: str, possible: str, found: str) -> Unsupported:
    advice = "add the writer's value to hoodie.properties (Hudi CLI: table update-configs), or " + _TELL
    return Unsupported(key=key, possible=possible, found=found, advice=advice)


def _timebased(properties: Mapping[str, str], name: str) -> str:
    now, before = f"hoodie.keygen.timebased.{name}", f"hoodie.deltastreamer.keygen.timebased.{name}"
    return properties.get(now, properties.get(before, ""))


def _without_meta_fields(properties: Mapping[str, str], declared_index: str | None) -> Iterator[Unsupported]:
    """Yield the properties that lose or repeat rows if files hold no keys.

    Hudi then derives a stored row's key from its columns again, which only some key generators can
    (`BaseHoodieWriteClient.validateAgainstTableProperties`), and only an index that reads those columns finds the row.
    """
    key = _META_FIELDS
    if properties.get(key, _TRUE).lower() != _FALSE:
        return
    if key_generator_of(properties) in {TIMESTAMP, CUSTOM}:
        possible = "key generator Simple, Complex or NonPartitioned where meta fields are off"
        yield Unsupported(key=key, possible=possible, found=_FALSE)
    if len(columns_of(properties.get("hoodie.table.recordkey.fields"))) > 1:
        yield Unsupported(key=key, possible="a single record key column where meta fields are off", found=_FALSE)
    if declared_index is not None and declared_index not in _KEYS_FOUND_WITHOUT_META_FIELDS:
        yield Unsupported(
            key=key,
            possible=f"index Simple or GlobalSimple where meta fields are off, not {declared_index}",
            found=_FALSE,
            advice="declare index type Simple or GlobalSimple: other types do not find the existing rows",
        )
