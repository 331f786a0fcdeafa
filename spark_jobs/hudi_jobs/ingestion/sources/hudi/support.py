"""Upstream tables with rows that show every change, by their properties: pure rules.

The rules for written tables hold here too, because the file is somebody else's and names classes that Hudi loads. The
key lookup of a table concerns only its writers, unless Hudi's reader takes the value of a partition column from the
name of its folder.
"""

from collections.abc import Iterator, Mapping

from hudi_jobs.contract.table.merging import payload_of, version_of
from hudi_jobs.contract.table.properties import shown
from hudi_jobs.contract.table.support import (
    COMPLEX,
    NON_PARTITIONED,
    SIMPLE,
    SLASHED,
    TABLE_VERSION,
    key_generator_of,
    unsupported,
)

FIRST_VERSION = 8
"""The first version with completion times in commits; without them archived commits cannot be told from read commits.
"""

_WRITERS_BUSINESS = frozenset({"hoodie.table.recordkey.fields"})
_META_FIELDS = "hoodie.populate.meta.fields"
_SELF_DELETING = ("AWSDmsAvroPayload", "MySqlDebeziumAvroPayload", "PostgresDebeziumAvroPayload")
_LEGACY_PAYLOAD = "hoodie.table.legacy.payload.class"
_MERGE_PROPERTY = "hoodie.record.merge.property."


def obstacles(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the obstacles to following a table, as parts of a sentence."""
    version = version_of(properties)
    if version is not None and version < FIRST_VERSION:
        yield f"it has {TABLE_VERSION} {version}, which does not record when commits completed; upgrade it to 8 or 9"
    for one in unsupported(properties, declared_index=None, ingests=False):
        if one.key not in _WRITERS_BUSINESS:
            yield f"it has {one.key} {shown(one.found) or '(empty)'}, and must have {one.possible}"
    if properties.get(_META_FIELDS, "true").lower() != "true":
        yield f"it has {_META_FIELDS} false, so no row says which commit wrote it"
    yield from _deletes_unseen(properties)
    yield from _partitions_by_name(properties)


def _deletes_unseen(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the properties that delete rows when they are merged, which no commit counts."""
    if properties.get("hoodie.record.merge.mode", "").upper() == "CUSTOM":
        yield "it has hoodie.record.merge.mode CUSTOM, which may drop rows that no commit counts as deleted"
    for payload in (payload_of(properties), properties.get(_LEGACY_PAYLOAD)):
        if payload is not None and payload.endswith(_SELF_DELETING):
            yield f"it has the payload class {shown(payload)}, which drops rows that no commit counts as deleted"
    for key in sorted(properties):
        if key.startswith(_MERGE_PROPERTY) and "delete" in key:
            yield f"it has {shown(key)}, which drops rows that no commit counts as deleted"


def _partitions_by_name(properties: Mapping[str, str]) -> Iterator[str]:
    kind = key_generator_of(properties)
    if kind not in {SIMPLE, COMPLEX, NON_PARTITIONED, None}:
        yield f"it has the key generator {kind}, whose partition columns Hudi may read from the names of folders"
    if properties.get(SLASHED, "false").lower() == "true":
        yield f"it has {SLASHED}, whose partition columns Hudi may read from the names of folders"
