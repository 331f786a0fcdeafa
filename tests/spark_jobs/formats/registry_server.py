"""A schema registry of a test: answers as told, from this process."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One answer; `drip` are seconds between its bytes."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    drip: float = 0


@dataclass
class FakeRegistry:
    """What is answered by path, and what was asked."""

    url: str = ""
    replies: dict[str, Reply | list[Reply]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)

    def put(self, path: str, body: Any, status: int = 200) -> None:
        """Answer with JSON."""
        self.replies[path] = Reply(status, json.dumps(body).encode())

    def schema(self, number: int, schema: Any, subject: str = "events-value", **more: Any) -> None:
        """Answer with a schema, which is also the newest one of the subject."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        self.put(f"/schemas/ids/{number}", {"schema": text, **more})
        self.put(f"/subjects/{subject}/versions/latest", {"schema": text, "id": number, **more})

    def reply(self, path: str) -> Reply:
        found = self.replies.get(path)
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found or Reply(404, b'{"error_code": 40403, "message": "Schema not found"}')


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    """Run a registry on a free port."""
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append(self.path)
            registry.authorizations.append(self.headers.get("Authorization"))
            reply = registry.reply(self.path)
            self.send_response(reply.status)
            for name, value in ({"Content-Length": str(len(reply.body))} | reply.headers).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for start in range(0, len(reply.body), 1 if reply.drip else 65_536):
                    self.wfile.write(reply.body[start : start + (1 if reply.drip else 65_536)])
                    self.wfile.flush()
                    time.sleep(reply.drip)
            except OSError:
                pass

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
