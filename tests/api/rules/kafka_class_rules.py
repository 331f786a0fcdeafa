"""What the API server accepts and refuses in what a class allows of Kafka."""

from typing import Any

Document = dict[str, Any]

ENTRY = {"bootstrapServers": ["kafka.messaging:9092"], "topics": ["{namespace}.*"]}


def entry(**fields: Any) -> Document:
    return {"spec.allowedKafka": [{**ENTRY, **fields}]}


CLASSES_ACCEPTED: dict[str, Document] = {
    "the smallest entry": entry(),
    "a whole entry": entry(
        topics=["shared.orders", "{namespace}", "raw-{namespace}_*", "*"],
        registries=[
            {"url": "https://registry.example.com/v1", "secretNames": ["registry-user"]},
            {"url": "http://b:1"},
        ],
        secretNames=["kafka-user", "kafka-ca"],
    ),
    "as much as there may be": {
        "spec.allowedKafka": [
            {
                "bootstrapServers": [f"{'b' * 250}{number}:9092" for number in range(10, 74)],
                "topics": [f"{'t' * 250}{number}.*" for number in range(10, 74)],
                "registries": [
                    {
                        "url": f"https://{'r' * 250}:80{number}",
                        "secretNames": [f"{'s' * 250}{one}" for one in range(10, 18)],
                    }
                    for number in range(10, 26)
                ],
                "secretNames": [f"{'s' * 250}{number}" for number in range(10, 42)],
            }
        ]
        * 8
    },
}

GOES_ON = "{namespace} must stand at the end or before a dot or an underscore"
CLASSES_REFUSED: dict[str, tuple[Document, str]] = {
    "an entry without brokers": (entry(bootstrapServers=[]), "should have at least 1 items"),
    "an entry without topics": (entry(topics=[]), "should have at least 1 items"),
    "a broker with a wildcard": (
        entry(bootstrapServers=["*:9092"]),
        "spec.allowedKafka[0].bootstrapServers[0]: Invalid value",
    ),
    "a registry with a wildcard": (
        entry(registries=[{"url": "https://*"}]),
        "spec.allowedKafka[0].registries[0].url: Invalid value",
    ),
    "a registry whose path climbs": (
        entry(registries=[{"url": "https://a/.."}]),
        "url must have no '.' or '..' segments",
    ),
    "a Secret of a registry with a wildcard": (
        entry(registries=[{"url": "https://a", "secretNames": ["kafka-*"]}]),
        "spec.allowedKafka[0].registries[0].secretNames[0]: Invalid value",
    ),
    "a Secret with a wildcard": (
        entry(secretNames=["kafka-*"]),
        "spec.allowedKafka[0].secretNames[0]: Invalid value",
    ),
    "a topic with a wildcard inside": (
        entry(topics=["a*b"]),
        "spec.allowedKafka[0].topics[0]: Invalid value",
    ),
    "a topic of something else in braces": (
        entry(topics=["{name}.*"]),
        "{namespace} is the only text in braces that a topic may contain",
    ),
    "topics of every namespace whose name goes on": (entry(topics=["{namespace}*"]), GOES_ON),
    "topics of every namespace whose name goes on with a dash": (entry(topics=["{namespace}-*"]), GOES_ON),
}
