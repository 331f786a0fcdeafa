"""The page on the status explains every word that a status can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.api.conditions import ConditionType
from hudi_operator.planning.ingestion import IngestionReason
from hudi_operator.planning.model import Blocked, PodTrouble, TimelineTrouble
from hudi_operator.planning.outcomes import DRIVER_DIED, JOB_LOST, NOT_CONFIRMED
from hudi_operator.planning.refusal import JOB_REFUSED

PAGE = (Path(__file__).parents[2] / "docs" / "status.md").read_text()
WORDS = (
    ConditionType,
    Outcome,
    FailureReason,
    IngestionReason,
    Blocked,
    PodTrouble,
    TimelineTrouble,
    (DRIVER_DIED, JOB_LOST, NOT_CONFIRMED, JOB_REFUSED),
)


@pytest.mark.parametrize("word", sorted({str(word) for words in WORDS for word in words}))
def test_the_page_explains(word: str) -> None:
    assert f"`{word}`" in PAGE
