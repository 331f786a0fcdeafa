"""How much is swept, and by which seed: FAULTS=full sweeps everything, FAULTS_SEED replays a selection."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def full() -> bool:
    """Whether everything is swept, as `make test-faults` does."""
    return os.environ.get("FAULTS") == "full"


@pytest.fixture
def seed(record_property: Callable[[str, object], None]) -> int:
    """The seed of whatever a test draws; printed, so that the same faults can be had again."""
    drawn = int(os.environ.get("FAULTS_SEED") or random.randrange(2**32))
    record_property("seed", drawn)
    print(f"FAULTS_SEED={drawn}")  # noqa: T201 - shown with a failure
    return drawn
