"""What the API server accepts and refuses in a Kafka source."""

from typing import Any

Document = dict[str, Any]

KAFKA = {"bootstrapServers": ["kafka.messaging:9092"], "topics": ["orders"]}


def source(**fields: Any) -> Document:
    """Return the change that gives a table a Kafka source with these fields; None removes one."""
    kafka = {name: value for name, value in {**KAFKA, **fields}.items() if value is not None}
    return {"spec.ingestion": {"source": {"kafka": kafka}}}


def secured(**fields: Any) -> Document:
    return source(security=fields)


def upsert_of_changes(**fields: Any) -> Document:
    return {**source(value={"envelope": "Debezium"}, **fields), "spec.orderingFields": ["_event_lsn"]}


REGISTRY = {"url": "https://registry.example.com"}
PROTOBUF = {"messageType": "shop.v1.Order", "descriptor": "CgA="}
SCRAM = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "credentialsSecretName": "kafka-user"}

ACCEPTED: dict[str, Document] = {
    "the smallest source": source(),
    "brokers by address": source(bootstrapServers=["10.0.0.1:9092", "[2001:db8::1]:9093", "Kafka-0.example.com:65535"]),
    "as many and as long brokers and topics as there may be": source(
        bootstrapServers=[f"{'b' * 250}{number}:9092" for number in range(10, 26)],
        topics=[f"{'t' * 247}{number}" for number in range(10, 74)],
        startingOffsets={
            "partitions": [{"topic": f"{'t' * 247}73", "partition": number, "offset": 2**62} for number in range(1024)]
        },
    ),
    "topics with dots, dashes and underscores": source(topics=["Team-a.orders_v1", "..."]),
    "a pattern of everything below a prefix": source(topics=None, topicPattern=r"team-a\.orders\..*"),
    "a pattern with a class and a choice": source(topics=None, topicPattern=r"(orders|returns\.eu)-[0-9]+.[a-z]*"),
    "the beginning": source(startingOffsets={"at": "Earliest"}),
    "the end": source(startingOffsets={"at": "Latest"}, value={"columns": "id BIGINT"}),
    "a time": source(startingOffsets={"timestamp": "2026-11-01T00:00:00.5+02:00"}),
    "offsets by partition": source(
        startingOffsets={"partitions": [{"topic": "orders", "partition": one, "offset": 7} for one in range(2)]}
    ),
    "offsets by partition of a pattern": source(
        topics=None,
        topicPattern="orders.*",
        startingOffsets={"partitions": [{"topic": "orders-1", "partition": 0, "offset": 0}]},
    ),
    "messages of open transactions, and lost ones passed over": source(isolation="ReadUncommitted", onDataLoss="Skip"),
    "JSON with columns": source(value={"format": "Json", "columns": "id BIGINT, at TIMESTAMP"}),
    "columns without a format": source(value={"columns": "id BIGINT"}),
    "raw values with all columns": source(
        value={"format": "Raw"},
        columns={name: f"_{name}" for name in ("key", "topic", "partition", "offset", "timestamp", "headers")},
    ),
    "Avro with a registry": source(value={"format": "Avro"}, registry={**REGISTRY, "subject": "orders-value"}),
    "a registry below a path, by HTTP": source(
        value={"format": "Avro"}, registry={"url": "http://apicurio:8080/apis/ccompat/v7/"}
    ),
    "a registry with Secrets": source(
        value={"format": "Avro"},
        registry={**REGISTRY, "credentialsSecretName": "registry-user", "caSecretName": "registry-ca"},
    ),
    "Protobuf with a descriptor": source(value={"format": "Protobuf", "protobuf": PROTOBUF}),
    "Protobuf with a registry": source(value={"format": "Protobuf"}, registry={**REGISTRY, "subject": "orders-value"}),
    "Protobuf with a registry, by the name of the message": source(
        value={"format": "Protobuf", "protobuf": {"messageType": "shop.v1.Order.Line"}},
        registry={**REGISTRY, "credentialsSecretName": "registry-user", "caSecretName": "registry-ca"},
    ),
    "the end, of Protobuf": source(startingOffsets={"at": "Latest"}, value={"format": "Protobuf"}, registry=REGISTRY),
    "tombstones that delete": source(tombstones="Delete", value={"columns": "id BIGINT"}),
    "tombstones that delete in the order of the offsets": {
        **source(
            tombstones="Delete", value={"format": "Avro"}, registry=REGISTRY, columns={"offset": "o", "timestamp": "t"}
        ),
        "spec.orderingFields": ["t", "o"],
    },
    "an order of offsets that each key has once": {
        **source(topics=["a", "b"], columns={"offset": "o"}),
        "spec.recordKey": ["id", "o"],
        "spec.orderingFields": ["o"],
    },
    "an order of offsets within each topic of a pattern": {
        **source(topics=None, topicPattern="orders.*", columns={"offset": "o", "topic": "t"}),
        "spec.recordKey": ["t", "id"],
        "spec.orderingFields": ["o"],
    },
    "an order of offsets in which nothing is compared": {
        **source(topics=["a", "b"], columns={"offset": "o"}),
        "spec.ingestion.operation": "Insert",
        "spec.orderingFields": ["o"],
    },
    "several topics in another order": {
        **source(topics=["a", "b"], columns={"offset": "o"}),
        "spec.orderingFields": ["at"],
    },
    "the end, of Avro": source(startingOffsets={"at": "Latest"}, value={"format": "Avro"}, registry=REGISTRY),
    "tombstones that are left out, of an insert": {
        **source(tombstones="Skip"),
        "spec.ingestion.operation": "Insert",
    },
    "change events": upsert_of_changes(),
    "change events of several tables": {
        **source(value={"envelope": "Debezium", "sourceTables": "Several"}),
        "spec.orderingFields": ["_event_lsn"],
    },
    "change events in Avro": {
        **source(value={"format": "Avro", "envelope": "Debezium"}, registry=REGISTRY),
        "spec.orderingFields": ["_event_lsn"],
    },
    "change events with columns, of MySQL, in partitions": {
        **source(
            value={"format": "Avro", "envelope": "Debezium", "columns": "id BIGINT"},
            registry=REGISTRY,
        ),
        "spec.orderingFields": ["_event_bin_file", "_event_pos"],
        "spec.partitionBy": ["day"],
        "spec.index": {"type": "GlobalBloom"},
    },
    "change events in partitions by the key": {**upsert_of_changes(), "spec.partitionBy": ["carrier"]},
    "no encryption": secured(protocol="PLAINTEXT"),
    "encryption": secured(protocol="SSL"),
    "encryption with authorities and a certificate": secured(
        protocol="SSL", caSecretName="kafka-ca", certificateSecretName="kafka-client"
    ),
    "a password": secured(**SCRAM),
    "a password with everything": secured(**SCRAM, caSecretName="kafka-ca", certificateSecretName="kafka-client"),
    "a password without encryption": secured(
        protocol="SASL_PLAINTEXT", mechanism="PLAIN", credentialsSecretName="kafka-user"
    ),
    "a limit of messages per run": source(maxRecordsPerRun=100_000),
    "a limit of bytes per run": source(maxBytesPerRun="1Gi"),
    "quarantine": {
        **source(),
        "spec.ingestion.badRecords": {"policy": "Quarantine", "quarantinePath": "s3a://lake/rejected"},
    },
}

ONE_KIND = "exactly one of files, kafka and hudi must be set"
TOPICS = "exactly one of topics and topicPattern must be set"
STARTS = "exactly one of at, timestamp and partitions must be set"
SASL = "is required for the protocols SASL_PLAINTEXT and SASL_SSL, and only for them"
TLS = "caSecretName and certificateSecretName need the protocol SSL or SASL_SSL"
PLAIN = "a column name may contain only letters, digits and underscores, must not begin with a digit"
AT = "spec.ingestion.source.kafka"
EITHER = "format Protobuf needs either a registry or value.protobuf.descriptor"
UPSERT = "source.kafka.value.envelope Debezium needs operation Upsert"

REFUSED: dict[str, tuple[Document, str]] = {
    "a source of no kind": ({"spec.ingestion": {"source": {}}}, ONE_KIND),
    "a source of two kinds": (
        {"spec.ingestion": {"source": {"kafka": KAFKA, "files": {"path": "s3a://landing/a", "format": "csv"}}}},
        ONE_KIND,
    ),
    "no broker": (source(bootstrapServers=[]), "should have at least 1 items"),
    "a broker twice": (source(bootstrapServers=["a:1", "a:1"]), "Duplicate value"),
    **{
        f"a broker {what}": (source(bootstrapServers=[broker]), f"{AT}.bootstrapServers[0]: Invalid value")
        for what, broker in {
            "without a port": "kafka",
            "with a port of zero": "kafka:0",
            "with a port beyond the last": "kafka:65536",
            "with a protocol": "SASL_SSL://kafka:9092",
            "with a user": "user@kafka:9092",
            "that is two": "kafka:9092,other:9092",
            "with a wildcard": "*.example.com:9092",
            "with a variable": "${env:HOST}:9092",
            "with a line break": "kafka:9092\n",
            "with a dot at its end": "kafka.example.com.:9092",
        }.items()
    },
    "neither topics nor a pattern": (source(topics=None), TOPICS),
    "an empty list of topics": (source(topics=[]), TOPICS),
    "topics and a pattern": (source(topicPattern="orders.*"), TOPICS),
    "a topic twice": (source(topics=["a", "a"]), "Duplicate value"),
    **{
        f"a topic named {topic}": (
            source(topics=[topic]),
            "a topic must not be named . or .., or begin with __ like Kafka's own",
        )
        for topic in (".", "..", "__consumer_offsets")
    },
    "the end, of JSON without columns": (
        source(startingOffsets={"at": "Latest"}),
        "startingOffsets.at Latest needs value.columns for format Json",
    ),
    "tombstones that delete by columns that nobody declared": (
        source(tombstones="Delete", value={"format": "Json"}),
        "tombstones Delete needs value.columns for format Json",
    ),
    "tombstones that delete beside change events": (
        {**upsert_of_changes(tombstones="Delete"), "spec.ingestion.operation": "Upsert"},
        "tombstones Delete is not for envelope Debezium",
    ),
    "tombstones that delete without the order of the table": (
        {
            **source(tombstones="Delete", value={"columns": "id BIGINT"}, columns={"offset": "o"}),
            "spec.orderingFields": ["o", "version"],
        },
        "tombstones Delete needs a table without orderingFields, where the later message wins, or with those of",
    ),
    **{
        f"an order of the offsets of {what}": (
            {
                **source(columns={"offset": "o", "topic": "t"}, topics=topics, topicPattern=pattern),
                "spec.orderingFields": ["at", "o"],
            },
            "orderingFields with columns.offset need one topic",
        )
        for what, topics, pattern in (("two topics", ["a", "b"], None), ("a pattern", None, "orders"))
    },
    "partitions that are overwritten": (
        {**source(), "spec.ingestion.operation": "InsertOverwrite"},
        "operation InsertOverwrite is only for source.files",
    ),
    "a topic of 250 characters": (source(topics=["t" * 250]), "may not be more than 249"),
    **{
        f"a topic {what}": (source(topics=[topic]), f"{AT}.topics[0]: Invalid value")
        for what, topic in {
            "with a comma": "a,b",
            "with a wildcard": "a*",
            "without a name": "",
            "with $": "$a",
        }.items()
    },
    **{
        f"a pattern {what}": (source(topics=None, topicPattern=pattern), f"{AT}.topicPattern: Invalid value")
        for what, pattern in {
            "of nothing": "",
            "with flags": "(?i)orders",
            "that looks around": "(?!orders).*",
            "that repeats a choice": "(a|b)*",
            "that repeats a letter": "a+",
            "with an open class": "[a-z",
            "with a negated class": "[^a]+",
            "with anchors": "^orders$",
            "with a count": "[0-9]{4}",
            "that is a choice by itself": "orders|.*",
            "that goes on being lazy": "orders.*?",
            "with another escape": r"\d+",
        }.items()
    },
    "a pattern that repeats four times": (
        source(topics=None, topicPattern=".*a.*b.*c.+"),
        "topicPattern must repeat at most 3 times, by * and +",
    ),
    "no start": (source(startingOffsets={}), STARTS),
    "two starts": (source(startingOffsets={"at": "Latest", "timestamp": "2026-11-01T00:00:00Z"}), STARTS),
    "a start of no partition": (source(startingOffsets={"partitions": []}), STARTS),
    "a start in other words": (source(startingOffsets={"at": "latest"}), 'supported values: "Earliest", "Latest"'),
    "a time without a zone": (
        source(startingOffsets={"timestamp": "2026-11-01T00:00:00"}),
        "must be a time with a zone, such as 2026-11-01T00:00:00Z",
    ),
    "a time in small letters": (
        source(startingOffsets={"timestamp": "2026-11-01t00:00:00z"}),
        f"{AT}.startingOffsets.timestamp: Invalid value",
    ),
    "a time that is none": (
        source(startingOffsets={"timestamp": "2026-13-01T00:00:00Z"}),
        "must be a time with a zone, such as 2026-11-01T00:00:00Z",
    ),
    "a day that its month does not have": (
        source(startingOffsets={"timestamp": "2026-02-30T00:00:00Z"}),
        "must be a time with a zone, such as 2026-11-01T00:00:00Z",
    ),
    "a partition twice": (
        source(startingOffsets={"partitions": [{"topic": "orders", "partition": 1, "offset": 7}] * 2}),
        "Duplicate value",
    ),
    "a partition of another topic": (
        source(startingOffsets={"partitions": [{"topic": "other", "partition": 1, "offset": 7}]}),
        "startingOffsets.partitions must be of topics that are named in topics",
    ),
    "a partition of a topic that is none": (
        source(startingOffsets={"partitions": [{"topic": "a b", "partition": 1, "offset": 7}]}),
        f"{AT}.startingOffsets.partitions[0].topic: Invalid value",
    ),
    "an offset below zero": (
        source(startingOffsets={"partitions": [{"topic": "orders", "partition": 1, "offset": -1}]}),
        "should be greater than or equal to 0",
    ),
    "columns of Avro": (
        source(value={"format": "Avro", "columns": "id BIGINT"}, registry=REGISTRY),
        "value.columns is only for format Json and envelope Debezium",
    ),
    "change events in another order": (
        {**upsert_of_changes(), "spec.orderingFields": ["_event_pos", "_event_bin_file"]},
        "envelope Debezium needs the orderingFields [_event_lsn] for PostgreSQL or [_event_bin_file, _event_pos]",
    ),
    "change events of partitions that an index does not look into": (
        {**upsert_of_changes(), "spec.partitionBy": ["carrier", "day"]},
        "envelope Debezium needs a global index if a column of partitionBy is not in recordKey",
    ),
    "Avro without a registry": (source(value={"format": "Avro"}), "format Avro needs a registry"),
    "Protobuf for executors": (
        {**source(value={"format": "Protobuf", "protobuf": PROTOBUF}), "spec.execution": {"mode": "Cluster"}},
        "format Protobuf is not for execution.mode Cluster",
    ),
    "Protobuf without anything": (source(value={"format": "Protobuf"}), EITHER),
    "Protobuf with neither a registry nor a descriptor": (
        source(value={"format": "Protobuf", "protobuf": {"messageType": "shop.v1.Order"}}),
        EITHER,
    ),
    "Protobuf with both a registry and a descriptor": (
        source(value={"format": "Protobuf", "protobuf": PROTOBUF}, registry=REGISTRY),
        EITHER,
    ),
    "a descriptor for JSON": (source(value={"protobuf": PROTOBUF}), "value.protobuf is only for format Protobuf"),
    "a descriptor without the name of its message": (
        source(value={"format": "Protobuf", "protobuf": {"descriptor": "CgA="}}),
        f"{AT}.value.protobuf.messageType: Required value",
    ),
    "a descriptor that is no base64": (
        source(value={"format": "Protobuf", "protobuf": {**PROTOBUF, "descriptor": "a$"}}),
        f"{AT}.value.protobuf.descriptor: Invalid value",
    ),
    "a descriptor that is too long": (
        source(value={"format": "Protobuf", "protobuf": {**PROTOBUF, "descriptor": "a" * 65537}}),
        "may not be more than 65536",
    ),
    "a message type with a dash": (
        source(value={"format": "Protobuf", "protobuf": {**PROTOBUF, "messageType": "shop-v1"}}),
        f"{AT}.value.protobuf.messageType: Invalid value",
    ),
    "a registry for JSON": (source(registry=REGISTRY), "registry is only for formats Avro and Protobuf"),
    **{
        f"a registry {what}": (
            source(value={"format": "Avro"}, registry={"url": url}),
            f"{AT}.registry.url: Invalid value",
        )
        for what, url in {
            "of another protocol": "file:///etc/passwd",
            "with a user": "https://user:secret@registry",
            "with a query": "https://registry/?a=b",
            "with an escape": "https://registry/%2e%2e/admin",
            "with a wildcard": "https://*.example.com",
            "with a variable": "https://${env:HOST}",
        }.items()
    },
    "a registry whose path climbs": (
        source(value={"format": "Avro"}, registry={"url": "https://registry/a/../admin"}),
        "url must have no '.' or '..' segments",
    ),
    "a subject with a slash": (
        source(value={"format": "Avro"}, registry={**REGISTRY, "subject": "a/../b"}),
        f"{AT}.registry.subject: Invalid value",
    ),
    "a Secret of the registry's user with capitals": (
        source(value={"format": "Avro"}, registry={**REGISTRY, "credentialsSecretName": "A"}),
        f"{AT}.registry.credentialsSecretName: Invalid value",
    ),
    "a Secret of the registry's authorities with capitals": (
        source(value={"format": "Avro"}, registry={**REGISTRY, "caSecretName": "A"}),
        f"{AT}.registry.caSecretName: Invalid value",
    ),
    "authorities of a registry by HTTP": (
        source(value={"format": "Avro"}, registry={"url": "http://registry", "caSecretName": "registry-ca"}),
        "registry.caSecretName needs a url that begins with https://",
    ),
    "a column of Hudi": (source(columns={"key": "_hoodie_record_key"}), PLAIN),
    "a column with a dash": (source(columns={"offset": "the-offset"}), PLAIN),
    "two columns of one name": (
        source(columns={"offset": "at", "timestamp": "AT"}),
        "columns must have different names",
    ),
    "tombstones that delete, of an insert": (
        {**source(tombstones="Delete"), "spec.ingestion.operation": "Insert"},
        "source.kafka.tombstones Delete needs operation Upsert",
    ),
    "change events of raw values": (
        source(value={"format": "Raw", "envelope": "Debezium"}),
        "envelope Debezium is only for formats Json and Avro",
    ),
    "change events of Protobuf": (
        source(value={"format": "Protobuf", "protobuf": PROTOBUF, "envelope": "Debezium"}),
        "envelope Debezium is only for formats Json and Avro",
    ),
    "several tables of the database without change events": (
        source(value={"sourceTables": "Several"}),
        "sourceTables Several is only for envelope Debezium",
    ),
    "change events without an order": (
        source(value={"envelope": "Debezium"}),
        "envelope Debezium needs the orderingFields",
    ),
    "change events with an empty order": (
        {**upsert_of_changes(), "spec.orderingFields": []},
        "envelope Debezium needs the orderingFields",
    ),
    "change events that are inserted": ({**upsert_of_changes(), "spec.ingestion.operation": "Insert"}, UPSERT),
    "a password without a mechanism": (
        secured(protocol="SASL_SSL", credentialsSecretName="kafka-user"),
        f"mechanism {SASL}",
    ),
    "a mechanism without a password": (
        secured(protocol="SASL_SSL", mechanism="PLAIN"),
        f"credentialsSecretName {SASL}",
    ),
    "a mechanism without a protocol": (secured(mechanism="PLAIN"), f"mechanism {SASL}"),
    "a password over TLS alone": (
        secured(protocol="SSL", credentialsSecretName="kafka-user"),
        f"credentialsSecretName {SASL}",
    ),
    "authorities without TLS": (secured(protocol="PLAINTEXT", caSecretName="kafka-ca"), TLS),
    "a certificate without TLS": (secured(certificateSecretName="kafka-client"), TLS),
    "a certificate with a password and no TLS": (
        secured(
            protocol="SASL_PLAINTEXT",
            mechanism="PLAIN",
            credentialsSecretName="kafka-user",
            certificateSecretName="kafka-client",
        ),
        TLS,
    ),
    "a mechanism that runs code": (secured(**{**SCRAM, "mechanism": "OAUTHBEARER"}), "Unsupported value"),
    **{
        f"{field} with capitals": (secured(**{field: "A"}), f"{AT}.security.{field}: Invalid value")
        for field in ("credentialsSecretName", "caSecretName", "certificateSecretName")
    },
    "a limit of files": (source(maxFilesPerRun=1), f'unknown field "{AT}.maxFilesPerRun"'),
    "a limit of no messages": (
        source(maxRecordsPerRun=0),
        f"{AT}.maxRecordsPerRun in body should be greater than or equal to 1",
    ),
    "a limit of no bytes": (source(maxBytesPerRun=0), "maxBytesPerRun must be at least 1"),
    "a limit in a unit that quantities do not have": (
        source(maxBytesPerRun="1GB"),
        f"{AT}.maxBytesPerRun: Invalid value",
    ),
    "a limit beside the source": (
        {**source(), "spec.ingestion.maxRecordsPerRun": 1},
        'unknown field "spec.ingestion.maxRecordsPerRun"',
    ),
    "an option of the client": (
        source(options={"group.id": "a"}),
        'unknown field "spec.ingestion.source.kafka.options"',
    ),
}

FILES = {"path": "s3a://landing/a", "format": "csv"}

CHANGES_ACCEPTED: dict[str, tuple[Document, Document]] = {
    "files that become messages": (
        {"spec.ingestion": {"source": {"files": FILES}}},
        {"spec.ingestion": {"source": {"files": None, "kafka": KAFKA}}},
    ),
    "messages that become files": (source(), {"spec.ingestion": {"source": {"kafka": None, "files": FILES}}}),
}
