"""How many of their trials the long tests run: a few by default, every one with `HUDI_JOBS_TRIALS=all`."""

import os
from collections.abc import Sequence
from itertools import chain, product
from typing import Any

import pytest

ALL = os.environ.get("HUDI_JOBS_TRIALS") == "all"

IN_FULL = pytest.mark.skipif(not ALL, reason="a long trial: HUDI_JOBS_TRIALS=all")
"""Marks what another test that always runs samples."""

LEASE = 12.0
"""Seconds; a busy machine may keep a driver from renewing its lease for some of them."""


def sampled(*values: Any, few: int = 1) -> Sequence[Any]:
    """Return the first few of these values by default, and all of them in full."""
    return values if ALL else values[:few]


def crossed(*parameters: tuple[str, Sequence[Any]]) -> pytest.MarkDecorator:
    """Parametrize a test by every combination of values, each with its names; by default each value is there once."""
    columns = [[value if "," in names else (value,) for value in values] for names, values in parameters]
    few = ([column[number % len(column)] for column in columns] for number in range(max(map(len, columns))))
    rows = product(*columns) if ALL else few
    return pytest.mark.parametrize(", ".join(names for names, _ in parameters), [tuple(chain(*row)) for row in rows])
