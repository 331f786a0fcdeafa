"""What the API server accepts and refuses in a HudiTable, without any help of the operator."""

from typing import Any

Document = dict[str, Any]

FILES = {"path": "s3a://landing/flights/", "format": "csv"}
INGESTION = {"spec.ingestion": {"source": {"files": FILES}}}

ACCEPTED: dict[str, Document] = {
    "the smallest table": {},
    "a base path with a trailing slash": {"spec.basePath": "s3a://lake/flights/"},
    "a base path with the scheme s3": {"spec.basePath": "s3://lake/a/b/c"},
    "a base path with the scheme s3n": {"spec.basePath": "s3n://my.lake-1/a"},
    "a base path with dots inside names": {"spec.basePath": "s3a://lake/v1.2/..a/b..c/.d"},
    "a base path with letters of any language": {"spec.basePath": "s3a://lake/flüge/航班"},
    "a base path with equals signs and commas": {"spec.basePath": "s3a://lake/region=eu/a,b"},
    "a base path on a file system": {"spec.basePath": "file:///data/flights"},
    "a base path on a file system with a trailing slash": {"spec.basePath": "file:///data/flights/"},
    "a base path of 1024 characters": {"spec.basePath": "s3a://lake/" + "a" * (1024 - len("s3a://lake/"))},
    "a name of 63 characters": {"metadata.name": "a" * 63},
    "a table name with capitals, dots and underscores": {"spec.tableName": "Flights_2013.v1"},
    "a class by name": {"spec.tableClassName": "standard.eu-1"},
    "several record key columns": {"spec.recordKey": ["carrier", "leg_number"]},
    "columns with reserved words, capitals and underscores": {"spec.recordKey": ["select", "Order", "_x", "__"]},
    "as many and as long columns as there may be": {
        "spec.recordKey": [f"{'a' * 254}{number}" for number in range(10, 42)],
        "spec.partitionBy": [f"{'b' * 254}{number}" for number in range(10, 26)],
    },
    "partition columns": {"spec.partitionBy": ["year", "month"]},
    "ordering fields": {"spec.orderingFields": ["observed_at", "sequence"]},
    "buckets for the bucket index": {"spec.index": {"type": "Bucket", "buckets": 8}},
    "a file size limit as a plain number": {"spec.fileSizing": {"smallFileLimit": 0}},
    "file sizes as quantities": {"spec.fileSizing": {"maxFileSize": "0.5Gi", "smallFileLimit": "512Mi"}},
    "a record size estimate in bytes": {"spec.fileSizing": {"recordSizeEstimate": 1}},
    "a zone of the timeline": {"spec.timelineTimeZone": "America/Argentina/Buenos_Aires"},
    "a table version for readers of Hudi 0.15": {"spec.tableVersion": 6},
    "one key column and several partition columns in the newest version": {
        "spec.tableVersion": 9,
        "spec.recordKey": ["flight"],
        "spec.partitionBy": ["year", "month"],
    },
    "several ordering fields in the newest version": {
        "spec.tableVersion": 9,
        "spec.orderingFields": ["observed_at", "sequence"],
    },
    "compaction of a MergeOnRead table": {"spec.compaction": {"mode": "Inline"}},
    "a driver with size": {"spec.execution": {"driver": {"cpu": "500m", "memory": "1Gi"}}},
    "executors with size": {"spec.execution": {"executor": {"cpu": 1, "memory": "1Gi", "instances": 3}}},
    "ingestion from files with all defaults": INGESTION,
    "a source that is a whole bucket": {**INGESTION, "spec.ingestion.source.files.path": "s3a://landing"},
    "a source on a file system": {**INGESTION, "spec.ingestion.source.files.path": "file:///landing"},
    "a schedule by distance": {**INGESTION, "spec.ingestion.schedule": {"every": "1h30m"}},
    "the shortest distance": {**INGESTION, "spec.ingestion.schedule": {"every": "1000ms"}},
    "a schedule by cron with a time zone": {
        **INGESTION,
        "spec.ingestion.schedule": {"cron": "*/5 8-18 * * MON-FRI", "timeZone": "America/New_York"},
    },
    "a freshness": {**INGESTION, "spec.ingestion.freshness": "5m"},
    "a freshness as long as the schedule": {
        **INGESTION,
        "spec.ingestion.freshness": "1m",
        "spec.ingestion.schedule": {"every": "60s"},
    },
    "a freshness with a cron expression": {
        **INGESTION,
        "spec.ingestion.freshness": "1m",
        "spec.ingestion.schedule": {"cron": "0 6 * * *"},
    },
    "a limit of bytes per run": {**INGESTION, "spec.ingestion.source.files.maxBytesPerRun": "1Gi"},
    "quarantine with a path": {
        **INGESTION,
        "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://landing/rejected"},
    },
    "a quarantine beside the source whose name continues": {
        **INGESTION,
        "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://landing/flights-rejected"},
    },
    "a table beside its source in one bucket": {**INGESTION, "spec.basePath": "s3a://landing/flights-table"},
    "options and settings": {"spec.sparkConf": {"spark.sql.shuffle.partitions": "8"}, "spec.hudiOptions": {"a": "b"}},
}

SEGMENTS = "no '.' or '..' segments"
SHAPE = (
    "basePath must be a folder below a bucket (s3a://bucket/folder) or a file path (file:///folder/folder), "
    "without '//' inside and with the bucket in lower case"
)
TWICE = "a column must not be named twice"
PLAIN = "a column name may contain only letters, digits and underscores"

REFUSED: dict[str, tuple[Document, str]] = {
    "a name of 64 characters": ({"metadata.name": "a" * 64}, "the name must not be longer than 63 characters"),
    "a file size of 5,000 digits": ({"spec.fileSizing": {"maxFileSize": "9" * 5_000}}, "Too long"),
    "a file size above the largest quantity": (
        {"spec.fileSizing": {"maxFileSize": "9000000Pi"}},
        "must be less than 9223372036854775807",
    ),
    "executors of more memory than a number holds": (
        {"spec.execution": {"executor": {"memory": "9" * 30}}},
        "must be less than 9223372036854775807",
    ),
    "more commits than a number holds": (
        {"spec.cleaning": {"retainCommits": 2**31}},
        "should be less than or equal to 2147483647",
    ),
    "a table version between two": ({"spec.tableVersion": 7}, "spec.tableVersion: Unsupported value: 7"),
    "one key column and several partition columns in an older version": (
        {"spec.tableVersion": 8, "spec.recordKey": ["flight"], "spec.partitionBy": ["year", "month"]},
        "one recordKey column with several partitionBy columns needs tableVersion 9",
    ),
    "several ordering fields in an older version": (
        {"spec.tableVersion": 6, "spec.orderingFields": ["observed_at", "sequence"]},
        "several orderingFields need tableVersion 9",
    ),
    "a base path that is a bucket": ({"spec.basePath": "s3a://lake"}, SHAPE),
    "a base path that is a bucket with a slash": ({"spec.basePath": "s3a://lake/"}, SHAPE),
    "a base path without a bucket": ({"spec.basePath": "s3a:///flights"}, SHAPE),
    "a base path with credentials": ({"spec.basePath": "s3a://key:secret@lake/flights"}, SHAPE),
    "a base path without a scheme": ({"spec.basePath": "/data/flights"}, SHAPE),
    "a base path of another scheme": ({"spec.basePath": "hdfs://lake/flights"}, SHAPE),
    "a base path with a scheme in capitals": ({"spec.basePath": "S3A://lake/flights"}, SHAPE),
    "a base path that is a folder at the root": ({"spec.basePath": "file:///data"}, SHAPE),
    "a base path on a file system of another host": ({"spec.basePath": "file://host/data/flights"}, SHAPE),
    "a base path with one slash after file": ({"spec.basePath": "file:/data/flights"}, SHAPE),
    "a base path with a bucket in capitals": ({"spec.basePath": "s3a://Lake/flights"}, SHAPE),
    **{
        f"a base path in {folder}": (
            {"spec.basePath": f"s3a://lake/flights/{folder}"},
            "basePath must not lie in a folder .hoodie or .hudi-operator",
        )
        for folder in (".hoodie", ".hoodie/metadata", ".HOODIE", ".hudi-operator/files", ".hoodie/")
    },
    "a quarantine path in the timeline of a table": (
        {
            **INGESTION,
            "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://a/b/.hoodie/timeline"},
        },
        "quarantinePath must not lie in a folder .hoodie or .hudi-operator",
    ),
    "a quarantine path with a bucket in capitals": (
        {**INGESTION, "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://Landing/bad"}},
        "quarantinePath must be a folder below a bucket",
    ),
    "a source path with a bucket in capitals": (
        {**INGESTION, "spec.ingestion.source.files.path": "s3a://Landing/flights"},
        "path must look like s3a://bucket/folder or file:///folder, without '//' inside and with the bucket in lower",
    ),
    "a base path with an empty segment": ({"spec.basePath": "s3a://lake/a//b"}, SHAPE),
    "a base path with two slashes at its end": ({"spec.basePath": "s3a://lake/a//"}, SHAPE),
    "a base path with two slashes after the bucket": ({"spec.basePath": "s3a://lake//a"}, SHAPE),
    "a base path with a dot-dot segment": ({"spec.basePath": "s3a://lake/a/../b"}, SEGMENTS),
    "a base path that ends in a dot-dot segment": ({"spec.basePath": "s3a://lake/a/.."}, SEGMENTS),
    "a base path with a dot segment": ({"spec.basePath": "s3a://lake/./a"}, SEGMENTS),
    "a base path with a percent escape": ({"spec.basePath": "s3a://lake/a%2e%2e"}, SEGMENTS),
    "a base path with a question mark": ({"spec.basePath": "s3a://lake/a?b"}, SEGMENTS),
    "a base path with a number sign": ({"spec.basePath": "s3a://lake/a#b"}, SEGMENTS),
    "a base path with an asterisk": ({"spec.basePath": "s3a://lake/a*"}, SEGMENTS),
    "a base path with a backslash": ({"spec.basePath": "s3a://lake/a\\b"}, SEGMENTS),
    "a base path with a blank": ({"spec.basePath": "s3a://lake/a b"}, SEGMENTS),
    "a base path with a line break at its end": ({"spec.basePath": "s3a://lake/a\n"}, SEGMENTS),
    "a base path with a no-break space": ({"spec.basePath": "s3a://lake/a\u00a0b"}, SEGMENTS),
    "a base path with a character of no width": ({"spec.basePath": "s3a://lake/a\u200bb"}, SEGMENTS),
    "a base path of 1025 characters": (
        {"spec.basePath": "s3a://lake/" + "a" * (1025 - len("s3a://lake/"))},
        "may not be more than 1024",
    ),
    "a table without a record key": ({"spec.recordKey": []}, "spec.recordKey in body should have at least 1 items"),
    **{
        f"a record key column {what}": ({"spec.recordKey": ["fine", column]}, PLAIN)
        for what, column in {
            "with a blank": "a b",
            "of a struct": "payload.id",
            "in backticks": "`id`",
            "with a comma": "a,b",
            "with a colon": "id:x",
            "with quotes": "a'b",
            "with a letter of another language": "é",
            "with a line": "a\n",
            "that starts with a digit": "1a",
            "without a name": "",
            "of Hudi": "_hoodie_record_key",
            "of Hudi in capitals": "_HOODIE_Is_Deleted",
            "of the reader of files": "_corrupt_record",
            "of the faults of rows": "_corrupt_fault",
        }.items()
    },
    "a record key column twice but for its case": ({"spec.recordKey": ["id", "ID"]}, TWICE),
    "an index of the past": ({"spec.index": {"type": "InMemory"}}, "Unsupported value"),
    "a record key column twice": ({"spec.recordKey": ["a", "b", "a"]}, TWICE),
    "a partition column with a dash": ({"spec.partitionBy": ["a-b"]}, PLAIN),
    "a partition column twice": ({"spec.partitionBy": ["month", "month"]}, TWICE),
    "an ordering field of a struct": (
        {"spec.orderingFields": ["payload.at"]},
        PLAIN,
    ),
    "an ordering field twice": ({"spec.orderingFields": ["at", "at"]}, TWICE),
    "a table name with a quote": ({"spec.tableName": "a'b"}, "spec.tableName: Invalid value"),
    "a class name with capitals": ({"spec.tableClassName": "Standard"}, "spec.tableClassName: Invalid value"),
    "an unknown table type": ({"spec.type": "MOR"}, 'supported values: "CopyOnWrite", "MergeOnRead"'),
    "buckets for another index": (
        {"spec.index": {"type": "Bloom", "buckets": 8}},
        "buckets is only for index type Bucket",
    ),
    "buckets without an index type": ({"spec.index": {"buckets": 8}}, "buckets is only for index type Bucket"),
    "a bucket index without a bucket": (
        {"spec.index": {"type": "Bucket", "buckets": 0}},
        "should be greater than or equal to 1",
    ),
    "a file size without a number": (
        {"spec.fileSizing": {"maxFileSize": "Gi"}},
        "spec.fileSizing.maxFileSize: Invalid value",
    ),
    "a file size that Kubernetes spells with k": (
        {"spec.fileSizing": {"smallFileLimit": "5K"}},
        "spec.fileSizing.smallFileLimit: Invalid value",
    ),
    "a file size below 1Mi": ({"spec.fileSizing": {"maxFileSize": 120}}, "maxFileSize must be at least 1Mi"),
    "a small file limit above the largest file size": (
        {"spec.fileSizing": {"maxFileSize": "64Mi", "smallFileLimit": "65Mi"}},
        "smallFileLimit must not be larger than maxFileSize (defaults 100Mi and 120Mi)",
    ),
    "a largest file size below the default of the small file limit": (
        {"spec.fileSizing": {"maxFileSize": "64Mi"}},
        "smallFileLimit must not be larger than maxFileSize (defaults 100Mi and 120Mi)",
    ),
    "a negative record size estimate": (
        {"spec.fileSizing": {"recordSizeEstimate": "-1"}},
        "spec.fileSizing.recordSizeEstimate: Invalid value",
    ),
    "a record size estimate of nothing": (
        {"spec.fileSizing": {"recordSizeEstimate": 0}},
        "recordSizeEstimate must be at least 1",
    ),
    "compaction of a CopyOnWrite table": (
        {"spec.type": "CopyOnWrite", "spec.compaction": {"mode": "Inline"}},
        "compaction is only for tables of type MergeOnRead",
    ),
    "archival bounds the wrong way round": (
        {"spec.archival": {"minCommits": 30, "maxCommits": 20}},
        "minCommits must be smaller than maxCommits (defaults 20 and 30)",
    ),
    "an archival bound that meets a default": (
        {"spec.archival": {"minCommits": 30}},
        "minCommits must be smaller than maxCommits (defaults 20 and 30)",
    ),
    "driver memory without a unit": ({"spec.execution": {"driver": {"memory": "2"}}}, "memory must be at least 1000Mi"),
    "driver memory in words": (
        {"spec.execution": {"driver": {"memory": "2 GB"}}},
        "spec.execution.driver.memory: Invalid value",
    ),
    "a driver without CPU": ({"spec.execution": {"driver": {"cpu": "0"}}}, "cpu must be at least 100m"),
    "driver CPU in words": (
        {"spec.execution": {"driver": {"cpu": "one"}}},
        "spec.execution.driver.cpu: Invalid value",
    ),
    "executor memory of another alphabet": (
        {"spec.execution": {"executor": {"memory": "\uff12Gi"}}},
        "spec.execution.executor.memory: Invalid value",
    ),
    "executor CPU with a line break": (
        {"spec.execution": {"executor": {"cpu": "1\n"}}},
        "spec.execution.executor.cpu: Invalid value",
    ),
    "no executors": (
        {"spec.execution": {"executor": {"instances": 0}}},
        "spec.execution.executor.instances in body should be greater than or equal to 1",
    ),
    "a source path without a scheme": (
        {**INGESTION, "spec.ingestion.source.files.path": "landing/flights"},
        "path must look like s3a://bucket/folder or file:///folder, without '//' inside and with the bucket in lower",
    ),
    "a source path with an empty segment": (
        {**INGESTION, "spec.ingestion.source.files.path": "s3a://landing//flights"},
        "path must look like s3a://bucket/folder",
    ),
    "a source path with a pattern": (
        {**INGESTION, "spec.ingestion.source.files.path": "s3a://landing/*.csv"},
        "path must be plain: no '.' or '..' segments",
    ),
    "a source path that climbs out of its folder": (
        {**INGESTION, "spec.ingestion.source.files.path": "s3a://landing/team-a/../team-b"},
        "path must be plain: no '.' or '..' segments",
    ),
    "a source of an unknown format": (
        {**INGESTION, "spec.ingestion.source.files.format": "xml"},
        'supported values: "csv", "json", "parquet", "avro", "orc"',
    ),
    "a distance between runs without a unit": (
        {**INGESTION, "spec.ingestion.schedule": {"every": "10"}},
        "spec.ingestion.schedule.every: Invalid value",
    ),
    "a schedule by distance and cron": (
        {**INGESTION, "spec.ingestion.schedule": {"every": "5m", "cron": "0 * * * *"}},
        "exactly one of every and cron must be set",
    ),
    "a schedule by neither": (
        {**INGESTION, "spec.ingestion.schedule": {}},
        "exactly one of every and cron must be set",
    ),
    "a time zone without cron": (
        {**INGESTION, "spec.ingestion.schedule": {"every": "5m", "timeZone": "UTC"}},
        "timeZone is only for cron",
    ),
    "a time zone that is a path": (
        {**INGESTION, "spec.ingestion.schedule": {"cron": "0 * * * *", "timeZone": "../../etc/passwd"}},
        "spec.ingestion.schedule.timeZone: Invalid value",
    ),
    "a zone of the timeline that is a path": (
        {"spec.timelineTimeZone": "../../etc/passwd"},
        "spec.timelineTimeZone: Invalid value",
    ),
    "a cron expression of six fields": (
        {**INGESTION, "spec.ingestion.schedule": {"cron": "0 0 * * * *"}},
        "spec.ingestion.schedule.cron: Invalid value",
    ),
    "a schedule in days": (
        {**INGESTION, "spec.ingestion.schedule": {"every": "1d"}},
        "spec.ingestion.schedule.every: Invalid value",
    ),
    "a schedule without pause": (
        {**INGESTION, "spec.ingestion.schedule": {"every": "999ms"}},
        "every must be at least 1s",
    ),
    "a schedule beyond what a duration can hold": (
        {**INGESTION, "spec.ingestion.schedule": {"every": "9999999999h"}},
        "spec.ingestion.schedule",
    ),
    "a limit of bytes that is no quantity": (
        {**INGESTION, "spec.ingestion.source.files.maxBytesPerRun": "1GB"},
        "spec.ingestion.source.files.maxBytesPerRun: Invalid value",
    ),
    "a freshness that is too short": (
        {**INGESTION, "spec.ingestion.freshness": "59s", "spec.ingestion.schedule": {"every": "1s"}},
        "freshness must be at least 1m",
    ),
    "a freshness in days": (
        {**INGESTION, "spec.ingestion.freshness": "1d"},
        "spec.ingestion.freshness: Invalid value",
    ),
    "a freshness shorter than the schedule": (
        {**INGESTION, "spec.ingestion.freshness": "10m", "spec.ingestion.schedule": {"every": "11m"}},
        "freshness must not be shorter than schedule.every",
    ),
    "a freshness shorter than the schedule by default": (
        {**INGESTION, "spec.ingestion.freshness": "4m59s"},
        "freshness must not be shorter than schedule.every",
    ),
    "a freshness without an ingestion": (
        {"spec.freshness": "10m"},
        'unknown field "spec.freshness"',
    ),
    "a limit of no bytes": (
        {**INGESTION, "spec.ingestion.source.files.maxBytesPerRun": 0},
        "maxBytesPerRun must be at least 1",
    ),
    "a limit of no files": (
        {**INGESTION, "spec.ingestion.source.files.maxFilesPerRun": 0},
        "spec.ingestion.source.files.maxFilesPerRun in body should be greater than or equal to 1",
    ),
    "quarantine without a path": (
        {**INGESTION, "spec.ingestion.badRecords": {"policy": "Quarantine"}},
        "quarantinePath is required for policy Quarantine, and only for it",
    ),
    "a quarantine path without quarantine": (
        {**INGESTION, "spec.ingestion.badRecords": {"quarantinePath": "s3a://landing/rejected"}},
        "quarantinePath is required for policy Quarantine, and only for it",
    ),
    "a quarantine path that is a bucket": (
        {**INGESTION, "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://landing"}},
        "quarantinePath must be a folder below a bucket (s3a://bucket/folder) or a file path (file:///folder/folder), "
        "without '//' inside and with the bucket in lower case",
    ),
    "a quarantine path that climbs": (
        {**INGESTION, "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://landing/../a"}},
        "quarantinePath must be plain: no '.' or '..' segments",
    ),
    "a quarantine inside the source": (
        {
            **INGESTION,
            "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://landing/flights/rejected"},
        },
        "quarantinePath and source.files.path must not lie inside one another: bad rows would be read again",
    ),
    "a quarantine around the source, spelt with another scheme": (
        {
            **INGESTION,
            "spec.ingestion.source.files.path": "s3://landing/flights/good",
            "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://landing/flights"},
        },
        "quarantinePath and source.files.path must not lie inside one another: bad rows would be read again",
    ),
    "a table inside its source": (
        {**INGESTION, "spec.basePath": "s3://landing/flights/table"},
        "basePath and ingestion.source.files.path must not lie inside one another: the table would read itself",
    ),
    "a table that is its own source": (
        {**INGESTION, "spec.ingestion.source.files.path": "s3a://lake/team-a/flights/"},
        "basePath and ingestion.source.files.path must not lie inside one another: the table would read itself",
    ),
    "a quarantine inside the table": (
        {
            **INGESTION,
            "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://lake/team-a/flights/bad"},
        },
        "basePath and ingestion.badRecords.quarantinePath must not lie inside one another",
    ),
    "an unknown field": ({"spec.basePth": "s3a://lake/a"}, 'unknown field "spec.basePth"'),
    "an option that is no string": (
        {"spec.hudiOptions": {"hoodie.x": 1}},
        "spec.hudiOptions.hoodie.x in body must be of type string",
    ),
}
