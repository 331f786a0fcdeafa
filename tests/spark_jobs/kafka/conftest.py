"""One real broker for all tests of Kafka, and a table that is fed from a topic of its own in each."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from hudi_jobs.contract import TaskResult
from toolkit.streams import KafkaBroker, User

AWKWARD = User("o'neil; user", "a\"b\\c;d'e${dir:/etc:passwd}}f =,")
"""A user whose password means something to everything that it passes through."""

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that listens in plain text."""
    with KafkaBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@dataclass
class Stream:
    """A table that is fed from topics; `ingest` is one run of the driver in this process."""

    broker: KafkaBroker
    lake: Any
    topic: str
    source: dict[str, Any]

    def create(self, partitions: int = 1, **config: str) -> None:
        """Create the topic; underscores in names of settings are dots."""
        self.broker.create_topic(
            self.topic, partitions, {key.replace("_", "."): value for key, value in config.items()}
        )

    def send(self, rows: Iterable[Any], *, partition: int | None = None, key: str | None = None) -> None:
        """Send JSON objects; with the name of a column its value becomes the message's key."""
        self.broker.produce(
            self.topic,
            [(None if key is None else str(row[key]).encode(), encoded(row), (), None, partition) for row in rows],
        )

    def raw(self, messages: Iterable[Sequence[Any]]) -> None:
        """Send messages as they are."""
        self.broker.produce(self.topic, messages)

    def document(self, **changes: Any) -> dict[str, Any]:
        """The source of a request."""
        return {
            "kind": "kafka",
            "bootstrapServers": self.broker.bootstrap,
            "topics": [self.topic],
            **self.source,
            **changes,
        }

    def request(self, *, run: str | None = None, source: dict[str, Any] | None = None, **ingestion: Any) -> Any:
        """A request of the next run; the rest are fields of the ingestion."""
        return self.lake.request(run=run, source=self.document(**(source or {})), **ingestion)

    def ingest(self, *, source: dict[str, Any] | None = None, **ingestion: Any) -> TaskResult:
        """Ingest what is new and return the result."""
        result: TaskResult = self.lake.drive(self.request(source=source, **ingestion))
        return result

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """The table's rows in order."""
        found: list[tuple[Any, ...]] = self.lake.rows(*columns)
        return found


def encoded(row: Any) -> bytes | None:
    """A value as bytes: objects as JSON, and bytes and None as they are."""
    return row if row is None or isinstance(row, bytes) else json.dumps(row).encode()


@pytest.fixture
def stream(broker: KafkaBroker, lake: Any) -> Stream:
    """A topic that is not there yet, and no table."""
    return Stream(broker, lake, f"topic-{next(_NUMBERS)}", {"value": {"schemaDdl": "id BIGINT, v STRING"}})
