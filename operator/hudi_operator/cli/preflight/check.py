"""A check of the preflight: a function from the observed cluster to lines, each with a verdict and one remedy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from hudi_operator.cli.render.view import TableView

Document: TypeAlias = Mapping[str, Any]


class Verdict(StrEnum):
    """What a line means for the upgrade."""

    OK = "OK"
    WARNING = "Warning"
    BLOCKED = "Blocked"


@dataclass(frozen=True, kw_only=True)
class Line:
    """An answer of a check, and what to do."""

    verdict: Verdict
    message: str
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class ClusterState:
    """What the checks look at; a part that this person may not read is None."""

    now: datetime
    tables: Sequence[TableView]
    others: Sequence[Document] = ()
    """HudiSavepoints and HudiOperations."""

    definitions: Sequence[Document] | None = None
    classes: Sequence[Document] | None = None
    deployments: Sequence[Document] | None = None
    server_version: str = ""
    missing_rights: Sequence[str] = ()
    refused: Mapping[str, str] | None = None
    """What the API server says against objects by their names; None where it was not asked."""

    unasked: int = 0
    """Objects about which the API server was not asked, because they are too many."""

    @property
    def documents(self) -> list[Document]:
        """All objects of the operator's kinds."""
        return [*(self.classes or ()), *(one.document for one in self.tables), *self.others]


Check: TypeAlias = Callable[[ClusterState], Iterator[Line]]


def fine(message: str) -> Line:
    """Return a line about something that is in order."""
    return Line(verdict=Verdict.OK, message=message)


def warning(message: str, remedy: str) -> Line:
    """Return a line about something to know or do."""
    return Line(verdict=Verdict.WARNING, message=message, remedy=remedy)


def blocked(message: str, remedy: str) -> Line:
    """Return a line about something that must be done before the upgrade."""
    return Line(verdict=Verdict.BLOCKED, message=message, remedy=remedy)


def unread(what: str) -> Line:
    """Return a line about something that this person may not read."""
    return warning(f"You may not read {what}, so this was not checked.", "Run the command as a cluster administrator.")


def name_of(document: Document) -> str:
    """Return kind, namespace and name of an object."""
    metadata = document.get("metadata") or {}
    place = f"{metadata.get('namespace')}/" if metadata.get("namespace") else ""
    return f"{document.get('kind')} {place}{metadata.get('name')}"
