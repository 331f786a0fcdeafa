"""A registry for one push, so that buildah skips every layer that it has pushed here before.

Only with a registry does buildah remember its layers; into a plain directory it compresses and writes every layer each
time. The server speaks the part of the OCI distribution protocol that a push needs.
"""

import contextlib
import hashlib
import json
import re
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from localcluster.settings import CACHE, DevError

# buildah remembers layers per host and port, so the port must stay the same.
HOST, PORT = "127.0.0.1", 27503
DIRECTORY = CACHE / "blobs"
MANIFEST_PATH = re.compile(r"/v2/(?P<repository>.+)/manifests/(?P<reference>[^/]+)")
BLOB_PATH = re.compile(r"/v2/.+/blobs/sha256:(?P<digest>[0-9a-f]{64})")
CHUNK = 1 << 20


class PushHandler(BaseHTTPRequestHandler):
    """Answers the requests of one push."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200 if self.path == "/v2/" else 404)

    def do_HEAD(self) -> None:
        found = BLOB_PATH.fullmatch(self.path)
        path = DIRECTORY / found["digest"] if found else None
        if path and path.exists():
            self.answer(200, **{"Content-Length": str(path.stat().st_size)})
        else:
            self.answer(404)

    def do_POST(self) -> None:
        self.drop_body()
        self.answer(202, Location=f"{urlsplit(self.path).path.rstrip('/')}/{uuid.uuid4().hex}")

    def do_PATCH(self) -> None:
        size = self.receive(self.upload_path())
        self.answer(202, Location=self.path, Range=f"0-{max(size - 1, 0)}")

    def do_PUT(self) -> None:
        upload = self.upload_path()
        self.receive(upload)
        if manifest := MANIFEST_PATH.fullmatch(self.path):
            digest = digest_of(upload)
            upload.rename(manifest_path(manifest["repository"], manifest["reference"]))
            self.answer(201, **{"Docker-Content-Digest": f"sha256:{digest}"})
            return
        wanted = parse_qs(urlsplit(self.path).query)["digest"][0].removeprefix("sha256:")
        if digest_of(upload) != wanted:
            upload.unlink()
            self.answer(400)
            return
        upload.rename(DIRECTORY / wanted)
        self.answer(201, **{"Docker-Content-Digest": f"sha256:{wanted}"})

    def upload_path(self) -> Path:
        """Return the file that collects the bytes of the current upload."""
        name = hashlib.sha256(urlsplit(self.path).path.encode()).hexdigest()
        return DIRECTORY / f"upload-{name}"

    def receive(self, target: Path) -> int:
        """Append the body to a file and return the file's size."""
        with target.open("ab") as output:
            for piece in self.body():
                output.write(piece)
            return output.tell()

    def drop_body(self) -> None:
        """Read and discard the body, so that the connection can be reused."""
        for _ in self.body():
            pass

    def body(self) -> Iterator[bytes]:
        """Yield the body in pieces, with a known length or in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                yield from self.pieces(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            yield from self.pieces(int(self.headers.get("Content-Length", "0")))

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield `length` bytes of the connection."""
        while size > 0:
            piece = self.rfile.read(min(size, CHUNK))
            if not piece:
                raise ConnectionError("the connection ended in the middle of a body")
            size -= len(piece)
            yield piece

    def answer(self, status: int, **headers: str) -> None:
        """Send a status and headers without a body."""
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the base class's
        """Print nothing; buildah reports its progress."""


def manifest_path(repository: str, reference: str) -> Path:
    """Return the path of a name's manifest."""
    return DIRECTORY / f"name-{hashlib.sha256(f'{repository}:{reference}'.encode()).hexdigest()}"


def drop_unused_blobs() -> None:
    """Delete the blobs without a manifest."""
    manifests = [json.loads(path.read_text()) for path in DIRECTORY.glob("name-*")]
    named = {blob["digest"] for manifest in manifests for blob in (manifest["config"], *manifest["layers"])}
    for path in DIRECTORY.iterdir():
        if not path.name.startswith(("name-", "upload-")) and f"sha256:{path.name}" not in named:
            path.unlink()


def digest_of(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Accept pushes during the context, and yield the host and port to push to."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for unfinished in DIRECTORY.glob("upload-*"):
        unfinished.unlink()
    try:
        server = ThreadingHTTPServer((HOST, PORT), PushHandler)
    except OSError as error:
        raise DevError(f"The port {PORT} on {HOST} is taken, and images are handed over through it: {error}") from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{HOST}:{PORT}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
