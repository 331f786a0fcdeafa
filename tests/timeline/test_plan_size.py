"""How much a pending plan will read, as Hudi has written it into the plan."""

from __future__ import annotations

import pytest

from hudi_operator.timeline import Action, State
from hudi_operator.timeline.content.interpret import interpret
from hudi_operator.timeline.content.plans import CompactionPlan, ReplacePlan

PARTS = [{"fileId": "a", "metrics": {"TOTAL_IO_READ_MB": 1.5}}, {"fileId": "b", "metrics": None}, {"fileId": "c"}]


@pytest.mark.parametrize("action", [Action.COMPACTION, Action.LOG_COMPACTION])
def test_a_compaction_plan_says_how_much_it_reads(action: Action) -> None:
    plan = interpret({"operations": PARTS}, action, State.REQUESTED)
    assert isinstance(plan, CompactionPlan)
    assert (plan.read_bytes, len(plan.operations)) == (1536 * 2**10, 3)


def test_a_clustering_plan_says_how_much_it_reads() -> None:
    plan = interpret({"clusteringPlan": {"inputGroups": PARTS}}, Action.CLUSTERING, State.REQUESTED)
    assert isinstance(plan, ReplacePlan)
    assert (plan.read_bytes, len(plan.groups)) == (1536 * 2**10, 3)


def test_an_empty_plan_reads_nothing() -> None:
    plan = interpret(None, Action.CLUSTERING, State.REQUESTED)
    assert isinstance(plan, ReplacePlan)
    assert plan.read_bytes == 0
