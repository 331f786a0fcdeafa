"""The checker finds every defect that is put back in, and would therefore find it if it came back."""

from __future__ import annotations

import pytest
from tests.model.budget import IS_WHOLE
from tests.model.defects import DEFECTS, Defect
from tests.model.defects_of_operations import OF_OPERATIONS


@pytest.mark.parametrize("defect", [*DEFECTS, *OF_OPERATIONS], ids=lambda one: one.name)
def test_the_checker_finds(defect: Defect) -> None:
    report = defect.find(quickly=not IS_WHOLE)
    assert report.broken, f"nothing found in {report.states} states"
