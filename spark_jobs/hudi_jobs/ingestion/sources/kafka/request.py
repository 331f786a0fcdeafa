"""Validates a request's Kafka settings: allowlists, because many settings become client options or parts of them."""

import re
from datetime import datetime
from pathlib import PurePosixPath

from hudi_jobs.contract import (
    Envelope,
    FailureReason,
    IngestionTask,
    KafkaSource,
    MessageFormat,
    OffsetReset,
    SecurityProtocol,
    TableDefinition,
    Tombstones,
    WriteOperation,
)
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of, unwrapper_of
from hudi_jobs.ingestion.sources.kafka.formats.protocol import RESERVED
from hudi_jobs.ingestion.sources.kafka.offset_state import ADVICE, mixes_topics, offset_that_orders
from hudi_jobs.spark.failures import TaskFailed

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])"
_SERVERS = re.compile(rf"{_HOST}:\d{{1,5}}(?:,{_HOST}:\d{{1,5}})*")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_FOLDER = re.compile(r"(?:/[A-Za-z0-9._-]+)+")
_PIECE = r"(?:[A-Za-z0-9_-]|\\[.dw-]|\.|\[\^?[A-Za-z0-9._-]+\])[*+?]?"
_PATTERN = re.compile(rf"(?:{_PIECE}|\||\((?!\))|\)\??(?![*+?]))+")
_LONGEST, _MOST_REPETITIONS, _MOST_TOPICS = 2000, 3, 10_000
_INTERNAL = "__"


def with_table_columns(source: KafkaSource, task: IngestionTask, table: TableDefinition) -> KafkaSource:
    """Return topics of plain JSON with the declared columns of the table, so that the reader finds bad rows.

    Columns of the values come first, a transform decides itself which columns it reads, and change events bring theirs.
    Columns of a message's other parts are no columns of its value.
    """
    value = source.value
    is_plain = value.envelope is Envelope.NONE and value.format is MessageFormat.JSON
    if task.transform_sql is not None or value.schema_ddl is not None or not is_plain or table.declared is None:
        return source
    parts = {name for name in source.columns.model_dump().values() if name is not None}
    columns = tuple(one for one in table.declared.columns if one.name not in parts)
    if not columns:
        return source
    return source.copy_with(value=value.copy_with(table_columns=table.declared.copy_with(columns=columns)))


def require_request(task: IngestionTask, source: KafkaSource, table: TableDefinition) -> None:
    """Raise `TaskFailed` for errors visible in the request alone."""
    _require_brokers(source)
    _require_topics(source)
    _require_start(source)
    _require_columns(source)
    format_of(source).require(source)
    unwrapper = unwrapper_of(source)
    if unwrapper is not None:
        unwrapper.require(source)
    if task.operation is WriteOperation.INSERT_OVERWRITE:
        raise invalid("A stream holds changes, not whole partitions, so it cannot be written with InsertOverwrite")
    if source.tombstones is Tombstones.DELETE:
        _require_deletes(task, source, table)
    offset = offset_that_orders(task, source, table)
    if offset is not None and mixes_topics(source, table):
        raise invalid(
            f"The ordering field {offset} is the offset of the message, which orders the messages of one topic only, "
            f"and the source may have several; in a new table, {ADVICE}, or make columns.topic part of the record key"
        )


def invalid(sentence: str) -> TaskFailed:
    """Return the failure for an unacceptable request."""
    return TaskFailed(FailureReason.INVALID_REQUEST, f"{sentence}.")


def topic_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern for whole names; raise `TaskFailed` if it is too complex to be fast."""
    wild = sum(text.count(sign) for sign in "*+")
    if len(text) > _LONGEST or not _PATTERN.fullmatch(text) or wild > _MOST_REPETITIONS:
        raise invalid(
            f"The topic pattern {text[:100]!a} is not one of letters, digits, '.', '[...]', '|' and '(...)', with at "
            f"most {_MOST_REPETITIONS} signs '*' or '+' and neither after a bracket ')'"
        )
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise invalid(f"The topic pattern {text[:100]!a} is not valid: {error}") from error


def matching(text: str, names: list[str]) -> list[str]:
    """Return the topics with a whole name that matches, without Kafka's own."""
    pattern = topic_pattern(text)
    return sorted(name for name in names if not name.startswith(_INTERNAL) and pattern.fullmatch(name))


def moment(text: str) -> int:
    """Return an RFC 3339 time in milliseconds since the epoch."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise invalid(f"The starting time {text[:60]!a} is not RFC 3339") from error
    if found.tzinfo is None:
        raise invalid(f"The starting time {text[:60]!a} has no zone")
    return int(found.timestamp() * 1000)


def _require_brokers(source: KafkaSource) -> None:
    if len(source.bootstrap_servers) > _LONGEST or not _SERVERS.fullmatch(source.bootstrap_servers):
        raise invalid(f"The bootstrap servers {source.bootstrap_servers[:100]!a} are not a list of host:port")
    security = source.security
    for path in (security.credentials_folder, security.ca_file, security.certificate_folder):
        if path is not None and (not _FOLDER.fullmatch(path) or ".." in PurePosixPath(path).parts):
            raise invalid(f"The path {path[:100]!a} is not that of a mounted Secret")
    sasl = security.protocol in {SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL}
    if sasl != (security.mechanism is not None and security.credentials_folder is not None):
        raise invalid(
            f"With {security.protocol}, mechanism and credentials are required if, and only if, the protocol begins "
            "with SASL"
        )
    if security.protocol not in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL} and (
        security.ca_file is not None or security.certificate_folder is not None
    ):
        raise invalid(f"Certificates are of no use with {security.protocol}, which does not encrypt")


def _require_topics(source: KafkaSource) -> None:
    if bool(source.topics) == (source.topic_pattern is not None):
        raise invalid("A Kafka source names either topics or a pattern of topics")
    if source.topic_pattern is not None:
        topic_pattern(source.topic_pattern)
    if len(source.topics) > _MOST_TOPICS or len(set(source.topics)) != len(source.topics):
        raise invalid(f"The topics are more than {_MOST_TOPICS:,}, or one of them is named twice")
    for topic in source.topics:
        if not _TOPIC.fullmatch(topic) or topic in {".", ".."} or topic.startswith(_INTERNAL):
            raise invalid(f"{topic[:100]!a} is not a valid topic name")


def _require_start(source: KafkaSource) -> None:
    start = source.starting_offsets
    if start.timestamp is not None:
        moment(start.timestamp)
    inferred = source.value.format is MessageFormat.JSON and source.value.schema_ddl is None
    if start.reset is OffsetReset.LATEST and start.timestamp is None and inferred:
        raise invalid(
            "Starting at Latest requires declared columns: the first run creates the table, without rows, to record "
            "where it starts, so that no later message is missed"
        )


def _require_columns(source: KafkaSource) -> None:
    names = [name for name in source.columns.model_dump().values() if name is not None]
    taken = next((name for name in names if name in RESERVED or not name or names.count(name) > 1), None)
    if taken is not None:
        raise invalid(f"The name {taken[:100]!a} of a message column is empty, reserved or given twice")


def _require_deletes(task: IngestionTask, source: KafkaSource, table: TableDefinition) -> None:
    """Raise `TaskFailed` if a message without a value cannot name the record to delete, or would not win."""
    if task.operation is not WriteOperation.UPSERT:
        raise invalid("Tombstones delete records only with the operation Upsert")
    if source.value.envelope is not Envelope.NONE:
        raise invalid("The envelope itself reports deletes, so its tombstones are skipped; set them to Skip")
    if source.value.format is MessageFormat.JSON and source.value.schema_ddl is None:
        raise invalid("Tombstones delete by the types of the declared columns; declare the schema")
    ordered = {source.columns.offset, source.columns.timestamp} - {None}
    without = [name for name in table.ordering_fields if name not in ordered]
    if without:
        raise invalid(
            f"A tombstone has no value of the ordering field {without[0]}, so Hudi cannot tell whether it is the "
            "newest; declare no orderingFields, so that the later message wins"
        )
