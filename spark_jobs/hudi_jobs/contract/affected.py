"""What a run did to instants that it did not begin: part of its outcome, read as carefully as any text from outside."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant

MOST_AFFECTED = 10
"""As many instants as an outcome names; the log of the driver names them all."""


_NAME = re.compile(r"[A-Za-z0-9.-]{1,63}")
"""What the name of a run is made of: plans come from outside."""


class Effect(StrEnum):
    """What became of an instant that was pending when a run began, and that the run did not begin itself."""

    FINISHED = "Finished"
    """The run completed it."""

    ROLLED_BACK = "RolledBack"
    """The run removed it, with what it had written."""

    REPLANNED = "Replanned"
    """The run removed it, and planned another of the same kind."""


def _name(given: object) -> str | None:
    return given if isinstance(given, str) and _NAME.fullmatch(given) else None


class AffectedInstant(Document):
    """One instant that a run did not begin; `run` is the run of this table that its plan names, if any."""

    instant: Instant
    action: Annotated[str, Field(pattern=r"^[a-z]{1,32}$")]
    effect: Effect
    run: Annotated[str | None, BeforeValidator(_name)] = None


def _readable(given: Any) -> list[AffectedInstant]:  # noqa: ANN401 - whatever a termination message holds
    """Return what can be read of a list: a line that cannot is left out, and makes nothing else unreadable."""
    found: list[AffectedInstant] = []
    for one in list(given)[:MOST_AFFECTED] if isinstance(given, list | tuple) else ():
        try:
            found.append(AffectedInstant.model_validate(one))
        except ValidationError:
            continue
    return found


AffectedInstants = Annotated[tuple[AffectedInstant, ...], BeforeValidator(_readable)]
"""The first instants that a run affected, oldest first."""
