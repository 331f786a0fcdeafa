"""Kafka Connect with Debezium, which writes the changes of a database into topics."""

import json
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from toolkit.control_plane import free_ports
from toolkit.streams.downloads import class_path, unpacked
from toolkit.streams.postgres import Postgres
from toolkit.streams.registry import SchemaRegistry
from toolkit.streams.server import LOGGING, LOOPBACK, SMALL_JAVA, Server

Settings = Mapping[str, str]

_NOTHING: Settings = MappingProxyType({})
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_AVRO = "io.apicurio.registry.utils.converter.AvroConverter"
_IDLE = {
    # The thread for requests inherits its class loader from its first user. Let that be the start, because after a
    # request it would find no converters, and answer nothing.
    "name": "idle",
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "file": "nothing",  # the worker waits for this entry
    "topic": "nothing",
}
_CONVERTERS = "apicurio-registry-utils-converter"
_QUIET = tuple(
    f"-Dorg.slf4j.simpleLogger.log.{name}=error"
    for name in ("io.debezium.connector.postgresql.TypeRegistry", "org.apache.kafka.connect.file")
)
_WAIT_SECONDS = 60.0


def as_json(*, schemas: bool) -> Settings:
    """Return the settings of a connector that writes JSON, with or without a schema in each message."""
    told = {"converter": _JSON, "converter.schemas.enable": str(schemas).lower()}
    return _for_both(told)


def as_avro(registry: SchemaRegistry) -> Settings:
    """Return the settings of a connector that writes Avro in Confluent's format: zero, the schema id, the body.

    Subjects are `TOPIC-key` and `TOPIC-value`.
    """
    told = {
        "converter": _AVRO,
        "converter.apicurio.registry.url": f"{registry.address}/apis/registry/v2",
        "converter.apicurio.registry.as-confluent": "true",
        "converter.apicurio.registry.use-id": "contentId",
        "converter.apicurio.registry.headers.enabled": "false",
        "converter.apicurio.registry.auto-register": "true",
        "converter.apicurio.registry.find-latest": "false",
        "converter.apicurio.registry.artifact-resolver-strategy": (
            "io.apicurio.registry.serde.strategy.TopicIdStrategy"
        ),
    }
    return {**_for_both(told), "schema.name.adjustment.mode": "avro", "field.name.adjustment.mode": "avro"}


class DebeziumConnect(Server):
    """A standalone worker with its offsets in a file, written each second; a restart continues from there."""

    name = "connect"

    def __init__(self, bootstrap: str, folder: Path | None = None, *, settings: Settings = _NOTHING) -> None:
        super().__init__(folder)
        self._bootstrap = bootstrap
        self._settings = settings
        (self._port,) = free_ports(1)

    def capture(
        self,
        name: str,
        database: Postgres,
        tables: Iterable[str],
        *,
        converters: Settings,
        options: Settings = _NOTHING,
    ) -> None:
        """Follow tables such as `public.orders` of a running database, and wait until the connector runs.

        The topics are `NAME.SCHEMA.TABLE`, and have to be there. `options` are any of Debezium's, such as
        `heartbeat.interval.ms` and `provide.transaction.metadata`.
        """
        slot = f"debezium_{name}".replace("-", "_").lower()
        settings = {
            "name": name,
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1",
            "plugin.name": "pgoutput",
            "database.hostname": database.host,
            "database.port": str(database.port),
            "database.user": database.account.name,
            "database.password": database.account.password,
            "database.dbname": database.database,
            "topic.prefix": name,
            "table.include.list": ",".join(tables),
            "slot.name": slot,
            "publication.name": slot,
            "publication.autocreate.mode": "filtered",
            **converters,
            **options,
        }
        self._file(name).write_text(json.dumps(settings))
        if self.running:
            self.call("PUT", f"/connectors/{name}/config", settings)
            self.wait_for(name)

    def remove(self, name: str) -> None:
        """Stop following; the database keeps the slot."""
        self._file(name).unlink()
        if self.running:
            self.call("DELETE", f"/connectors/{name}")

    def wait_for(self, name: str) -> None:
        """Wait until a connector runs; raises with its trace when it fails."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            tasks = self.tasks(name)
            if failed := [task["trace"] for task in tasks if task["state"] == "FAILED"]:
                raise ConnectorFailed(failed[0])
            if tasks and all(task["state"] == "RUNNING" for task in tasks):
                return
            if time.monotonic() > deadline:
                raise ConnectorFailed(f"{name} does not run: {tasks}")
            time.sleep(0.1)

    def tasks(self, name: str) -> list[dict[str, Any]]:
        """Return the states of a connector's tasks; empty before it exists."""
        try:
            return list(self.call("GET", f"/connectors/{name}/status")["tasks"])
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return []
            raise

    def call(self, method: str, path: str, document: object = None) -> Any:  # noqa: ANN401 - a JSON document
        """Call the worker's API."""
        body = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(
            f"http://{LOOPBACK}:{self._port}{path}",
            data=body,
            method=method,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def start(self) -> None:
        """Start the worker with its connectors, and wait until they run."""
        super().start()
        for file in self._files():
            self.wait_for(file.stem)

    def prepare(self) -> None:
        """Write the worker's settings."""
        plugins = self.folder / "plugins"
        for home in unpacked("debezium"):
            (plugins / home.name).mkdir(parents=True, exist_ok=True)
            for jar in home.rglob("*.jar"):
                (plugins / home.name / jar.name).symlink_to(jar)
            if next(home.glob(f"{_CONVERTERS}*"), None):
                # Otherwise the worker scans every class for plugins, which takes seconds.
                with zipfile.ZipFile(plugins / home.name / "services.jar", "w") as services:
                    services.writestr("META-INF/services/org.apache.kafka.connect.storage.Converter", _AVRO)
        settings = {
            "bootstrap.servers": self._bootstrap,
            "listeners": f"http://{LOOPBACK}:{self._port}",
            "plugin.path": str(plugins),
            "plugin.discovery": "service_load",
            "key.converter": _JSON,
            "value.converter": _JSON,
            "offset.storage.file.filename": str(self.folder / "offsets"),
            "offset.flush.interval.ms": "1000",
            "task.shutdown.graceful.timeout.ms": "5000",
            **self._settings,
        }
        self._file("idle").write_text(json.dumps(_IDLE))
        self._worker.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def command(self) -> Sequence[str]:
        """Return the worker's command."""
        files = [str(file) for file in (self._worker, *self._files())]
        return (*SMALL_JAVA, "-Xmx256m", *LOGGING, *_QUIET, "org.apache.kafka.connect.cli.ConnectStandalone", *files)

    def environment(self) -> Mapping[str, str]:
        """Return the environment with the class path."""
        return {"CLASSPATH": class_path("connect")}

    def answers(self) -> bool:
        """Tell whether its API answers."""
        return isinstance(self.call("GET", "/connectors"), list)

    @property
    def _worker(self) -> Path:
        return self.folder / "worker.properties"

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _files(self) -> Sequence[Path]:
        return sorted(self.folder.glob("*.json"))


class ConnectorFailed(Exception):
    """A connector has failed; the message is its trace."""


def _for_both(settings: Settings) -> Settings:
    return {f"{part}.{key}": value for part in ("key", "value") for key, value in settings.items()}
