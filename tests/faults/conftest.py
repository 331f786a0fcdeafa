"""How much is swept, and by which seed: FAULTS=full sweeps everything, FAULTS_SEED replays a selection."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.faults.lifecycle import EndState, Scenario, delete_while_running, live
from tests.faults.rules import Call
from tests.faults.sweep import undisturbed
from tests.spark_jobs.conftest import installed_spark, spark, spark_conf

__all__ = ["installed_spark", "spark", "spark_conf"]

Reference: TypeAlias = tuple[EndState, list[Call]]
LIVES = (live, delete_while_running)


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


@pytest.fixture(scope="session")
def references(
    cluster: None,  # noqa: ARG001 - it must be there
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[Scenario, Reference]:
    """The end of each life without faults, and the writes on the way."""
    folder = tmp_path_factory.mktemp("references")

    async def lived() -> list[Reference]:
        return await asyncio.gather(*(undisturbed(one, folder / one.__name__) for one in LIVES))

    return dict(zip(LIVES, asyncio.run(lived()), strict=True))
