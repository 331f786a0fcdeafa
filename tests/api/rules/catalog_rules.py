"""What the API server accepts and refuses of catalogs in a HudiTable and in a HudiTableClass."""

from typing import Any

Document = dict[str, Any]

ENTRY = {"database": "team_a", "table": "flights"}
HIVE = {"spec.catalog": {"hive": ENTRY}}
ALLOWED = {"metastoreUris": ["thrift://metastore.example.com:9083"], "allowedDatabases": ["{namespace}", "lake_*"]}

ACCEPTED: dict[str, Document] = {
    "an entry": HIVE,
    "an entry with days as partitions": {
        "spec.partitionBy": ["day"],
        "spec.catalog": {"hive": {**ENTRY, "partitionStyle": "Day", "takeOver": True}},
    },
}

REFUSED: dict[str, tuple[Document, str]] = {
    "no kind of catalog": ({"spec.catalog": {}}, "one of hive must be set"),
    "capital letters": (
        {"spec.catalog": {"hive": {**ENTRY, "table": "Flights"}}},
        "must be of lower-case letters, digits and '_'",
    ),
    "a database with a dot": (
        {"spec.catalog": {"hive": {**ENTRY, "database": "a.b"}}},
        "must be of lower-case letters, digits and '_'",
    ),
    "days of a table without partitions": (
        {"spec.catalog": {"hive": {**ENTRY, "partitionStyle": "Day"}}},
        "catalog.hive.partitionStyle Whole and Day need exactly one column in partitionBy",
    ),
    "a whole path for two columns": (
        {"spec.partitionBy": ["year", "month"], "spec.catalog": {"hive": {**ENTRY, "partitionStyle": "Whole"}}},
        "catalog.hive.partitionStyle Whole and Day need exactly one column in partitionBy",
    ),
}

CHANGES_ACCEPTED: dict[str, tuple[Document, Document]] = {
    "an end of the entry, which may be declared anew": (HIVE, {"spec.catalog": None}),
}

CHANGES_REFUSED: dict[str, tuple[Document, Document, str]] = {
    "another database": (HIVE, {"spec.catalog.hive.database": "team_b"}, "catalog.hive.database cannot be changed"),
    "another name": (HIVE, {"spec.catalog.hive.table": "trips"}, "catalog.hive.table cannot be changed"),
}

CLASSES_ACCEPTED: dict[str, Document] = {"a metastore": {"spec.catalog": {"hive": ALLOWED}}}

CLASSES_REFUSED: dict[str, tuple[Document, str]] = {
    "an address without a scheme": (
        {"spec.catalog": {"hive": {"metastoreUris": ["metastore:9083"]}}},
        "must be an address such as thrift://metastore.example.com:9083",
    ),
    "a port that does not exist": (
        {"spec.catalog": {"hive": {"metastoreUris": ["thrift://metastore:99999"]}}},
        "a port of metastoreUris must not be larger than 65535",
    ),
    "no address": (
        {"spec.catalog": {"hive": {"metastoreUris": []}}},
        "metastoreUris in body should have at least 1 items",
    ),
    "a pattern in the middle": (
        {"spec.catalog": {"hive": {**ALLOWED, "allowedDatabases": ["a*b"]}}},
        "must be the name of a database",
    ),
}
