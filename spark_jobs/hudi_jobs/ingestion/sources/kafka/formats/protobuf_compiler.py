"""Compiles `.proto` texts to descriptors, with protoc in a separate process."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from hudi_jobs.ingestion.sources.kafka.formats.protobuf_descriptors import NoDescriptor

_PROCESS = Path(__file__).with_name("protoc.py")

MAIN = "schema.of.values.proto"
"""The file with the values' messages."""

_PART = r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,200}"
_NAME = re.compile(rf"{_PART}(?:/{_PART}){{0,20}}", re.ASCII)
_SECONDS = 30
_MOST_READ, _MOST_SAID = 20_000, 300
_LOGGED = re.compile(r"WARNING: |[A-Z]\d{4} ")
"""Prefixes of log lines that are no errors: protoc logs beside errors, for example that a text names no syntax."""

_KEPT = 128


def compiled(text: str, imports: Mapping[str, str]) -> bytes:
    """Return the descriptor set of a text and its imports, or raise `NoDescriptor` with protoc's message.

    `imports` maps import names to texts. Google's own files, `google/protobuf/*.proto`, are available without being
    named.
    """
    for name in imports:
        _require_name(name, imports)
    return _compiled(text, tuple(sorted(imports.items())))


def _require_name(name: str, imports: Mapping[str, str]) -> None:
    folders = {str(parent) for parent in PurePosixPath(name).parents}
    if not _NAME.fullmatch(name) or name == MAIN or not folders.isdisjoint({*imports, MAIN}):
        raise NoDescriptor(f"imports {name[:200]!a}, which is not the name of another file")


@lru_cache(maxsize=_KEPT)
def _compiled(text: str, imports: tuple[tuple[str, str], ...]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="protoc-") as outer:
        folder = Path(outer, "files")
        for name, content in ((MAIN, text), *imports):
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8", errors="replace")
        _run(folder)
        return folder.with_suffix(".desc").read_bytes()


def _run(folder: Path) -> None:
    said = folder.with_suffix(".log")
    command = [sys.executable, "-I", str(_PROCESS), str(folder), MAIN]
    try:
        with said.open("wb") as log:
            done = subprocess.run(  # noqa: S603 - nothing of the command comes from outside
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=_SECONDS, check=False, env={}
            )
    except subprocess.TimeoutExpired as error:
        raise NoDescriptor(f"cannot be compiled within {_SECONDS} seconds") from error
    if done.returncode < 0:
        raise NoDescriptor("cannot be compiled within the time, the memory and the output that protoc is given")
    if done.returncode != 0:
        raise NoDescriptor(f"cannot be compiled: {_errors(said, folder)!a}")


def _errors(said: Path, folder: Path) -> str:
    with said.open("rb") as log:
        text = log.read(_MOST_READ).decode(errors="replace").replace(f"{folder}/", "")
    lines = (line.strip() for line in text.splitlines() if not _LOGGED.match(line))
    return " ".join(lines)[:_MOST_SAID]
