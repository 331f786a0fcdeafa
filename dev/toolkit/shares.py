"""Splits a sweep between machines: `FAULTS_SHARE=2/4` is the second of four parts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")


def share(everything: Iterable[_T]) -> list[_T]:
    """Return the part of `FAULTS_SHARE`, by default all; the parts together are complete."""
    part, _, parts = os.environ.get("FAULTS_SHARE", "1/1").partition("/")
    return [*everything][int(part) - 1 :: int(parts)]
