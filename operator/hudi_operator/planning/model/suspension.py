"""Why a table is suspended: by its spec, by its annotation, or by the annotation of its namespace."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_jobs.contract.wording import shortened
from hudi_operator.api.resources import SUSPEND_ANNOTATION, ObjectMetadata
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.table import SUSPENSION_LIMIT


@dataclass(frozen=True, kw_only=True)
class NamespaceObservation:
    """The part of a namespace that concerns its tables.

    `suspension` is the text of its suspend annotation, empty without a text; None if it suspends no table.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    suspension: str | None = None


@dataclass(frozen=True, kw_only=True)
class Suspension:
    """What suspends a table: `cause` is the subject of a sentence, `end` follows `until`."""

    cause: str
    end: str


def suspension_text(value: str | None) -> str | None:
    """Return the text of a suspend annotation for messages, empty without a text; None if it does not suspend.

    `false` in any case does not suspend; `true` in any case and an empty value suspend without a text.
    """
    if value is None or (text := value.strip()).lower() == "false":
        return None
    return "" if text.lower() == "true" else shortened(text.replace('"', "'"), SUSPENSION_LIMIT)


def suspension_of(
    metadata: ObjectMetadata, spec: HudiTableSpec | None, namespace_suspension: str | None
) -> Suspension | None:
    """Return what suspends a table, or None; the spec is None if this version cannot read it.

    The spec comes first, then the annotation of the table, then the annotation of its namespace.
    """
    if spec is not None and spec.suspend:
        return Suspension(cause="spec.suspend", end="spec.suspend is false")
    holders = (
        ("the table", suspension_text(metadata.annotations.get(SUSPEND_ANNOTATION))),
        (f"namespace {metadata.namespace}", namespace_suspension),
    )
    for holder, text in holders:
        if text is not None:
            cause = f"the annotation {SUSPEND_ANNOTATION} of {holder}" + (f' ("{text}")' if text else "")
            return Suspension(cause=cause, end=f"{cause} is removed")
    return None
