"""Decides which incoming schemas a table accepts: pure values, compared before anything is written.

Hudi 1.2.0 by itself turns an integer or double column into a text and a long column into a timestamp, without a
message, and fails late on other types. So only changes that keep every value pass here: new columns, new fields of
structs, columns that become wider in a way that Hudi is known to read older files in, and narrower types, which are
cast before the write. Columns of keys keep their type: Hudi compares keys as text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from hudi_jobs.contract import FailureReason, SchemaEvolution, TableDefinition
from hudi_jobs.schemas.types import can_widen, fits, is_wider_integer, same, without_bounds, written_type
from hudi_jobs.schemas.writable import DELETE_MARK, OWN_COLUMNS
from hudi_jobs.spark.failures import TaskFailed

_HUDI_COLUMNS = OWN_COLUMNS | {DELETE_MARK}


@dataclass(frozen=True)
class Refusal:
    """Why an incoming schema is refused: the column (nested names have dots), and its change."""

    reason: FailureReason
    message: str


def require_columns(incoming: StructType, wanted: dict[str, str]) -> None:
    """Raise `TaskFailed` when a column that the table's definition names is absent.

    `wanted` maps each column to its purpose, such as "record key".
    """
    present = set(incoming.fieldNames())
    for column, purpose in wanted.items():
        if column not in present:
            raise TaskFailed(
                FailureReason.COLUMN_MISSING,
                f"The {purpose} column {column} is not among the incoming columns ({_some(sorted(present))}); "
                "add it to the source or in the transform.",
            )


@dataclass(frozen=True)
class Rules:
    """The changes that a table accepts: its evolution, and the columns (nested with dots) that must keep their type."""

    evolution: SchemaEvolution
    keys: frozenset[str] = frozenset()
    """Columns that are a part of the record key or of the partition path as text."""

    ordering: frozenset[str] = frozenset()
    """Columns that decide which of two rows is newer; values of two types may not be comparable."""

    @classmethod
    def of(cls, definition: TableDefinition, evolution: SchemaEvolution) -> "Rules":
        """Return the rules of a declared table."""
        keys = frozenset(definition.record_key + definition.partition_by)
        return cls(evolution, keys, frozenset(definition.ordering_fields))


def conform(table: StructType, incoming: StructType, rules: Rules) -> StructType:
    """Return the types that the incoming columns are cast to before the write.

    Raises `TaskFailed` for the first refused change from the table's schema to the incoming schema.
    """
    refusal = next(refusals(table, incoming, rules), None)
    if refusal is not None:
        raise TaskFailed(refusal.reason, refusal.message)
    written = without_bounds(written_type(table, incoming))
    assert isinstance(written, StructType), "a row stays a row"
    return written


def conform_keys(table: StructType, incoming: StructType, rules: Rules) -> StructType:
    """Do the same for rows to delete: only the columns that identify the rows must be there and fit."""
    roots = {column.partition(".")[0] for column in rules.keys | rules.ordering}
    identity = StructType([field for field in table.fields if field.name in roots])
    known = conform(
        identity,
        StructType([f for f in incoming.fields if f.name in roots]),
        replace(rules, evolution=SchemaEvolution.NONE),
    )
    return StructType([known[f.name] if f.name in roots else f for f in incoming.fields])


def refusals(table: StructType, incoming: StructType, rules: Rules) -> Iterator[Refusal]:
    """Yield every reason to refuse the incoming schema."""
    yield from _compare_fields(table, incoming, rules, "")


def _compare_fields(table: StructType, incoming: StructType, rules: Rules, at: str) -> Iterator[Refusal]:
    old = {field.name: field.dataType for field in table.fields if field.name not in _HUDI_COLUMNS}
    new = {field.name: field.dataType for field in incoming.fields if field.name not in _HUDI_COLUMNS}
    for name in old.keys() - new.keys():
        yield Refusal(
            FailureReason.COLUMN_MISSING,
            f"The table's column {at}{name} is not among the incoming columns, and its values would become null; "
            "add it to the source or in the transform.",
        )
    for name in (name for name in new if name in old):
        yield from _compare(old[name], new[name], rules, f"{at}{name}", nested=bool(at))
    if rules.evolution is SchemaEvolution.NONE:
        for name in (name for name in new if name not in old):
            yield Refusal(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"The incoming column {at}{name} is not in the table, and the schema evolution is None; "
                "leave it out in the transform or set the evolution to AddColumns.",
            )


def _compare(old: DataType, new: DataType, rules: Rules, at: str, *, nested: bool) -> Iterator[Refusal]:
    if at in rules.keys:
        if not (same(old, new) or is_wider_integer(old, new)):
            yield _changed(old, new, at, "It is a part of the key, and another type may change the key's text; ")
    elif isinstance(old, StructType) and isinstance(new, StructType):
        yield from _compare_fields(old, new, rules, f"{at}.")
    elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from _compare(old.elementType, new.elementType, rules, f"{at}.element", nested=True)
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from _compare(old.keyType, new.keyType, rules, f"{at}.key", nested=True)
        yield from _compare(old.valueType, new.valueType, rules, f"{at}.value", nested=True)
    elif not fits(old, new):
        yield from _widened(old, new, rules, at, nested=nested)


def _widened(old: DataType, new: DataType, rules: Rules, at: str, *, nested: bool) -> Iterator[Refusal]:
    """Yield why a type that does not fit the table's type cannot become the table's."""
    if at in rules.ordering:
        yield _changed(old, new, at, "It is an ordering field, and its values must stay comparable; ")
    elif not can_widen(old, new):
        yield _changed(old, new, at, "")
    elif nested:
        yield _changed(old, new, at, "Hudi cannot read older files where a part of a column became wider; ")
    elif rules.evolution is SchemaEvolution.NONE:
        yield _changed(old, new, at, "The schema evolution is None; ")


def _changed(old: DataType, new: DataType, at: str, why: str) -> Refusal:
    has, brings = old.simpleString(), new.simpleString()
    return Refusal(
        FailureReason.SCHEMA_INCOMPATIBLE,
        f"The column {at} is {has} in the table and {brings} in the input. {why}cast it to {has} in the transform.",
    )


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:12])
    return f"{shown}, ..." if len(names) > 12 else shown or "none"
