"""What the API server accepts and refuses in pod templates, profiles and queues, and what a table may choose."""

from typing import Any

from tests.jobs.test_placement import BOTH, EVERYTHING

Document = dict[str, Any]


def of_drivers(**fields: Any) -> Document:
    return {"spec.podTemplate": {"driver": fields}}


def of_a_volume(**fields: Any) -> Document:
    return of_drivers(volumes=[{"name": "data", **fields}])


def of_a_node_term(**requirement: Any) -> Document:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return of_drivers(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def of_pods(term: Document) -> Document:
    return of_drivers(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


SPREAD: Document = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}

CLASSES_ACCEPTED: dict[str, Document] = {
    "a spread that is needed and one that is preferred": of_drivers(
        topologySpreadConstraints=[SPREAD, {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]
    ),
    "keys of labels of the greatest length": of_drivers(nodeSelector={f"{'a.' * 126}a/{'b' * 63}": ""}),
    "every field of a template for both roles, in the class and in a profile": {
        "spec.podTemplate": BOTH,
        "spec.profiles": [{"name": "spot", "podTemplate": BOTH, "queueName": "spot"}],
    },
    "a default profile": {"spec.profiles": [{"name": "a"}, {"name": "b-1"}], "spec.execution": {"profile": "b-1"}},
    "a queue and a pull policy": {"spec.job": {"queueName": "lake", "imagePullPolicy": "Always"}},
    "a folder for event logs": {"spec.job": {"eventLogPath": "s3a://logs/{namespace}/spark"}},
    "sixteen profiles with every field": {
        "spec.profiles": [{"name": f"p{number}", "podTemplate": BOTH} for number in range(16)]
    },
    "variables for proxies, certificates and a team": of_drivers(
        env=[{"name": name, "value": ""} for name in ("no_proxy", "SSL_CERT_FILE", "APP_X", "OTEL_SERVICE_NAME")]
    ),
}

KEYS = "must have valid keys of at most 128 characters"
LABELS = "must have keys of labels"
VARIABLE = "must be one of HTTP_PROXY"
ONE_KIND = "a volume needs exactly one of emptyDir, configMap, secret, persistentVolumeClaim, ephemeral"
DEFAULT_PROFILE = "execution.profile must be the name of one of the profiles"

CLASSES_REFUSED: dict[str, tuple[Document, str]] = {
    "a default profile that is not offered": (
        {"spec.profiles": [{"name": "a"}], "spec.execution": {"profile": "b"}},
        DEFAULT_PROFILE,
    ),
    "a default profile without profiles": ({"spec.execution": {"profile": "b"}}, DEFAULT_PROFILE),
    "two profiles of one name": ({"spec.profiles": [{"name": "a"}, {"name": "a"}]}, "Duplicate value"),
    "a profile without a name": ({"spec.profiles": [{}]}, "spec.profiles[0].name: Required value"),
    "a profile with a name in capitals": (
        {"spec.profiles": [{"name": "Spot"}]},
        "must be the name of a profile: lower-case letters",
    ),
    "seventeen profiles": (
        {"spec.profiles": [{"name": f"p{number}"} for number in range(17)]},
        "must have at most 16 items",
    ),
    "a queue that no label can name": (
        {"spec.job": {"queueName": "a/b"}},
        "must be the name of a LocalQueue of Kueue",
    ),
    "a queue of a profile that no label can name": (
        {"spec.profiles": [{"name": "a", "queueName": "A"}]},
        "must be the name of a LocalQueue of Kueue",
    ),
    "event logs in every bucket": ({"spec.job": {"eventLogPath": "s3a://"}}, "a prefix must look like"),
    "event logs in a folder that climbs": (
        {"spec.job": {"eventLogPath": "s3a://logs/../lake"}},
        "a prefix must be plain: no '.' or '..' segments",
    ),
    "event logs of another table by a placeholder": (
        {"spec.job": {"eventLogPath": "s3a://logs/{table}"}},
        "{namespace} is the only text in braces",
    ),
    "an unknown pull policy": ({"spec.job": {"imagePullPolicy": "Sometimes"}}, 'Unsupported value: "Sometimes"'),
    "a toleration of every taint": (of_drivers(tolerations=[{"operator": "Exists"}]), "key: Required value"),
    "a toleration without a key": (
        of_drivers(tolerations=[{"key": "", "operator": "Exists"}]),
        "must be the key of a label",
    ),
    "a toleration of any value with a value": (
        of_drivers(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        "a toleration with operator Exists has no value",
    ),
    "a time on nodes that pods are not driven from": (
        of_drivers(tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]),
        "tolerationSeconds needs effect NoExecute",
    ),
    "a requirement without values": (
        of_a_node_term(key="pool", operator="In"),
        "In and NotIn need values, Exists and DoesNotExist have none",
    ),
    "a requirement with a key that is no label": (
        of_a_node_term(key="a b", operator="Exists"),
        "must be the key of a label",
    ),
    "no term of nodes": (
        of_drivers(
            affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
        ),
        "should have at least 1 items",
    ),
    "pods without a label": (
        of_pods({"topologyKey": "zone", "labelSelector": {"matchLabels": {}}}),
        "should have at least 1 properties",
    ),
    "pods of another namespace": (
        of_pods({"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, "namespaces": ["kube-system"]}),
        'unknown field "spec.podTemplate.driver.affinity.podAntiAffinity.'
        'requiredDuringSchedulingIgnoredDuringExecution[0].namespaces"',
    ),
    "a priority of the cluster's own pods": (
        of_drivers(priorityClassName="system-node-critical"),
        "priorityClassName must not begin with system-",
    ),
    "a label of the operator": (of_drivers(labels={"hudi-operator.io/role": "executor"}), f"labels {KEYS}"),
    "a label of Kueue on a pod": (of_drivers(labels={"kueue.x-k8s.io/queue-name": "a"}), f"labels {KEYS}"),
    "an annotation of the operator": (
        of_drivers(annotations={"hudi-operator.io/request": "{}"}),
        f"annotations {KEYS}",
    ),
    "an annotation that loosens a profile of the kernel": (
        of_drivers(annotations={"container.apparmor.security.beta.kubernetes.io/driver": "unconfined"}),
        f"annotations {KEYS}",
    ),
    **{
        f"the variable {name}": (of_drivers(env=[{"name": name, "value": "x"}]), VARIABLE)
        for name in ("JAVA_TOOL_OPTIONS", "SPARK_LOCAL_DIRS", "AWS_PROFILE", "PYTHONPATH", "TZ", "POD_IP", "APP_")
    },
    "a variable twice": (
        of_drivers(env=[{"name": "APP_A", "value": "x"}, {"name": "APP_A", "value": "y"}]),
        "Duplicate value",
    ),
    "a variable from a Secret": (
        of_drivers(env=[{"name": "APP_A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]),
        'env[0].valueFrom"',
    ),
    "a volume of no kind": (of_a_volume(), ONE_KIND),
    "a volume of two kinds": (of_a_volume(emptyDir={}, configMap={"name": "a"}), ONE_KIND),
    **{
        f"a volume of kind {kind}": (of_a_volume(**{kind: {}}), f'volumes[0].{kind}"')
        for kind in ("hostPath", "csi", "nfs", "projected", "image")
    },
    "a mount at a place of one's own": (
        of_a_volume(emptyDir={}, mountPath="/etc"),
        'unknown field "spec.podTemplate.driver.volumes[0].mountPath"',
    ),
    "a volume whose name climbs": (
        of_drivers(volumes=[{"name": "../etc", "emptyDir": {}}]),
        "must be the name of a volume",
    ),
    "two volumes of one name": (
        of_drivers(volumes=[{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]),
        "Duplicate value",
    ),
    "a folder of Spark that pods share": (
        of_a_volume(persistentVolumeClaim={"claimName": "a"}, sparkLocalDir=True),
        "sparkLocalDir needs emptyDir or ephemeral",
    ),
    "a size that is no quantity": (of_a_volume(ephemeral={"size": "much"}), "must be a quantity"),
    "a made volume without any room": (of_a_volume(ephemeral={"size": "0"}), "size must be at least 1Mi"),
    "a StorageClass with an empty part in its name": (
        of_a_volume(ephemeral={"size": "1Gi", "storageClassName": "fast..disk"}),
        "must be the name of a Kubernetes object",
    ),
    "a selector of nodes by a key that is no label": (of_drivers(nodeSelector={"a b": "c"}), f"nodeSelector {LABELS}"),
    "a selector of nodes for all pods by a key that is no label": (
        {"spec.job": {"nodeSelector": {"": "c"}}},
        f"nodeSelector {LABELS}",
    ),
    "a selector of nodes for all pods by a value that is no label": (
        {"spec.job": {"nodeSelector": {"pool": "of spark"}}},
        "must be the value of a label",
    ),
    "pods by a key that is no label": (
        of_pods({"topologyKey": "zone", "labelSelector": {"matchLabels": {"a b": "c"}}}),
        f"matchLabels {LABELS}",
    ),
    "a toleration of a key that is too long": (
        of_drivers(tolerations=[{"key": "a" * 64, "operator": "Exists"}]),
        "must be the key of a label",
    ),
    "a label that is too long": (of_drivers(labels={"a" * 64: "b"}), f"labels {KEYS}"),
    "a label of a prefix with an empty part": (of_drivers(labels={"example..com/a": "b"}), f"labels {KEYS}"),
    "the same spread twice": (
        of_drivers(topologySpreadConstraints=[SPREAD, {**SPREAD, "maxSkew": 2}]),
        "topologySpreadConstraints must differ in topologyKey or whenUnsatisfiable",
    ),
    "a security context": (
        of_drivers(securityContext={"privileged": True}),
        'unknown field "spec.podTemplate.driver.securityContext"',
    ),
    "a host network": (of_drivers(hostNetwork=True), 'unknown field "spec.podTemplate.driver.hostNetwork"'),
}

ACCEPTED: dict[str, Document] = {"a profile by its name": {"spec.execution": {"profile": "spot"}}}

REFUSED: dict[str, tuple[Document, str]] = {
    "a pod template of a table": ({"spec.podTemplate": {"driver": {}}}, 'unknown field "spec.podTemplate"'),
    "a queue of a table": ({"spec.execution": {"queueName": "a"}}, 'unknown field "spec.execution.queueName"'),
    "a profile that a table makes up": (
        {"spec.profiles": [{"name": "mine"}], "spec.execution": {"profile": "mine"}},
        'unknown field "spec.profiles"',
    ),
    "event logs of a table": ({"spec.execution": {"eventLogPath": "s3a://a"}}, 'field "spec.execution.eventLogPath"'),
    "a profile as an object": (
        {"spec.execution": {"profile": {"driver": {}}}},
        'unknown field "spec.execution.profile.driver"',
    ),
    "a profile that no class can offer": ({"spec.execution": {"profile": "a b"}}, "must be the name of a profile"),
    **{
        f"{field} of a table": ({f"spec.execution.{role}": {field: value}}, f'unknown field "spec.execution.{role}')
        for role in ("driver", "executor")
        for field, value in EVERYTHING.items()
    },
}
