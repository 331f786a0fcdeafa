"""How much tests try that draw at random: a part by default, and all under `make test-all`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

IN_FULL = os.environ.get("HYPOTHESIS_PROFILE") == "default"

T = TypeVar("T")


def examples(whole: int) -> int:
    """Return how many examples a property is tried with: a quarter by default."""
    return whole if IN_FULL else whole // 4


def sampled(whole: Sequence[T], *, few: int) -> Sequence[T]:
    """Return a few values from all over a sequence by default."""
    return whole if IN_FULL else whole[:: max(1, len(whole) // few)]
