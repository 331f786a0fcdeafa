"""The status of a request to read files once more."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model


class RescanState(StrEnum):
    """Progress of a request to read files once more."""

    ASKED = "Asked"
    """A run was given the request, and has not served it yet."""

    SERVED = "Served"
    """The files count as unread, or have been read; the request is not served again."""

    IGNORED = "Ignored"
    """The request is not understood, or the table reads no files."""


class RescanStatus(Model):
    """The newest request to read files once more."""

    value: Annotated[str, Field(max_length=256)]
    """The request in the form that runs receive."""

    state: RescanState
    """Progress of the request."""

    message: Annotated[str, Field(max_length=512)] = ""
    """Why the request was ignored, as a sentence."""
