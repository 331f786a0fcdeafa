"""The effects of a run on instants that it did not begin: part of its outcome, checked like any text from outside."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant

MOST_AFFECTED = 10
"""The number of instants that an outcome names; the log of the driver names all of them."""


_NAME = re.compile(r"[A-Za-z0-9.-]{1,63}")
"""The pattern of a run's name, because plans come from outside."""


class Effect(StrEnum):
    """The effect of a run on an instant that was pending before the run began."""

    FINISHED = "Finished"
    """The run completed the instant."""

    ROLLED_BACK = "RolledBack"
    """The run removed the instant, with everything that it had written."""

    REPLANNED = "Replanned"
    """The run removed the instant, and planned another instant of the same kind."""


def _name(given: object) -> str | None:
    return given if isinstance(given, str) and _NAME.fullmatch(given) else None


class AffectedInstant(Document):
    """An instant that the run did not begin; `run` is the run of this table that its plan names, if any."""

    instant: Instant
    action: Annotated[str, Field(pattern=r"^[a-z]{1,32}$")]
    effect: Effect
    run: Annotated[str | None, BeforeValidator(_name)] = None


def _readable(given: Any) -> list[AffectedInstant]:  # noqa: ANN401 - whatever a termination message holds
    """Return the readable lines of a list: an unreadable line is left out, and the other lines stay."""
    found: list[AffectedInstant] = []
    for one in list(given)[:MOST_AFFECTED] if isinstance(given, list | tuple) else ():
        try:
            found.append(AffectedInstant.model_validate(one))
        except ValidationError:
            continue
    return found


AffectedInstants = Annotated[tuple[AffectedInstant, ...], BeforeValidator(_readable)]
"""The first instants that a run affected, oldest first."""
