"""The budget of a namespace, over its tables: what counts across them, across namespaces and across restarts."""

from __future__ import annotations

import json
from typing import Any

from tests.control.test_costs import Tables
from tests.control.test_reconciler import Snapshots
from tests.planning.world import NOW, as_declared, done, story

from hudi_jobs.contract import Location
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.timeline import TableType

BUDGET = {"tableServices": {"cpuTimePerNamespaceAndDay": "2h"}}
FILES = tuple(done("commit", 40 - one) for one in range(20))


class Declared(Snapshots):
    """Every table has twenty commits of its own, so that its cleaning is due."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables.cluster)
        self._tables = tables

    async def read(self, _base: Location, _store: ObjectStore | None, **_limits: Any) -> TimelineSnapshot:
        parsed = map(parse_table, self._tables.cluster.tables.values())
        table = next(one for one in parsed if isinstance(one, HudiTable) and one.spec.location == _base)
        runs = tuple((f"run-{name}", name.partition("_")[0]) for name in FILES)
        found = story(*FILES, kind=TableType.COPY_ON_WRITE)
        return as_declared(TimelineSnapshot(timeline=found, runs=runs), table)


def resting(*names: str, used_by: str) -> Tables:
    """Tables without ingestion; the services of one of them used three CPU hours today."""
    tables = Tables(*names, budgets=BUDGET)
    tables.now = NOW
    for name, document in tables.cluster.tables.items():
        document["spec"].pop("ingestion")
        if name == used_by:
            services = {"compaction": {"costs": [f"{NOW.date()} 1 {3 * 3_600_000} 0 0 0"]}}
            document["status"] = {"memory": {"services": json.dumps(services) + "\n"}}
    tables.reconciler._observer._snapshots = Declared(tables)
    return tables


def reason(tables: Tables, name: str) -> str:
    return str(tables.status(name)["services"]["cleaning"]["reason"])


async def test_budget_used_by_one_table_holds_the_tables_of_its_namespace_and_no_other() -> None:
    tables = resting("team-a/orders", "team-a/items", "team-b/other", used_by="items")
    for name in ("orders", "other"):
        await tables.reconcile(name)
    assert reason(tables, "orders") == "BudgetReached"
    assert not [job for job in tables.cluster.created if job.startswith("orders-")]
    assert [job for job in tables.cluster.created if job.startswith("other-cleaning-")]
