"""What the operator asks a source, whatever its kind. Every answer is required, so that mypy finds gaps.

Each Secret is a read-only volume of its own, below a folder next to the request's, with only the needed keys. A missing
Secret would keep its pod from starting without a message in the pod's status. So the volumes are optional, and a
container variable refers to a non-secret key of the Secret: then the kubelet reports the missing Secret or key in the
pod's status.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypedDict, TypeVar

from hudi_jobs.contract import AnySource
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.spec.source_kind import SourceKind
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.values.base import quantity_bytes
from hudi_operator.sources.look import InputDigest, InputReader

SECRETS_FOLDER = "/etc/hudi-secrets"

CREDENTIALS = ("username", "password")
AUTHORITY = ("ca.crt",)
CERTIFICATE = ("tls.crt", "tls.key")

_READABLE_BY_THE_GROUP = 0o440


@dataclass(frozen=True, kw_only=True)
class SourceSecret:
    """A Secret in the table's namespace, and its keys for the source; the first key is not secret."""

    field: str
    """The field of the spec with the Secret's name."""

    name: str
    folder: str
    keys: tuple[str, ...]

    @property
    def volume(self) -> dict[str, Any]:
        """The pod's volume."""
        return {
            "name": self._volume_name,
            "secret": {
                "secretName": self.name,
                "defaultMode": _READABLE_BY_THE_GROUP,
                "optional": True,
                "items": [{"key": key, "path": key} for key in self.keys],
            },
        }

    @property
    def mount(self) -> dict[str, Any]:
        """The container's mount."""
        return {"name": self._volume_name, "mountPath": self.folder, "readOnly": True}

    @property
    def presence(self) -> dict[str, Any]:
        """The variable that blocks a container's start while the Secret or its first key is missing."""
        return {
            "name": f"HUDI_SECRET_{self._volume_name.replace('-', '_').upper()}",
            "valueFrom": {"secretKeyRef": {"name": self.name, "key": self.keys[0]}},
        }

    @property
    def _volume_name(self) -> str:
        return self.folder.rpartition("/")[2]


SpecT = TypeVar("SpecT", bound=SourceKind)


class RunLimits(TypedDict, total=False):
    """The most input that a run reads, as an IngestionTask takes it; an absent field means no limit."""

    max_bytes: int | None
    max_files: int | None
    max_records: int | None
    max_commits: int | None


class RefusalReason(StrEnum):
    """Why a source is refused; the value is the reason of the table's conditions."""

    SOURCE_NOT_ALLOWED = "SourceNotAllowed"
    SETTING_NOT_ALLOWED = "SettingNotAllowed"
    INVALID_PATTERN = "InvalidPattern"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Something of a source that its class does not allow, with a sentence that says what to do."""

    reason: RefusalReason
    message: str


@dataclass(frozen=True, kw_only=True)
class SkippedInput:
    """The finding for input that runs of a source skip.

    `message` makes its sentence from how much was skipped and from names or places of some. Of FilesSkipped the last
    run's number counts, of RecordsSkipped the sum of all runs.
    """

    code: FindingCode
    message: Callable[[int, Iterable[str]], str]


@dataclass(frozen=True)
class DeclaredSource(ABC, Generic[SpecT]):
    """A source as a table declares it."""

    spec: SpecT

    name: ClassVar[str]
    """The field of `spec.ingestion.source`, and the `kind` of the request and of checkpoints."""

    limit_fields: ClassVar[tuple[str, ...]]
    """The fields that limit a run, as the resource has them."""

    upstream_field: ClassVar[str | None]
    """The field with the base path of a Hudi table that the source reads; None for a kind that reads no table."""

    rescan_refused: ClassVar[str | None]
    """Why no input is read once more by request, and what to do instead; None if it is."""

    can_be_looked_at: ClassVar[bool]
    """Whether the operator can tell by a look whether the source has new input."""

    pattern_refused: ClassVar[str | None]
    """Why a request must name all input, and not a part by a pattern; None if it may."""

    @property
    def field(self) -> str:
        """The place of the source in the table's spec, for messages."""
        return f"ingestion.source.{self.name}"

    @property
    @abstractmethod
    def document(self) -> AnySource:
        """The source as the driver receives it."""

    @property
    @abstractmethod
    def limits(self) -> RunLimits:
        """The most input that a run reads."""

    @property
    @abstractmethod
    def secrets(self) -> tuple[SourceSecret, ...]:
        """The Secrets that pods mount to read the source, in the order of the spec."""

    @property
    @abstractmethod
    def paths(self) -> Mapping[str, str]:
        """The paths that the class must allow, by their fields."""

    @abstractmethod
    def refusals(self, table_class: HudiTableClass, namespace: str) -> Iterator[Refusal]:
        """Yield what the class does not allow of the source, beside paths."""

    @abstractmethod
    def digest(self, reader: InputReader) -> InputDigest | None:
        """Read the store and return the digest of the input, or None for a kind whose input is in no store.

        The digest must change with every new input. A digest of more than the input costs a Job, and no input.
        """

    @property
    @abstractmethod
    def skipped(self) -> SkippedInput | None:
        """The finding for input that runs skip, or None if they skip none."""

    @property
    @abstractmethod
    def without_input(self) -> str | None:
        """The part of a sentence that says that the source is missing; None if a source without input may be read."""

    @property
    @abstractmethod
    def upstream(self) -> str | None:
        """The base path of the Hudi table that the source reads, or None."""


def bytes_of(quantity: str | None) -> int | None:
    """Return a limit in bytes, or None without one."""
    return quantity_bytes(quantity) if quantity else None


def losses(known: int, last: Iterable[str]) -> str:
    """Return which messages are gone, as part of a sentence; for some losses the number is unknown."""
    return f"{known:,} offsets that are known, the last ones {', '.join(last)}"
