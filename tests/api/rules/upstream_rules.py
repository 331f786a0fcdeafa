"""What the API server accepts and refuses in a source that is another Hudi table."""

from typing import Any

Document = dict[str, Any]

ORDERS = {"path": "s3a://lake/team-a/orders"}


def upstream(**fields: Any) -> Document:
    """Return the change that gives a table an upstream table with these fields."""
    return {"spec.ingestion": {"source": {"hudi": {**ORDERS, **fields}}}}


def reading(**fields: Any) -> Document:
    """Return the change that gives a table an upstream table and these fields of its ingestion."""
    return {"spec.ingestion": {"source": {"hudi": ORDERS}, **fields}}


UNKNOWN = 'unknown field "spec.ingestion.source.hudi.'
NOT_ITSELF = "basePath and ingestion.source.hudi.path must not lie inside one another: the table would read itself"
NO_UPSERT = "source.hudi needs operation Upsert: a row of the upstream table may come more than once"
QUARANTINED_THERE = (
    "quarantinePath and source.hudi.path must not lie inside one another: bad rows would lie in the upstream table"
)

ACCEPTED: dict[str, Document] = {
    "the smallest source": upstream(),
    "a path on a file system": upstream(path="file:///lake/orders"),
    "everything from the beginning": upstream(startingCommit="Earliest", onRemovedRows="Fail"),
    "what comes, whatever was removed": upstream(startingCommit="Latest", onRemovedRows="Ignore"),
    "so many commits in a run": upstream(maxCommitsPerRun=1),
    "batch after batch": reading(mode="Continuous", continuous={"minInterval": "1s"}),
    "an upsert by name": reading(operation="Upsert"),
    "a freshness": reading(freshness="10m"),
    "a quarantine elsewhere": reading(badRecords={"policy": "Quarantine", "quarantinePath": "s3a://lake/team-a/bad"}),
}

REFUSED: dict[str, tuple[Document, str]] = {
    "two sources": (
        {"spec.ingestion": {"source": {"hudi": ORDERS, "files": {"path": "s3a://landing/a", "format": "csv"}}}},
        "exactly one of files, kafka and hudi must be set",
    ),
    "no path": ({"spec.ingestion": {"source": {"hudi": {}}}}, "spec.ingestion.source.hudi.path: Required value"),
    "a bucket": (
        upstream(path="s3a://lake"),
        "path must be a folder below a bucket (s3a://bucket/folder) or a file path (file:///folder/folder), "
        "without '//' inside and with the bucket in lower case",
    ),
    "a path that climbs": (
        upstream(path="s3a://lake/team-a/../team-b/orders"),
        "path must be plain: no '.' or '..' segments, no '%', '?', '#', '*', backslash or white space",
    ),
    "the metadata table of a table": (
        upstream(path="s3a://lake/team-a/orders/.hoodie/metadata"),
        "path must not lie in a folder .hoodie or .hudi-operator",
    ),
    "another start": (upstream(startingCommit="Yesterday"), "spec.ingestion.source.hudi.startingCommit: Unsupported"),
    "another policy": (upstream(onRemovedRows="Skip"), "spec.ingestion.source.hudi.onRemovedRows: Unsupported"),
    "the table itself, spelt with another scheme": (upstream(path="s3://lake/team-a/flights/"), NOT_ITSELF),
    "a table around it": (upstream(path="s3a://lake/team-a"), NOT_ITSELF),
    "a table inside it": (upstream(path="s3a://lake/team-a/flights/inner"), NOT_ITSELF),
    "every row that comes": (reading(operation="Insert"), NO_UPSERT),
    "partitions as a whole": (reading(operation="InsertOverwrite"), NO_UPSERT),
    "a limit of bytes": (upstream(maxBytesPerRun="1Gi"), f"{UNKNOWN}maxBytesPerRun"),
    "a limit of files": (upstream(maxFilesPerRun=1), f"{UNKNOWN}maxFilesPerRun"),
    "a limit of messages": (upstream(maxRecordsPerRun=1), f"{UNKNOWN}maxRecordsPerRun"),
    "no commit in a run": (upstream(maxCommitsPerRun=0), "should be greater than or equal to 1"),
    "a limit of commits for files": (
        {
            "spec.ingestion": {
                "source": {"files": {"path": "s3a://landing/a", "format": "csv", "maxCommitsPerRun": 1}},
            }
        },
        'unknown field "spec.ingestion.source.files.maxCommitsPerRun"',
    ),
    "a quarantine in the upstream table": (
        reading(badRecords={"policy": "Quarantine", "quarantinePath": "s3a://lake/team-a/orders/bad"}),
        QUARANTINED_THERE,
    ),
    "an option of Hudi's reader": (
        upstream(options={"as.of.instant": "0"}),
        'unknown field "spec.ingestion.source.hudi.options"',
    ),
}
