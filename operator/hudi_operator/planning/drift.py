"""What a table has that its resource declares otherwise, and that no run can bring into line."""

from dataclasses import dataclass

from hudi_jobs.contract import may_follow
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.table_spec import HudiTableSpec
from hudi_operator.jobs.hudi_options import declared_index
from hudi_operator.planning.model import TimelineLook
from hudi_operator.timeline import TableProperties

DRIFT = "DeclaredOtherwise"
"""The table has something that the spec declares otherwise; the condition Drift names both."""


_RECORD_KEY = "hoodie.table.recordkey.fields"


@dataclass(frozen=True, kw_only=True)
class Drifted:
    """A field of the spec, what it declares, and what the table has."""

    field: str
    declared: str
    found: str


def drift_of(table: HudiTable, look: TimelineLook) -> tuple[Drifted, ...]:
    """Return everything of a table's identity that differs from its resource, as far as a look has seen it."""
    if look.timeline is None:
        return ()
    spec, properties = table.spec, look.timeline.properties
    pairs = (
        ("tableName", table.table_name, properties.name),
        ("type", spec.type.hudi_name, properties.table_type.value),
        *(_keys(spec, properties) if properties.get(_RECORD_KEY) else ()),
    )
    found = [Drifted(field=field, declared=ours, found=theirs) for field, ours, theirs in pairs if ours != theirs]
    index = declared_index(spec.index)
    if look.index is not None and not may_follow(look.index, index):
        found.append(Drifted(field="index", declared=index, found=look.index))
    return tuple(found)


def drift_message(drift: tuple[Drifted, ...]) -> str:
    """Return the sentences about everything that differs."""
    parts = (f"{one.field}: {one.declared} is declared, and the table has {one.found}." for one in drift)
    return (
        f"{' '.join(parts)} Nothing is written, because rows would be lost or written again: declare what the table "
        "has, or create another table at another base path and write the data to it."
    )


def _keys(spec: HudiTableSpec, properties: TableProperties) -> tuple[tuple[str, str, str], ...]:
    return (
        ("recordKey", _listed(",".join(spec.record_key)), _columns(properties, _RECORD_KEY)),
        ("partitionBy", _listed(",".join(spec.partition_by)), _columns(properties, "hoodie.table.partition.fields")),
    )


def _columns(properties: TableProperties, key: str) -> str:
    # A custom key generator notes the kind of each partition column, as in `day:TIMESTAMP`.
    return _listed(",".join(name.partition(":")[0] for name in (properties.get(key) or "").split(",")))


def _listed(columns: str) -> str:
    return columns or "(none)"
