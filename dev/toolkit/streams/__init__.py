"""Real servers for streams on this machine: Kafka and its companions."""

from toolkit.streams.connect import ConnectorFailed, DebeziumConnect, as_avro, as_json
from toolkit.streams.kafka import KafkaBroker
from toolkit.streams.listeners import MECHANISMS, Credentials, Listener
from toolkit.streams.postgres import Postgres
from toolkit.streams.registry import Refused, SchemaRegistry
from toolkit.streams.security import User
from toolkit.streams.server import ServerFailed
from toolkit.streams.topics import Received, Sent, Transaction

__all__ = [
    "MECHANISMS",
    "ConnectorFailed",
    "Credentials",
    "DebeziumConnect",
    "KafkaBroker",
    "Listener",
    "Postgres",
    "Received",
    "Refused",
    "SchemaRegistry",
    "Sent",
    "ServerFailed",
    "Transaction",
    "User",
    "as_avro",
    "as_json",
]
