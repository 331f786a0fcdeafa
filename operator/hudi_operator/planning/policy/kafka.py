"""The Kafka brokers, topics, registries and Secrets that a class allows, each source by a single entry."""

from collections.abc import Iterable, Iterator

from hudi_jobs.contract.wording import listed
from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.api.spec.allowed_kafka import AllowedKafka
from hudi_operator.api.spec.kafka import KafkaSourceSpec
from hudi_operator.api.values.kafka import compared, literal_prefix, pattern_problem
from hudi_operator.jobs.source_secrets import SourceSecret, secrets_of
from hudi_operator.planning.model import Blocker, BlockerReason

_FIELD = "ingestion.source.kafka"
_NAMED = 8


def kafka_blockers(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    """Yield the blockers of a Kafka source, if the table has a Kafka source."""
    ingestion = table.spec.ingestion
    if ingestion is None or ingestion.source.kafka is None:
        return
    kafka = ingestion.source.kafka
    if kafka.topic_pattern is not None and (problem := pattern_problem(kafka.topic_pattern)) is not None:
        message = f"{_FIELD}.topicPattern {problem}; correct it."
        yield Blocker(reason=BlockerReason.INVALID_PATTERN, message=message, hides=False)
        return
    entries = table_class.spec.allowed_kafka
    secrets = secrets_of(ingestion.source)
    left_out = [list(_not_allowed(kafka, secrets, entry, table.metadata.namespace)) for entry in entries]
    if any(not one for one in left_out):
        return
    yield Blocker(
        reason=BlockerReason.SOURCE_NOT_ALLOWED,
        message=_message(table_class.metadata.name, min(left_out, key=len, default=[])),
        hides=False,
    )


def _not_allowed(
    kafka: KafkaSourceSpec, secrets: Iterable[SourceSecret], entry: AllowedKafka, namespace: str
) -> Iterator[str]:
    """Yield the parts of a source that an entry does not allow."""
    brokers = {compared(one) for one in entry.bootstrap_servers}
    yield from (f"broker {one}" for one in kafka.bootstrap_servers if compared(one) not in brokers)
    topics = [one.replace("{namespace}", namespace) for one in entry.topics if _is_sound(one)]
    yield from (f"topic {one}" for one in kafka.topics if not _covers(topics, one, whole=True))
    if kafka.topic_pattern is not None:
        prefix, whole = literal_prefix(kafka.topic_pattern)
        if not _covers(topics, prefix, whole=whole):
            yield f"topics that match {kafka.topic_pattern}"
    url = compared(kafka.registry.url) if kafka.registry is not None else None
    registries = [one for one in entry.registries if compared(one.url) == url]
    if kafka.registry is not None and not registries:
        yield f"registry {kafka.registry.url}"
    for_registry = {name for one in registries for name in one.secret_names}
    lacking = ((one, for_registry if one.is_for_registry else set(entry.secret_names)) for one in secrets)
    named = (f"Secret {one.name} for {_receiver(one)}" for one, allowed in lacking if one.name not in allowed)
    yield from dict.fromkeys(named)


def _receiver(secret: SourceSecret) -> str:
    return "the registry" if secret.is_for_registry else "the brokers"


def _is_sound(topic: str) -> bool:
    """Whether `{namespace}` ends in an allowed topic where no namespace name can continue, as the API server checks."""
    return all(rest[:1] in {"", ".", "_"} for rest in topic.split("{namespace}")[1:])


def _covers(allowed: Iterable[str], text: str, *, whole: bool) -> bool:
    """Whether an allowed topic covers every topic with the prefix `text`, or only `text` if it is whole."""
    return any(
        text.startswith(one.removesuffix("*")) if one.endswith("*") else whole and text == one for one in allowed
    )


def _message(class_name: str, left_out: list[str]) -> str:
    if not left_out:
        return (
            f"{_FIELD}: class {class_name} allows no Kafka cluster: ask the platform team for an entry of "
            "allowedKafka, or use a class that has one."
        )
    return (
        f"{_FIELD}: no entry of allowedKafka of class {class_name} allows all that the source names; the closest one "
        f"lacks {listed(left_out, _NAMED)}. Use only what one entry allows, or ask the platform team to add it. The "
        "part of a topicPattern before the first wildcard must lie inside what is allowed."
    )
