"""The part of a sweep that a run takes, so that machines may share one: `FAULTS_SHARE=2/4` is the second of four."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")


def share(everything: Iterable[_T]) -> list[_T]:
    """Return the part that `FAULTS_SHARE` asks for, by default all; the parts together leave nothing out."""
    part, _, parts = os.environ.get("FAULTS_SHARE", "1/1").partition("/")
    return [*everything][int(part) - 1 :: int(parts)]
