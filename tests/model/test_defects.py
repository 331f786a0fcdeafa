"""The checker finds every defect that is put back in, and would therefore find it if it came back."""

from __future__ import annotations

import pytest
from tests.model.defects import DEFECTS, Defect

_WAITING: set[str] = set()
"""Needs the old decision too, once today's is mended."""
PUT_BACK = [one for one in DEFECTS if (one.old or one.without) and one.name not in _WAITING]


@pytest.mark.parametrize("defect", PUT_BACK, ids=lambda one: one.name)
def test_the_checker_finds(defect: Defect) -> None:
    report = defect.find()
    assert report.broken, f"nothing found in {report.states} states"
