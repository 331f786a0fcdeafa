"""The columns that a table declares, and the allowed changes of its schema."""

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from hudi_jobs.contract import SchemaEvolution
from hudi_jobs.contract.table.columns import (
    LONGEST_COMMENT,
    LONGEST_TYPE,
    MOST_COLUMNS,
    DeclaredColumn,
    DeclaredSchema,
    UndeclaredColumns,
    known_type,
)
from hudi_operator.api.values.base import Model, rules, words
from hudi_operator.api.values.names import PlainColumn

_MOST_TEXT = 32_768
_TYPES = (
    "boolean|int|bigint|float|double|string|binary|date|timestamp|decimal[(][1-9][0-9]?,(0|[1-9][0-9]?)[)]|"
    "(array|map|struct)<[A-Za-z0-9_<>:,()]+>"
)
_WIDER = (
    "self == oldSelf || self.contains('<') || oldSelf.contains('<') || "
    "(oldSelf == 'int' && self == 'bigint') || (oldSelf == 'float' && self == 'double') || "
    "(oldSelf.startsWith('decimal(') && self.startsWith('decimal(') && "
    "oldSelf.substring(oldSelf.indexOf(',')) == self.substring(self.indexOf(',')) && "
    "int(self.substring(8, self.indexOf(','))) >= int(oldSelf.substring(8, oldSelf.indexOf(','))))"
)


class SchemaColumn(Model):
    """A column of the table."""

    name: PlainColumn
    """Name of the column."""

    type: Annotated[
        str,
        Field(
            pattern=f"^({_TYPES})$",
            max_length=LONGEST_TYPE,
            json_schema_extra=words(
                "must be boolean, int, bigint, float, double, string, binary, date, timestamp, decimal(p,s), "
                "array<...>, map<string,...> or struct<name:type,...>, without blanks",
                (
                    _WIDER,
                    "type can only become wider: int to bigint, float to double, and a decimal with more digits and "
                    "the same scale; Hudi cannot read older files with other types",
                ),
            ),
        ),
        AfterValidator(known_type),
    ]
    """Type as Spark writes it: boolean, int, bigint, float, double, string, binary, date, timestamp, decimal(p,s),
    array<...>, map<string,...> or struct<name:type,...>. It can only become wider.
    """

    nullable: bool = True
    """Whether the column may be without a value; with false, a row without a value is a bad record."""

    comment: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=LONGEST_COMMENT,
                json_schema_extra=rules((r"!self.matches(r'\p{C}')", "comment must not have control characters")),
            ),
        ]
        | None
    ) = None
    """Comment for people, which the catalog shows."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.nullable) || self.nullable || (has(oldSelf.nullable) && !oldSelf.nullable)",
                "nullable cannot become false: rows that the table has may be without a value",
            ),
        )
    )


class SchemaPolicy(Model):
    """Columns of the table, and allowed changes of its schema."""

    evolution: SchemaEvolution = SchemaEvolution.ADD_COLUMNS
    """AddColumns accepts new columns and lossless widening; None accepts no change at all."""

    columns: Annotated[
        tuple[SchemaColumn, ...],
        Field(
            max_length=MOST_COLUMNS,
            json_schema_extra={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                **rules(
                    (
                        "oldSelf.all(old, self.exists(column, column.name == old.name))",
                        "a column cannot be removed or renamed: table services read older files by the names of "
                        "columns, so values of a removed column would come back and values of a renamed column would "
                        "be lost; without any columns, the declaration ends",
                    ),
                    (
                        "self.map(column, size(column.name) + size(column.type) + "
                        f"(has(column.comment) ? size(column.comment) : 0)).sum() <= {_MOST_TEXT}",
                        f"names, types and comments must not have more than {_MOST_TEXT} characters together",
                    ),
                ),
            },
        ),
    ] = ()
    """All columns of the table, which rows have to fit; without them, the input decides."""

    undeclared: UndeclaredColumns = UndeclaredColumns.REFUSE
    """What happens to columns of the input that are not declared; only with columns."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.undeclared) || (has(self.columns) && size(self.columns) > 0)",
                "undeclared is only for a table with columns",
            ),
        )
    )

    @model_validator(mode="after")
    def _without_twins(self) -> Self:
        if len({one.name.lower() for one in self.columns}) < len(self.columns):
            raise ValueError(
                "schema.columns names a column twice; names that differ only in case are the same to Spark"
            )
        return self

    @property
    def declared(self) -> DeclaredSchema | None:
        """The declared columns for the driver; None if the input decides."""
        if not self.columns:
            return None
        columns = tuple(
            DeclaredColumn(name=one.name, type=one.type, nullable=one.nullable, comment=one.comment)
            for one in self.columns
        )
        return DeclaredSchema(columns=columns, undeclared=self.undeclared, evolution=self.evolution)


_USED = (
    "(self.recordKey + (has(self.partitionBy) ? self.partitionBy : []) + "
    "(has(self.orderingFields) ? self.orderingFields : []))"
)

SCHEMA_RULES = (
    (
        "!has(self.schema) || !has(self.schema.columns) || size(self.schema.columns) == 0 || "
        f"{_USED}.all(used, self.schema.columns.exists(column, column.name == used))",
        "schema.columns must declare the columns of recordKey, partitionBy and orderingFields",
    ),
)
"""Rules of a table with declared columns."""
