"""Reads the resources of the operator's group from YAML files and folders."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hudi_operator.api.values.base import GROUP

KINDS = ("HudiTable", "HudiTableClass")
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
    """Return the tables and classes of files and folders; raises `Unreadable`."""
    return [one for path in paths for file in _files(Path(path)) for one in _resources(file)]


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(one for one in path.rglob("*") if one.suffix in {".yaml", ".yml"} and one.is_file())
    else:
        yield path


def _resources(file: Path) -> Iterator[Resource]:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise Unreadable(f"{file} has more than {_LARGEST_FILE} bytes.")
        documents = list(yaml.safe_load_all(file.read_text()))
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file} is no YAML: {' '.join(str(error).split())}") from error
    for one in documents:
        listed = one.get("items") if isinstance(one, dict) and one.get("kind") == "List" else [one]
        items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        yield from (Resource(file=str(file), document=item) for item in items if _is_ours(item))


def _is_ours(document: dict[str, Any]) -> bool:
    return str(document.get("apiVersion", "")).partition("/")[0] == GROUP and document.get("kind") in KINDS
