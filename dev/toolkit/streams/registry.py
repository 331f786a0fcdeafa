"""A real schema registry."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from toolkit.control_plane import free_ports
from toolkit.streams.downloads import unpacked
from toolkit.streams.server import LOOPBACK, SMALL_JAVA, Server

Answer = Any
"""A parsed JSON document."""

_DOCUMENT = "application/vnd.schemaregistry.v1+json"


class Refused(Exception):
    """The registry answered with an error, for example for an incompatible schema."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class SchemaRegistry(Server):
    """Apicurio with Confluent's API; schemas are stored in a file, so that ids survive a kill.

    `host` is the address to listen at: loopback, or one that pods reach.
    """

    name = "registry"

    def __init__(self, folder: Path | None = None, *, host: str = LOOPBACK) -> None:
        super().__init__(folder)
        self._host = host
        (self._port,) = free_ports(1)

    @property
    def url(self) -> str:
        """The URL of Confluent's API."""
        return f"{self.address}/apis/ccompat/v7"

    @property
    def address(self) -> str:
        """The server's URL without a path."""
        return f"http://{self._host}:{self._port}"

    def register(
        self,
        subject: str,
        schema: str | Mapping[str, Any],
        type: str = "AVRO",  # noqa: A002 - as the document has it
        references: Sequence[Mapping[str, Any]] = (),
    ) -> int:
        """Register a schema of type AVRO, PROTOBUF or JSON, and return its id.

        A reference to an imported schema has `name`, `subject` and `version`.
        """
        text = schema if isinstance(schema, str) else json.dumps(schema)
        document = {"schema": text, "schemaType": type, "references": list(references)}
        return int(self.call("POST", f"/subjects/{quote(subject, safe='')}/versions", **document)["id"])

    def schema(self, identifier: int) -> str:
        """Return the text of a schema."""
        return str(self.call("GET", f"/schemas/ids/{identifier}")["schema"])

    def set_compatibility(self, subject: str, level: str) -> None:
        """Set the compatibility level: BACKWARD, FORWARD, FULL, NONE and so on."""
        self.call("PUT", f"/config/{quote(subject, safe='')}", compatibility=level)

    def call(self, method: str, path: str, **document: object) -> Answer:
        """Call Confluent's API and return the answer; raises Refused for an error."""
        body = json.dumps(document).encode() if document else None
        request = urllib.request.Request(
            self.url + path, data=body, method=method, headers={"Content-Type": _DOCUMENT, "Accept": _DOCUMENT}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace")) from error

    def command(self) -> Sequence[str]:
        """Return the server's command."""
        (home,) = unpacked("registry")
        # The registry commits to its file before it answers.
        database = f"jdbc:h2:file:{self.folder}/registry;WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE"
        settings = {
            "quarkus.http.host": self._host,
            "quarkus.http.port": str(self._port),
            "quarkus.datasource.jdbc.url": database,
            "quarkus.log.level": "WARN",
            "quarkus.log.file.enable": "false",
            "registry.download.href.ttl": "30",
        }
        properties = (f"-D{key}={value}" for key, value in settings.items())
        return (*SMALL_JAVA, "-Xmx256m", *properties, "-jar", str(next(home.glob("*-runner.jar"))))

    def answers(self) -> bool:
        """Tell whether the registry answers."""
        return isinstance(self.call("GET", "/subjects"), list)
