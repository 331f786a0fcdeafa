"""The declared columns of a table, and which differences from its columns a run resolves."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.table.column_types import (
    ColumnKind,
    StoredColumn,
    UnknownType,
    decimal_digits,
    parse_type,
)
from hudi_jobs.contract.vocabulary import SchemaEvolution

MOST_COLUMNS = 300
"""The most columns that a table may declare."""

LONGEST_TYPE = 2_000
"""The most characters of a type."""

LONGEST_COMMENT = 256
"""The most characters of a comment, as a Hive Metastore keeps them."""


class UndeclaredColumns(StrEnum):
    """What happens to columns of the input that the table does not declare."""

    REFUSE = "Refuse"
    """The run is refused, and names them."""

    IGNORE = "Ignore"
    """They are left out, and the message of the run names them."""


def known_type(text: str) -> str:
    """Return the text of a type; raise `ValueError` for a text that is none."""
    try:
        parse_type(text)
    except UnknownType as error:
        raise ValueError(f"the type {text[:80]!r} {error}") from error
    return text


class DeclaredColumn(Document):
    """A declared column: its name, its type as Spark writes it, and its comment."""

    name: Annotated[str, Field(max_length=256)]
    type: Annotated[str, Field(max_length=LONGEST_TYPE), AfterValidator(known_type)]
    nullable: bool = True
    comment: Annotated[str | None, Field(max_length=LONGEST_COMMENT)] = None

    @property
    def kind(self) -> ColumnKind:
        """The type as a value."""
        return parse_type(self.type)


class DeclaredSchema(Document):
    """All columns of a table, as its spec declares them."""

    columns: tuple[DeclaredColumn, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    undeclared: UndeclaredColumns = UndeclaredColumns.REFUSE
    evolution: SchemaEvolution = SchemaEvolution.ADD_COLUMNS

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL, without comments."""
        return ", ".join(f"`{one.name}` {one.type}" for one in self.columns)


@dataclass(frozen=True)
class SchemaChange:
    """A column (nested names have dots) that differs from the table's.

    `declared` and `stored` are the types, None where there is no such column. `problem` says why no run makes the
    change, and what to do; None if the next run that writes rows makes the change.
    """

    path: str
    declared: str | None
    stored: str | None
    problem: str | None = None


@dataclass(frozen=True)
class _Rules:
    """What decides about a change beside the types: the evolution, and the uses of columns."""

    evolution: SchemaEvolution
    uses: Mapping[str, str] = field(default_factory=dict)


def schema_changes(
    declared: DeclaredSchema, stored: tuple[StoredColumn, ...], uses: Mapping[str, str]
) -> tuple[SchemaChange, ...]:
    """Return every difference between the declared columns and those of the table.

    `uses` names the columns that keep their type, such as `record key`, by their use.
    """
    rules = _Rules(declared.evolution, uses)
    table = {one.name: one.kind for one in stored}
    wanted = {one.name: one for one in declared.columns}
    found = [
        SchemaChange(name, None, str(kind), _lacking(name, kind)) for name, kind in table.items() if name not in wanted
    ]
    for name, one in wanted.items():
        if name in table:
            found += _changes(table[name], one.kind, name, rules, nested=False)
        else:
            found.append(SchemaChange(name, one.type, None, _addition(one, rules)))
    return tuple(found)


_DROPPED = (
    "no run drops or renames a column, because table services read older files by the names of columns, so values of a "
    "dropped column would come back and values of a renamed column would be lost: declare the column"
)
_EVOLUTION = "schema.evolution is None, so no run changes the columns of the table: set it to AddColumns"


_UNDECLARABLE = "no declaration can have {}: remove schema.columns, so that the input decides"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _lacking(name: str, kind: ColumnKind) -> str:
    """Return why a column of the table has to be declared, or why the table cannot have a declaration."""
    if _PLAIN_NAME.fullmatch(name) is None:
        return _UNDECLARABLE.format("a column of this name")
    return _DROPPED if _is_declarable(kind) else _UNDECLARABLE.format("a column of this type")


def _is_declarable(kind: ColumnKind) -> bool:
    try:
        parse_type(str(kind))
    except UnknownType:
        return False
    return True


def _addition(column: DeclaredColumn, rules: _Rules) -> str | None:
    if rules.evolution is SchemaEvolution.NONE:
        return _EVOLUTION
    if not column.nullable:
        return "rows that the table has would have no value in it: declare it with nullable true"
    return None


def _changes(stored: ColumnKind, wanted: ColumnKind, at: str, rules: _Rules, *, nested: bool) -> Iterator[SchemaChange]:
    if stored.name == wanted.name == "struct":
        yield from _fields(dict(stored.parts), dict(wanted.parts), at, rules)
    elif stored.name == wanted.name and stored.parts:
        (name, part), (_, other) = stored.parts[0], wanted.parts[0]
        yield from _changes(part, other, f"{at}.{name}", rules, nested=True)
    elif stored != wanted:
        yield SchemaChange(at, str(wanted), str(stored), _retyping(stored, wanted, at, rules, nested=nested))


def _fields(
    stored: Mapping[str, ColumnKind], wanted: Mapping[str, ColumnKind], at: str, rules: _Rules
) -> Iterator[SchemaChange]:
    for name, kind in stored.items():
        if name in wanted:
            yield from _changes(kind, wanted[name], f"{at}.{name}", rules, nested=True)
        else:
            yield SchemaChange(f"{at}.{name}", None, str(kind), _lacking(name, kind))
    for name, kind in wanted.items():
        if name not in stored:
            problem = _EVOLUTION if rules.evolution is SchemaEvolution.NONE else None
            yield SchemaChange(f"{at}.{name}", str(kind), None, problem)


def _retyping(stored: ColumnKind, wanted: ColumnKind, at: str, rules: _Rules, *, nested: bool) -> str | None:
    if not _is_declarable(stored):
        return _UNDECLARABLE.format(f"the type {stored}")
    declare = f"declare {stored}"
    if not is_wider(wanted.name, stored.name):
        narrower = is_wider(stored.name, wanted.name)
        why = "a column cannot become narrower" if narrower else "Hudi cannot read older files with this type"
        return f"{why}: {declare}"
    if at in rules.uses:
        return f"the {rules.uses[at]} column keeps its type, because Hudi compares the values of stored rows: {declare}"
    if nested:
        return f"Hudi cannot read older files where a part of a column became wider: {declare}"
    return _EVOLUTION if rules.evolution is SchemaEvolution.NONE else None


_WIDER = {("bigint", "int"), ("double", "float")}


def is_wider(wide: str, narrow: str) -> bool:
    """Tell whether Hudi reads files with the narrow type once a whole column has the wide type."""
    more, fewer = decimal_digits(wide), decimal_digits(narrow)
    if more is not None and fewer is not None:
        return more[1] == fewer[1] and more[0] > fewer[0]
    return (wide, narrow) in _WIDER
