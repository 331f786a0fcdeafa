"""What of a table's spec may be changed, as the API server sees it."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

FILES = {"path": "s3a://landing/flights/", "format": "csv"}
INGESTION = {"spec.ingestion": {"source": {"files": FILES}}}
KIND = "index.type cannot be changed but between Bloom and Simple"
BUCKETS = "index.buckets (by default 256) cannot be changed"

CHANGES_ACCEPTED: dict[str, tuple[Document, Document]] = {
    "an empty list of partition columns for none": ({}, {"spec.partitionBy": []}),
    "another operation": (INGESTION, {"spec.ingestion.operation": "Insert"}),
    "Simple for the default index": ({}, {"spec.index": {"type": "Simple"}}),
    "the default index for Simple": ({"spec.index": {"type": "Simple"}}, {"spec.index": None}),
    "an index that says what is the default": ({}, {"spec.index": {"type": "Bloom"}}),
    "one global index for another": ({"spec.index": {"type": "GlobalBloom"}}, {"spec.index.type": "GlobalSimple"}),
    "buckets that say what is the default": ({"spec.index": {"type": "Bucket"}}, {"spec.index.buckets": 256}),
    "an empty list of ordering fields for none": ({}, {"spec.orderingFields": []}),
    "suspension": ({}, {"spec.suspend": True}),
}

CHANGES_REFUSED: dict[str, tuple[Document, Document, str]] = {
    "another base path": (
        {},
        {"spec.basePath": "s3a://lake/other"},
        "basePath cannot be changed; create another HudiTable instead",
    ),
    "a trailing slash in the base path": (
        {"spec.basePath": "s3a://lake/a"},
        {"spec.basePath": "s3a://lake/a/"},
        "basePath cannot be changed; create another HudiTable instead",
    ),
    "other ordering fields": (
        {"spec.orderingFields": ["a"]},
        {"spec.orderingFields": ["b", "a"]},
        "orderingFields cannot be changed; create another table",
    ),
    "an ordering for a table without": (
        {},
        {"spec.orderingFields": ["at"]},
        "orderingFields cannot be changed; create another table",
    ),
    "buckets for a table that has the default index": ({}, {"spec.index": {"type": "Bucket", "buckets": 4}}, KIND),
    "a bucket index that is taken away": ({"spec.index": {"type": "Bucket"}}, {"spec.index": None}, KIND),
    "a global index for a local one": ({"spec.index": {"type": "Simple"}}, {"spec.index.type": "GlobalSimple"}, KIND),
    "a record index": ({"spec.index": {"type": "Simple"}}, {"spec.index.type": "RecordLevel"}, KIND),
    "other buckets": ({"spec.index": {"type": "Bucket", "buckets": 4}}, {"spec.index.buckets": 8}, BUCKETS),
    "buckets for the default": ({"spec.index": {"type": "Bucket"}}, {"spec.index.buckets": 8}, BUCKETS),
    "the default for other buckets": (
        {"spec.index": {"type": "Bucket", "buckets": 4}},
        {"spec.index.buckets": None},
        BUCKETS,
    ),
    "another type": ({}, {"spec.type": "CopyOnWrite"}, "type cannot be changed; create another table"),
    "another record key": ({}, {"spec.recordKey": ["flight"]}, "recordKey cannot be changed; create another table"),
    "another order of the record key": (
        {"spec.recordKey": ["a", "b"]},
        {"spec.recordKey": ["b", "a"]},
        "recordKey cannot be changed; create another table",
    ),
    "no partition columns where there were some": (
        {"spec.partitionBy": ["month"]},
        {"spec.partitionBy": None},
        "partitionBy cannot be changed; create another table",
    ),
    "no table name where there was one": (
        {"spec.tableName": "flights"},
        {"spec.tableName": None},
        "tableName cannot be changed; create another table",
    ),
    "partition columns for a table that has none": (
        {},
        {"spec.partitionBy": ["month"]},
        "partitionBy cannot be changed; create another table",
    ),
    "other partition columns": (
        {"spec.partitionBy": ["month"]},
        {"spec.partitionBy": ["day"]},
        "partitionBy cannot be changed; create another table",
    ),
    "another order of the partition columns": (
        {"spec.partitionBy": ["year", "month"]},
        {"spec.partitionBy": ["month", "year"]},
        "partitionBy cannot be changed; create another table",
    ),
    "a table name where there was none": (
        {},
        {"spec.tableName": "flights"},
        "tableName cannot be changed; create another table",
    ),
    "another table name": (
        {"spec.tableName": "flights"},
        {"spec.tableName": "trips"},
        "tableName cannot be changed; create another table",
    ),
}
