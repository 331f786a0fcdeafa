"""What the API server accepts and refuses of table services and concurrency in a HudiTable."""

from typing import Any

Document = dict[str, Any]

COPY_ON_WRITE = {"spec.type": "CopyOnWrite"}
PARTITIONED = {"spec.partitionBy": ["year", "month", "day"]}
ZOOKEEPER = {"zookeeper": {"connect": "zk-0.zk:2181,zk-1.zk:2181", "basePath": "/hudi/tables"}}
OPTIMISTIC = {"spec.concurrency": {"mode": "Optimistic", "lock": ZOOKEEPER}}
INGESTION = {
    "spec.ingestion": {"source": {"files": {"path": "s3a://landing/", "format": "csv"}}, "operation": "BulkInsert"}
}

ACCEPTED: dict[str, Document] = {
    "a lock of the table": OPTIMISTIC,
    "a lock that the class may bring": {"spec.concurrency": {"mode": "Optimistic", "lockKey": "team-a.flights"}},
    "compaction by commits or time": {
        "spec.compaction": {"trigger": {"strategy": "NumOrTime", "deltaCommits": 3, "elapsed": "30m"}}
    },
    "compaction by time": {"spec.compaction": {"trigger": {"strategy": "TimeElapsed", "elapsed": "90s"}}},
    "compaction since the last request": {
        "spec.compaction": {"trigger": {"strategy": "NumCommitsAfterLastRequest", "deltaCommits": 1}}
    },
    "disabled compaction of a CopyOnWrite table": {**COPY_ON_WRITE, "spec.compaction": {"mode": "Disabled"}},
    "a bounded compaction": {"spec.compaction": {"plan": {"strategy": "BoundedIO", "targetIO": "10Gi"}}},
    "a compaction of large logs": {"spec.compaction": {"plan": {"logFileSizeThreshold": "64Mi", "targetIO": "10Gi"}}},
    "a compaction of many logs": {"spec.compaction": {"plan": {"strategy": "LogFileNum", "logFileNumThreshold": 3}}},
    "a compaction of the newest days": {
        **PARTITIONED,
        "spec.compaction": {"plan": {"strategy": "DayBased", "targetPartitions": 3}},
    },
    "a compaction of some partitions": {
        **PARTITIONED,
        "spec.compaction": {"plan": {"strategy": "Unbounded", "partitionRegex": "year=2026"}},
    },
    "a clustering of all partitions": {
        "spec.clustering": {
            "mode": "Async",
            "trigger": {"commits": 1},
            "plan": {"smallFileLimit": "1Gi", "targetFileSize": "1Gi", "maxBytesPerGroup": "1Gi", "maxGroups": 1},
        }
    },
    "a clustering of the newest partitions": {
        **PARTITIONED,
        "spec.clustering": {"plan": {"strategy": "RecentDays", "partitions": {"lookback": 7, "skipLatest": 1}}},
    },
    "a clustering of the newest partitions with all defaults": {
        **PARTITIONED,
        "spec.clustering": {"plan": {"strategy": "RecentDays"}},
    },
    "a clustering of a range": {
        **PARTITIONED,
        "spec.clustering": {
            "plan": {
                "strategy": "SelectedPartitions",
                "partitions": {"begin": "year=2026/month=01", "end": "year=2026/month=02", "regex": ".*=1"},
            }
        },
    },
    "a clustering of named partitions": {
        **PARTITIONED,
        "spec.clustering": {
            "plan": {
                "strategy": "SelectedPartitions",
                "partitions": {"names": ["year=2026/month=..7", "day=2026-01-01", "p=a%20b:c", "p=.x", "é=ü"]},
            }
        },
    },
    "a clustering along a curve": {
        "spec.clustering": {"execution": {"layout": "ZOrder", "sortColumns": ["origin", "dest"]}}
    },
    "a clustering with one Spark job at a time": {
        "spec.clustering": {"execution": {"strategy": "SingleSparkJob", "preserveCommitMetadata": True}}
    },
    "updates beside a clustering of an optimistic table": {**OPTIMISTIC, "spec.clustering": {"updates": "Allow"}},
    "no updates beside a clustering of a serialized table": {"spec.clustering": {"updates": "Reject"}},
    "cleaning by versions": {"spec.cleaning": {"policy": "KeepLatestFileVersions", "retainFileVersions": 1}},
    "cleaning by hours": {
        "spec.cleaning": {"policy": "KeepLatestByHours", "retainHours": 48, "trigger": {"commits": 9}}
    },
    "archival with both bounds": {
        "spec.archival": {"mode": "Inline", "minCommits": 5, "maxCommits": 6},
        "spec.cleaning": {"retainCommits": 4},
    },
    "many commits kept where nothing is archived": {
        "spec.cleaning": {"retainCommits": 100},
        "spec.archival": {"mode": "Disabled"},
    },
    "a short timeline where nothing is cleaned": {
        "spec.cleaning": {"mode": "Disabled"},
        "spec.archival": {"minCommits": 2, "maxCommits": 3},
    },
    "a short timeline where cleaning counts versions": {
        "spec.cleaning": {"policy": "KeepLatestFileVersions"},
        "spec.archival": {"minCommits": 2, "maxCommits": 3},
    },
    "a sorted bulk insert": {
        **INGESTION,
        "spec.ingestion.bulkInsert": {"parallelism": 8, "sortMode": "PartitionPathRepartitionAndSort"},
    },
    "deletion with the data": {"spec.deletionPolicy": "Delete"},
}

NEED_PARTITIONS = "plans by partition (DayBased, partitionRegex, RecentDays, SelectedPartitions) need partitionBy"
SELECTION = "strategy SelectedPartitions needs one of partitions.begin, end, names and regex, which are only for it"
RECENT = "partitions.lookback and partitions.skipLatest are only for strategy RecentDays"
NAMES = "names cannot be combined with begin, end and regex"
FITS = "archival.minCommits must be larger than cleaning.retainCommits (defaults 20 and 10)"


def selected(**partitions: Any) -> Document:
    return {
        **PARTITIONED,
        "spec.clustering": {"plan": {"strategy": "SelectedPartitions", "partitions": partitions}},
    }


PLAIN = "a partition must be a plain path inside the table"
CLIMBING = (
    *("../../team-b/victim/p=p1", "..", ".", "a/..", "./a", "a/./b", "a//b", "a/", "a/../b", "p=1/.."),
    *("s3a://lake/team-b/t", "file:/tmp", "%2e%2e/%2E", "a%2fb", "a%5Cb", "a%252e", "a%00", "a%1f", "a%7F"),
    *("a\\..\\b", "a\u0001", "a\u007f", "a\u0085", "a\u200b", "a\u00a0b"),
)
CONTROL = "a regular expression must hold no control characters"


REFUSED: dict[str, tuple[Document, str]] = {
    **{f"the partition {path!r} by name": (selected(names=["p=1", path]), PLAIN) for path in CLIMBING},
    **{f"the partition {path!r} as the first": (selected(begin=path), PLAIN) for path in CLIMBING[:3]},
    **{f"the partition {path!r} as the last": (selected(end=path), PLAIN) for path in CLIMBING[:3]},
    **{
        f"the partition {path!r}, Hudi's own": (selected(names=[path]), "which are Hudi's own")
        for path in (".hoodie", ".hoodie/metadata", "a/.hoodie", ".hoodie_partition_metadata")
    },
    "a control character in a partition's pattern": (selected(regex="a\u0000b"), CONTROL),
    "a control character in a compaction's pattern": (
        {**PARTITIONED, "spec.compaction": {"plan": {"partitionRegex": "a\nb"}}},
        CONTROL,
    ),
    "a lock for a serialized table": (
        {"spec.concurrency": {"lock": ZOOKEEPER}},
        "lock and lockKey are only for mode Optimistic",
    ),
    "a lock without servers": (
        {"spec.concurrency": {"mode": "Optimistic", "lock": {}}},
        "spec.concurrency.lock.zookeeper: Required value",
    ),
    "a lock server without a port": (
        {"spec.concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk"}}}},
        "spec.concurrency.lock.zookeeper.connect: Invalid value",
    ),
    "a lock below no node": (
        {"spec.concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:1", "basePath": "hudi"}}}},
        "spec.concurrency.lock.zookeeper.basePath: Invalid value",
    ),
    "a lock key that is a path": (
        {"spec.concurrency": {"mode": "Optimistic", "lockKey": "a/b"}},
        "spec.concurrency.lockKey: Invalid value",
    ),
    "asynchronous compaction of a CopyOnWrite table": (
        {**COPY_ON_WRITE, "spec.compaction": {"mode": "Async"}},
        "compaction is only for tables of type MergeOnRead",
    ),
    "a compaction trigger of a CopyOnWrite table": (
        {**COPY_ON_WRITE, "spec.compaction": {"trigger": {"deltaCommits": 3}}},
        "compaction is only for tables of type MergeOnRead",
    ),
    "delta commits for a trigger by time": (
        {"spec.compaction": {"trigger": {"strategy": "TimeElapsed", "deltaCommits": 3}}},
        "deltaCommits is not for strategy TimeElapsed",
    ),
    "time for a trigger by commits": (
        {"spec.compaction": {"trigger": {"elapsed": "1h"}}},
        "elapsed is only for strategies TimeElapsed, NumOrTime and NumAndTime",
    ),
    "a trigger without pause": (
        {"spec.compaction": {"trigger": {"strategy": "TimeElapsed", "elapsed": "0s"}}},
        "elapsed must be at least 1s",
    ),
    "a trigger in days": (
        {"spec.compaction": {"trigger": {"strategy": "TimeElapsed", "elapsed": "1d"}}},
        "spec.compaction.trigger.elapsed: Invalid value",
    ),
    "a trigger strategy of an unknown name": (
        {"spec.compaction": {"trigger": {"strategy": "Sometimes"}}},
        'Unsupported value: "Sometimes"',
    ),
    "an unbounded compaction with a bound": (
        {"spec.compaction": {"plan": {"strategy": "Unbounded", "targetIO": "1Gi"}}},
        "targetIO is only for strategies LogFileSize, LogFileNum, BoundedIO and DayBased",
    ),
    "a bound of less than a mebibyte": (
        {"spec.compaction": {"plan": {"targetIO": "1000"}}},
        "targetIO must be at least 1Mi",
    ),
    "a bound that is no quantity": (
        {"spec.compaction": {"plan": {"targetIO": "500GB"}}},
        "spec.compaction.plan.targetIO: Invalid value",
    ),
    "a log size for a plan by number": (
        {"spec.compaction": {"plan": {"strategy": "LogFileNum", "logFileSizeThreshold": "1Mi"}}},
        "logFileSizeThreshold is only for strategy LogFileSize",
    ),
    "a log size that is no quantity": (
        {"spec.compaction": {"plan": {"logFileSizeThreshold": "big"}}},
        "spec.compaction.plan.logFileSizeThreshold: Invalid value",
    ),
    "a number of logs for the default plan": (
        {"spec.compaction": {"plan": {"logFileNumThreshold": 2}}},
        "logFileNumThreshold is only for strategy LogFileNum",
    ),
    "days for a plan by size": (
        {**PARTITIONED, "spec.compaction": {"plan": {"targetPartitions": 2}}},
        "targetPartitions is only for strategy DayBased",
    ),
    "days of a table without partitions": ({"spec.compaction": {"plan": {"strategy": "DayBased"}}}, NEED_PARTITIONS),
    "a partition regex without partitions": ({"spec.compaction": {"plan": {"partitionRegex": "a"}}}, NEED_PARTITIONS),
    "recent partitions of a table without any": (
        {"spec.clustering": {"plan": {"strategy": "RecentDays"}}},
        NEED_PARTITIONS,
    ),
    "a small file limit above the target size": (
        {"spec.clustering": {"plan": {"smallFileLimit": "600Mi", "targetFileSize": "512Mi"}}},
        "smallFileLimit must not be larger than targetFileSize (defaults 300Mi and 1Gi)",
    ),
    "a target size below the default of the small file limit": (
        {"spec.clustering": {"plan": {"targetFileSize": "256Mi"}}},
        "smallFileLimit must not be larger than targetFileSize (defaults 300Mi and 1Gi)",
    ),
    "a target size above what a group may hold": (
        {"spec.clustering": {"plan": {"targetFileSize": "3Gi"}}},
        "targetFileSize must not be larger than maxBytesPerGroup (defaults 1Gi and 2Gi)",
    ),
    "a small file limit of nothing": (
        {"spec.clustering": {"plan": {"smallFileLimit": 0}}},
        "smallFileLimit must be at least 1",
    ),
    "a small file limit that is no quantity": (
        {"spec.clustering": {"plan": {"smallFileLimit": "5K"}}},
        "spec.clustering.plan.smallFileLimit: Invalid value",
    ),
    "a target size that is no quantity": (
        {"spec.clustering": {"plan": {"targetFileSize": "5K"}}},
        "spec.clustering.plan.targetFileSize: Invalid value",
    ),
    "a group size that is no quantity": (
        {"spec.clustering": {"plan": {"maxBytesPerGroup": "5K"}}},
        "spec.clustering.plan.maxBytesPerGroup: Invalid value",
    ),
    "no groups": (
        {"spec.clustering": {"plan": {"maxGroups": 0}}},
        "spec.clustering.plan.maxGroups in body should be greater than or equal to 1",
    ),
    "a reconcile back over all partitions": (
        {**PARTITIONED, "spec.clustering": {"plan": {"partitions": {"lookback": 2}}}},
        RECENT,
    ),
    "partitions left out of a selection": (selected(names=["a"], skipLatest=1), RECENT),
    "a selection of nothing": (selected(), SELECTION),
    "a selection that says nothing": (
        {**PARTITIONED, "spec.clustering": {"plan": {"strategy": "SelectedPartitions"}}},
        SELECTION,
    ),
    "names for the newest partitions": (
        {**PARTITIONED, "spec.clustering": {"plan": {"strategy": "RecentDays", "partitions": {"names": ["a"]}}}},
        SELECTION,
    ),
    "a list of no names": (
        selected(names=[]),
        "spec.clustering.plan.partitions.names in body should have at least 1 items",
    ),
    "names beside a range": (selected(names=["a"], begin="a"), NAMES),
    "names beside a regular expression": (selected(names=["a"], regex="a"), NAMES),
    "a range the wrong way round": (selected(begin="b", end="a"), "begin must not come after end"),
    "a partition with a comma": (
        selected(names=["a,b"]),
        "spec.clustering.plan.partitions.names[0]: Invalid value",
    ),
    "a begin that is a path from the root": (
        selected(begin="/a"),
        "spec.clustering.plan.partitions.begin: Invalid value",
    ),
    "an end with a blank": (selected(end="a b"), "spec.clustering.plan.partitions.end: Invalid value"),
    "a curve through one column": (
        {"spec.clustering": {"execution": {"layout": "Hilbert", "sortColumns": ["a"]}}},
        "layout ZOrder and Hilbert need at least two sortColumns; for one column use Linear",
    ),
    "a curve through no columns": (
        {"spec.clustering": {"execution": {"layout": "ZOrder"}}},
        "layout ZOrder and Hilbert need at least two sortColumns; for one column use Linear",
    ),
    "a sort column with a comma": (
        {"spec.clustering": {"execution": {"sortColumns": ["a,b"]}}},
        "a column name may contain only letters, digits and underscores",
    ),
    "a sort column twice": (
        {"spec.clustering": {"execution": {"sortColumns": ["a", "a"]}}},
        "a column must not be named twice",
    ),
    "commit metadata that is lost": (
        {"spec.clustering": {"execution": {"preserveCommitMetadata": False}}},
        "preserveCommitMetadata cannot be false: Hudi 1.2 always preserves it",
    ),
    "updates beside a clustering of a serialized table": (
        {"spec.clustering": {"updates": "Allow"}},
        "clustering.updates Allow needs concurrency.mode Optimistic",
    ),
    "hours for cleaning by commits": ({"spec.cleaning": {"retainHours": 3}}, "retainHours is only for policy"),
    "commits for cleaning by hours": (
        {"spec.cleaning": {"policy": "KeepLatestByHours", "retainCommits": 3}},
        "retainCommits is only for policy KeepLatestCommits",
    ),
    "versions for cleaning by hours": (
        {"spec.cleaning": {"policy": "KeepLatestByHours", "retainFileVersions": 3}},
        "retainFileVersions is only for policy KeepLatestFileVersions",
    ),
    "hours for cleaning by versions": (
        {"spec.cleaning": {"policy": "KeepLatestFileVersions", "retainHours": 3}},
        "retainHours is only for policy KeepLatestByHours",
    ),
    "a timeline shorter than what cleaning keeps": ({"spec.archival": {"minCommits": 10}}, FITS),
    "more commits kept than the default timeline holds": ({"spec.cleaning": {"retainCommits": 20}}, FITS),
    "the arrangement of a bulk insert for an upsert": (
        {**INGESTION, "spec.ingestion.operation": "Upsert", "spec.ingestion.bulkInsert": {"sortMode": "GlobalSort"}},
        "bulkInsert is only for operation BulkInsert",
    ),
    "a number of tasks for rows as they come": (
        {**INGESTION, "spec.ingestion.bulkInsert": {"parallelism": 2}},
        "parallelism needs a sortMode other than None",
    ),
    "a bulk insert without tasks": (
        {**INGESTION, "spec.ingestion.bulkInsert": {"sortMode": "GlobalSort", "parallelism": 0}},
        "spec.ingestion.bulkInsert.parallelism in body should be greater than or equal to 1",
    ),
    "triggers where they used to be": (
        {"spec.compaction": {"deltaCommits": 3}},
        'unknown field "spec.compaction.deltaCommits"',
    ),
}
