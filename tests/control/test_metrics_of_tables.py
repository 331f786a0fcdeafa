"""The series of a table follow its reconciles: its state, a spec that cannot be read, its polls and its end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.control.test_reconciler import Operator, living_table

from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.process import OperatorProcess
from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.informer import KnownObjects
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.telemetry.table_metrics import DEFAULT_LIMIT

FLIGHTS = ("team-a", "flights")


def infos() -> list[dict[str, str]]:
    """Return the labels of the series of information on flights."""
    (family,) = [one for one in metrics.tables.collect() if one.name == "hudi_operator_table_info"]
    return [one.labels for one in family.samples if (one.labels["table_namespace"], one.labels["table"]) == FLIGHTS]


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    """Leave nothing of the table to other tests, nor of them to this one."""
    metrics.forget_table(*FLIGHTS)
    yield
    metrics.forget_table(*FLIGHTS)
    metrics.tables.configure(enabled=True, limit=DEFAULT_LIMIT)


async def test_ingested_table_has_one_series_with_its_class_and_reason_until_it_is_gone() -> None:
    operator = Operator(living_table())
    await operator.settle()
    (info,) = infos()
    assert (info["class"], info["ready"], info["reason"]) == ("standard", "True", "NothingToDo")
    del operator.cluster.tables["flights"]
    await operator.reconcile()
    assert infos() == []


async def test_table_with_a_spec_that_cannot_be_read_is_not_ready() -> None:
    operator = Operator(living_table())
    await operator.settle()
    operator.cluster.tables["flights"]["spec"]["basePath"] = 7
    await operator.reconcile()
    (info,) = infos()
    assert (info["ready"], info["reason"]) == ("False", "InvalidSpec")


async def test_poll_of_an_unchanged_table_reads_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator(living_table())
    await operator.settle()
    shown = infos()
    monkeypatch.setattr(metrics, "set_table", None)
    await operator.reconcile(Trigger.POLL)
    assert infos() == shown


async def test_process_with_the_setting_off_shows_no_series_of_a_table() -> None:
    settings = Settings(spark_image="x", table_metrics=False)
    unused: Any = None
    OperatorProcess(
        settings=settings, kube=unused, controllers=CONTROLLERS, known=KnownObjects(CONTROLLERS), reconcile=unused
    )
    await Operator(living_table()).settle()
    assert 'table="flights"' not in metrics.exposition().decode()


@pytest.mark.parametrize(("variable", "value"), [("TABLE_METRICS", "maybe"), ("TABLE_METRICS_LIMIT", "-1")])
def test_settings_of_the_series_refuse_nonsense(variable: str, value: str) -> None:
    name = variable.lower()
    with pytest.raises(ValueError, match=name):
        Settings.model_validate({"spark_image": "x", name: value})
