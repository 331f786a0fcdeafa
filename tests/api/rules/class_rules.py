"""What the API server accepts and refuses in a HudiTableClass, without any help of the operator."""

from typing import Any

Document = dict[str, Any]

PLAIN_PREFIX = "a prefix must be plain: no '.' or '..' segments and no white space"
BRACES = "{namespace} is the only text in braces that a prefix may contain"

ACCEPTED: dict[str, Document] = {
    "labels and annotations of pods": {
        "spec.job": {
            "podLabels": {"sidecar.istio.io/inject": "true", "team": "a", "cost.example.com/center": ""},
            "podAnnotations": {"prometheus.io/scrape": "true"},
        }
    },
    "the smallest class": {},
    "a bucket as a prefix": {"spec.allowedBasePaths": ["s3a://lake"]},
    "a bucket per namespace": {"spec.allowedBasePaths": ["s3://lake-{namespace}/tables/"]},
    "a bucket that is a namespace": {
        "spec.allowedBasePaths": ["s3n://{namespace}", "s3a://a-{namespace}.b/x{namespace}"]
    },
    "a prefix with dots inside names": {"spec.allowedBasePaths": ["s3a://lake/v1.2/..a/b..c/.d"]},
    "a folder at the root of the file system": {"spec.allowedBasePaths": ["file:///data", "file:///data/{namespace}/"]},
    "a place for reports of erasures": {"spec.operations": {"reportPath": "s3a://audit/{namespace}"}},
    "quarantine prefixes": {"spec.allowedQuarantinePaths": ["s3a://rejected/{namespace}"]},
    "namespaces by name": {"spec.allowedNamespaces": {"names": ["team-a", "team-b"]}},
    "namespaces by labels": {
        "spec.allowedNamespaces": {
            "selector": {
                "matchLabels": {"env": "prod", "example.com/team": ""},
                "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["gold", "silver"]},
                    {"key": "tier", "operator": "NotIn", "values": [""]},
                    {"key": "example.com/x", "operator": "Exists"},
                    {"key": "y", "operator": "DoesNotExist", "values": []},
                ],
            }
        }
    },
    "source prefixes": {"spec.allowedSourcePaths": ["s3a://landing/{namespace}", "file:///landing"]},
    "a store with everything": {
        "spec.objectStore": {
            "endpoint": "http://s3.storage.svc:9000",
            "region": "eu-central-1",
            "pathStyleAccess": True,
            "credentialsSecretName": "s3-credentials",
        }
    },
    "an image with a registry and a digest": {"spec.sparkImage": "registry:5000/spark@sha256:0123456789abcdef"},
    "limits": {"spec.limits": {"driverMemory": "4Gi", "driverCpu": 2, "executorCpu": "1500m", "executorInstances": 10}},
    "times of jobs": {"spec.job": {"deadline": "1m", "startTimeout": "10s", "ttlAfterFinished": "60s"}},
    "service accounts and pull secrets": {
        "spec.job": {
            "driverServiceAccountName": "spark",
            "executorServiceAccountName": "none",
            "imagePullSecretNames": ["registry"],
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
        }
    },
    "retries at an even pace": {"spec.retry": {"initialDelay": "1m", "maxDelay": "1m"}},
    "budgets of retries": {"spec.retry": {"maxAttempts": 1, "maxInfrastructureAttempts": 1000}},
    "a lock for optimistic tables": {"spec.lock": {"zookeeper": {"connect": "zk:2181"}}},
    "a takeover at once and without a savepoint": {"spec.takeover": {"quietFor": "0s", "savepoint": False}},
    "a budget for table services": {"spec.budgets": {"tableServices": {"cpuTimePerNamespaceAndDay": "1m"}}},
    "an early alarm": {"spec.pendingInstantAlarm": "10m"},
    "sizes of applications": {"spec.execution": {"mode": "Cluster", "executor": {"instances": 4, "memory": "2Gi"}}},
    "settings that tables may change": {
        "spec.allowedSparkConf": ["spark.sql.shuffle.partitions", "spark.sql.adaptive.*"],
        "spec.allowedHudiOptions": ["hoodie.upsert.shuffle.parallelism"],
    },
}

REFUSED: dict[str, tuple[Document, str]] = {
    "a budget of seconds": (
        {"spec.budgets": {"tableServices": {"cpuTimePerNamespaceAndDay": "59s"}}},
        "cpuTimePerNamespaceAndDay must be at least 1m",
    ),
    "a budget in hours without a unit": (
        {"spec.budgets": {"tableServices": {"cpuTimePerNamespaceAndDay": "24"}}},
        "must be a duration such as 30s, 5m or 1h30m",
    ),
    "executors of more memory than a number holds": (
        {"spec.limits": {"executorMemory": "9000000Pi"}},
        "must be less than 9223372036854775807",
    ),
    "a class that allows no path": (
        {"spec.allowedBasePaths": []},
        "spec.allowedBasePaths in body should have at least 1 items",
    ),
    "a base path prefix without a bucket": (
        {"spec.allowedBasePaths": ["s3a://"]},
        "spec.allowedBasePaths[0]: Invalid value",
    ),
    "a base path prefix with a pattern": (
        {"spec.allowedBasePaths": ["s3a://lake/*"]},
        "spec.allowedBasePaths[0]: Invalid value",
    ),
    "a source path prefix of another scheme": (
        {"spec.allowedSourcePaths": ["http://landing/"]},
        "spec.allowedSourcePaths[0]: Invalid value",
    ),
    "reports of erasures in every bucket": (
        {"spec.operations": {"reportPath": "s3a://"}},
        "spec.operations.reportPath: Invalid value",
    ),
    **{
        f"{field} with {what}": (
            {f"spec.{field}": [prefix]},
            words if " " in words else f"spec.{field}[0]: Invalid value",
        )
        for field in ("allowedBasePaths", "allowedSourcePaths", "allowedQuarantinePaths")
        for what, prefix, words in (
            ("the whole file system", "file:///", "pattern"),
            ("a bare scheme", "file://", "pattern"),
            ("no bucket", "s3a:///lake", "pattern"),
            ("a bucket in capitals", "s3a://Lake/team-a", "pattern"),
            ("an empty segment", "s3a://lake//team-a", "pattern"),
            ("a percent escape", "s3a://lake/%2e%2e/other", "pattern"),
            ("a dot-dot segment", "s3a://lake/../other", PLAIN_PREFIX),
            ("a dot-dot segment at its end", "s3a://lake/team-a/..", PLAIN_PREFIX),
            ("a dot segment", "s3a://lake/./team-a", PLAIN_PREFIX),
            ("a no-break space", "s3a://lake/a\u00a0b", PLAIN_PREFIX),
            ("another placeholder", "s3a://lake/{name}", BRACES),
            ("an open brace", "s3a://lake/{namespace", BRACES),
            ("a placeholder in a placeholder", "s3a://lake/{{namespace}}", BRACES),
        )
    },
    "namespaces without a name or selector": (
        {"spec.allowedNamespaces": {}},
        "allowedNamespaces needs names or a selector; for every namespace, leave it out",
    ),
    "an empty list of namespaces": (
        {"spec.allowedNamespaces": {"names": []}},
        "allowedNamespaces needs names or a selector; for every namespace, leave it out",
    ),
    "a name that no namespace can have": (
        {"spec.allowedNamespaces": {"names": ["*"]}},
        "spec.allowedNamespaces.names[0]: Invalid value",
    ),
    "a selector that selects everything": (
        {"spec.allowedNamespaces": {"selector": {}}},
        "the selector must require something: for every namespace, leave allowedNamespaces out",
    ),
    "a label that no namespace can have": (
        {"spec.allowedNamespaces": {"selector": {"matchLabels": {"env": "-"}}}},
        "spec.allowedNamespaces.selector.matchLabels[env]: Invalid value",
    ),
    "a requirement without a label": (
        {"spec.allowedNamespaces": {"selector": {"matchExpressions": [{"key": "a b", "operator": "Exists"}]}}},
        "spec.allowedNamespaces.selector.matchExpressions[0].key: Invalid value",
    ),
    "a requirement of an unknown kind": (
        {"spec.allowedNamespaces": {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}},
        'Unsupported value: "Gt"',
    ),
    "In without values": (
        {"spec.allowedNamespaces": {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
        "In and NotIn need values, Exists and DoesNotExist have none",
    ),
    "Exists with values": (
        {
            "spec.allowedNamespaces": {
                "selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}
            }
        },
        "In and NotIn need values, Exists and DoesNotExist have none",
    ),
    "a requirement with a value that no label can have": (
        {
            "spec.allowedNamespaces": {
                "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}
            }
        },
        "spec.allowedNamespaces.selector.matchExpressions[0].values[0]: Invalid value",
    ),
    "an endpoint without a scheme": (
        {"spec.objectStore": {"endpoint": "s3.storage.svc:9000"}},
        "spec.objectStore.endpoint: Invalid value",
    ),
    "an endpoint with credentials": (
        {"spec.objectStore": {"endpoint": "https://key:secret@s3.example.com"}},
        "spec.objectStore.endpoint: Invalid value",
    ),
    "a secret whose name no secret can have": (
        {"spec.objectStore": {"credentialsSecretName": "My Secret"}},
        "spec.objectStore.credentialsSecretName: Invalid value",
    ),
    "an image with a blank": ({"spec.sparkImage": "spark latest"}, "spec.sparkImage: Invalid value"),
    "a limit of driver memory without a unit": (
        {"spec.limits": {"driverMemory": 8}},
        "driverMemory must be at least 1000Mi",
    ),
    "a limit of executor memory without a unit": (
        {"spec.limits": {"executorMemory": "16"}},
        "executorMemory must be at least 1000Mi",
    ),
    "a limit of no driver CPU": ({"spec.limits": {"driverCpu": 0}}, "driverCpu must be at least 100m"),
    "a limit of no executor CPU": ({"spec.limits": {"executorCpu": "1m"}}, "executorCpu must be at least 100m"),
    "limits that are no quantities": (
        {"spec.limits": {"driverMemory": "8GB"}},
        "spec.limits.driverMemory: Invalid value",
    ),
    "a limit of executor memory that is no quantity": (
        {"spec.limits": {"executorMemory": "much"}},
        "spec.limits.executorMemory: Invalid value",
    ),
    "a limit of driver CPU that is no quantity": (
        {"spec.limits": {"driverCpu": "-1"}},
        "spec.limits.driverCpu: Invalid value",
    ),
    "a limit of executor CPU that is no quantity": (
        {"spec.limits": {"executorCpu": "1.5.0"}},
        "spec.limits.executorCpu: Invalid value",
    ),
    "a deadline that no job can meet": ({"spec.job": {"deadline": "30s"}}, "deadline must be at least 1m"),
    "a time for the last batch without a unit": (
        {"spec.job": {"drainTimeout": "60"}},
        "spec.job.drainTimeout: Invalid value",
    ),
    "a time for the last batch that no node waits for": (
        {"spec.job": {"drainTimeout": "2h"}},
        "drainTimeout must not be longer than 1h",
    ),
    "a deadline without a unit": ({"spec.job": {"deadline": "30"}}, "spec.job.deadline: Invalid value"),
    "a start timeout of nothing": ({"spec.job": {"startTimeout": "0s"}}, "startTimeout must be at least 10s"),
    "a start timeout in words": (
        {"spec.job": {"startTimeout": "five minutes"}},
        "spec.job.startTimeout: Invalid value",
    ),
    "jobs that vanish before they are read": (
        {"spec.job": {"ttlAfterFinished": "0s"}},
        "ttlAfterFinished must be at least 1m",
    ),
    "jobs that stay for days": (
        {"spec.job": {"ttlAfterFinished": "1d"}},
        "spec.job.ttlAfterFinished: Invalid value",
    ),
    "a driver account with capitals": (
        {"spec.job": {"driverServiceAccountName": "Driver"}},
        "spec.job.driverServiceAccountName: Invalid value",
    ),
    "an executor account with a slash": (
        {"spec.job": {"executorServiceAccountName": "a/b"}},
        "spec.job.executorServiceAccountName: Invalid value",
    ),
    "a pull secret without a name": (
        {"spec.job": {"imagePullSecretNames": [""]}},
        "spec.job.imagePullSecretNames[0]: Invalid value",
    ),
    "retries without a pause": ({"spec.retry": {"initialDelay": "0s"}}, "initialDelay must be at least 1s"),
    "a first pause without a unit": (
        {"spec.retry": {"initialDelay": "10"}},
        "spec.retry.initialDelay: Invalid value",
    ),
    "a longest pause without a unit": ({"spec.retry": {"maxDelay": "10"}}, "spec.retry.maxDelay: Invalid value"),
    "a first pause longer than the longest": (
        {"spec.retry": {"initialDelay": "11m"}},
        "initialDelay must not be longer than maxDelay (defaults 10s and 10m)",
    ),
    "retries that never happen": (
        {"spec.retry": {"maxAttempts": 0}},
        "spec.retry.maxAttempts in body should be greater than or equal to 1",
    ),
    "a lock server without a port": (
        {"spec.lock": {"zookeeper": {"connect": "zk"}}},
        "spec.lock.zookeeper.connect: Invalid value",
    ),
    "a lock below the root": (
        {"spec.lock": {"zookeeper": {"connect": "zk:2181", "basePath": "/"}}},
        "spec.lock.zookeeper.basePath: Invalid value",
    ),
    "quiet for less than no time": (
        {"spec.takeover": {"quietFor": "-1s"}},
        "spec.takeover.quietFor: Invalid value",
    ),
    "an alarm at once": ({"spec.pendingInstantAlarm": "59s"}, "pendingInstantAlarm must be at least 1m"),
    "an alarm in days": ({"spec.pendingInstantAlarm": "1d"}, "spec.pendingInstantAlarm: Invalid value"),
    "a default of driver memory without a unit": (
        {"spec.execution": {"driver": {"memory": 2}}},
        "memory must be at least 1000Mi",
    ),
    "a default of no CPU": ({"spec.execution": {"executor": {"cpu": 0}}}, "cpu must be at least 100m"),
    "a default of driver memory that is no quantity": (
        {"spec.execution": {"driver": {"memory": "x"}}},
        "spec.execution.driver.memory: Invalid value",
    ),
    "a default of driver CPU that is no quantity": (
        {"spec.execution": {"driver": {"cpu": "x"}}},
        "spec.execution.driver.cpu: Invalid value",
    ),
    "a default of executor memory that is no quantity": (
        {"spec.execution": {"executor": {"memory": "x"}}},
        "spec.execution.executor.memory: Invalid value",
    ),
    "a default of executor CPU that is no quantity": (
        {"spec.execution": {"executor": {"cpu": "x"}}},
        "spec.execution.executor.cpu: Invalid value",
    ),
    "a pod's label that is the operator's": (
        {"spec.job": {"podLabels": {"hudi-operator.io/role": "driver"}}},
        "podLabels must have valid keys",
    ),
    "a pod's label that is the Job controller's": (
        {"spec.job": {"podLabels": {"batch.kubernetes.io/job-name": "x"}}},
        "podLabels must have valid keys",
    ),
    "a pod's label that is no key": ({"spec.job": {"podLabels": {"a b": "x"}}}, "podLabels must have valid keys"),
    "a pod's label with a value that is none": (
        {"spec.job": {"podLabels": {"team": "a b"}}},
        "spec.job.podLabels[team]: Invalid value",
    ),
    "a pod's annotation that is the operator's": (
        {"spec.job": {"podAnnotations": {"hudi-operator.io/request": "{}"}}},
        "podAnnotations must have valid keys",
    ),
    "a pod's annotation with a key without end": (
        {"spec.job": {"podAnnotations": {"a" * 200: "x"}}},
        "podAnnotations must have valid keys",
    ),
    "all Spark settings at once": (
        {"spec.allowedSparkConf": ["*"]},
        "spec.allowedSparkConf[0]: Invalid value",
    ),
    "a Hudi option with a pattern in its middle": (
        {"spec.allowedHudiOptions": ["hoodie.*.max"]},
        "spec.allowedHudiOptions[0]: Invalid value",
    ),
    "a limit of no running jobs": (
        {"spec.jobQuota": {"runningJobs": 0}},
        "spec.jobQuota.runningJobs in body should be greater than or equal to 1",
    ),
    "an unknown field": ({"spec.image": "spark"}, 'unknown field "spec.image"'),
}
