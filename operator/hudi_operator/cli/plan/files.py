"""Reads the resources of the operator's group from YAML files and folders."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hudi_operator.api.values.base import GROUP
from hudi_operator.cli.plan.documents import load_documents

STANDARD_INPUT = "-"

_NOT_PLANNED = ("HudiSavepoint", "HudiOperation")
_LARGEST_FILE = 8 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A document of a file."""

    file: str
    document: dict[str, Any]

    @property
    def kind(self) -> str:
        """The kind of the document."""
        return str(self.document.get("kind", ""))

    @property
    def name(self) -> str:
        """The name in the metadata."""
        metadata = self.document.get("metadata")
        return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


class Unreadable(ValueError):
    """A file is no YAML; the message names it."""


def read_resources(paths: Iterable[str]) -> list[Resource]:
    """Return the tables and classes of files, folders and the standard input; raises `Unreadable`."""
    return [one for path in paths for name, text in _texts(path) for one in _resources(name, text)]


def _texts(path: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file."""
    if path == STANDARD_INPUT:
        yield "standard input", _decoded("standard input", sys.stdin.buffer.read(_LARGEST_FILE + 1))
        return
    for file in _files(Path(path)):
        try:
            with file.open("rb") as opened:
                content = opened.read(_LARGEST_FILE + 1)
        except OSError as error:
            raise Unreadable(f"{file} cannot be read: {error.strerror}.") from error
        yield str(file), _decoded(str(file), content)


def _decoded(name: str, content: bytes) -> str:
    if len(content) > _LARGEST_FILE:
        raise Unreadable(f"{name} has more than {_LARGEST_FILE} bytes.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{name} is no YAML in UTF-8: {error}") from error


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(one for one in path.rglob("*") if one.suffix in {".yaml", ".yml"} and one.is_file())
    else:
        yield path


def _resources(file: str, text: str) -> Iterator[Resource]:
    try:
        documents = load_documents(text)
    except ValueError as error:
        raise Unreadable(f"{file} is no YAML: {error}") from error
    for one in documents:
        listed = one.get("items") if isinstance(one, dict) and one.get("kind") == "List" else [one]
        items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        yield from (Resource(file=file, document=item) for item in items if _is_ours(item))


def _is_ours(document: dict[str, Any]) -> bool:
    """Tell whether a document is of the group; a kind that does not exist is a mistake to be shown."""
    return str(document.get("apiVersion", "")).partition("/")[0] == GROUP and document.get("kind") not in _NOT_PLANNED
