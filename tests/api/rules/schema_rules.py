"""What the API server accepts and refuses of the declared columns of a HudiTable."""

from typing import Any

Document = dict[str, Any]

KEYS = [{"name": "carrier", "type": "string"}, {"name": "flight", "type": "int"}]


def columns(*more: Document, keys: list[Document] = KEYS, **fields: Any) -> Document:
    return {"spec.schema": {"columns": [*keys, *more], **fields}}


def column(kind: str, **fields: Any) -> Document:
    return {"name": "c", "type": kind, **fields}


MANY = [{"name": f"{'c' * 40}{number}", "type": "string", "comment": "x" * 50} for number in range(298)]

ACCEPTED: dict[str, Document] = {
    "columns of every kind": columns(
        *(
            {"name": f"c{place}", "type": kind}
            for place, kind in enumerate(
                (
                    "boolean",
                    "bigint",
                    "float",
                    "double",
                    "binary",
                    "date",
                    "timestamp",
                    "decimal(38,10)",
                    "array<struct<Sku:string,sizes:array<int>>>",
                    "map<string,decimal(10,2)>",
                )
            )
        ),
        undeclared="Ignore",
    ),
    "a column with all fields": columns(column("int", nullable=False, comment="Meilen, géographiques; 航程")),
    "as many columns as there may be": columns(*MANY),
    "no columns": {"spec.schema": {"columns": []}},
}

REFUSED: dict[str, tuple[Document, str]] = {
    "a type of another spelling": (columns(column("BIGINT")), "must be boolean, int, bigint"),
    "a type with a blank": (columns(column("decimal(10, 2)")), "must be boolean, int, bigint"),
    "a type that readers do not agree on": (columns(column("timestamp_ntz")), "must be boolean, int, bigint"),
    "a column of Hudi's own": (columns({"name": "_hoodie_is_deleted", "type": "boolean"}), "a column name may contain"),
    "a comment with a line break": (columns(column("int", comment="a\nb")), "comment must not have control characters"),
    "a column twice": (columns(column("int"), column("int")), "Duplicate value"),
    "a key that is not declared": (
        columns(keys=KEYS[:1]),
        "schema.columns must declare the columns of recordKey, partitionBy and orderingFields",
    ),
    "a partition column that is not declared": (
        {**columns(), "spec.partitionBy": ["day"]},
        "schema.columns must declare the columns of recordKey, partitionBy and orderingFields",
    ),
    "a policy without columns": (
        {"spec.schema": {"undeclared": "Ignore"}},
        "undeclared is only for a table with columns",
    ),
    "too much text": (
        columns(*({**one, "comment": "x" * 256} for one in MANY)),
        "names, types and comments must not have more than 32768 characters together",
    ),
}

CHANGES_ACCEPTED: dict[str, tuple[Document, Document]] = {
    "another column": (columns(), columns(column("int"))),
    "another order": (columns(), columns(keys=KEYS[::-1])),
    "wider types": (columns(column("decimal(9,2)")), columns(column("decimal(12,2)"), keys=KEYS)),
    "a longer integer": (columns(column("int")), columns(column("bigint"))),
    "a field of a struct": (columns(column("struct<a:int>")), columns(column("struct<a:int,b:int>"))),
    "a column that may be null": (columns(column("int", nullable=False)), columns(column("int", nullable=True))),
    "an end of the declaration": (columns(), {"spec.schema": None}),
    "a comment": (columns(column("int")), columns(column("int", comment="miles"))),
}

_WIDER = "type can only become wider"

CHANGES_REFUSED: dict[str, tuple[Document, Document, str]] = {
    "a narrower integer": (columns(column("bigint")), columns(column("int")), _WIDER),
    "a text of a number": (columns(column("int")), columns(column("string")), _WIDER),
    "another scale": (columns(column("decimal(9,2)")), columns(column("decimal(12,3)")), _WIDER),
    "fewer digits": (columns(column("decimal(9,2)")), columns(column("decimal(8,2)")), _WIDER),
    "a column without null": (columns(column("int")), columns(column("int", nullable=False)), "nullable cannot become"),
    "a column that is removed": (columns(column("int")), columns(), "a column cannot be removed or renamed"),
}
