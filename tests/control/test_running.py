from typing import Any

from hudi_operator.control.keys import TableKey
from hudi_operator.control.running import RunningJobs

FLIGHTS, ORDERS, OTHER = TableKey("team-a", "flights"), TableKey("team-a", "orders"), TableKey("team-b", "events")


def job(key: TableKey, *, table_class: str = "standard", ended: bool = False) -> dict[str, Any]:
    conditions = [{"type": "Complete", "status": "True"}] if ended else []
    labels = {"hudi-operator.io/table": key.name, "hudi-operator.io/table-class": table_class}
    return {
        "metadata": {"namespace": key.namespace, "name": "job", "labels": labels},
        "status": {"conditions": conditions},
    }


def test_a_table_does_not_count_against_itself() -> None:
    running = RunningJobs()
    running.record(FLIGHTS, class_name="standard", jobs=1)
    assert running.in_class("standard", without=FLIGHTS) == 0
    assert running.in_class("standard", without=ORDERS) == 1


def test_namespaces_and_classes_are_counted_apart() -> None:
    running = RunningJobs()
    running.record(FLIGHTS, class_name="standard", jobs=1)
    running.record(OTHER, class_name="standard", jobs=1)
    assert running.in_class("standard", without=ORDERS) == 2
    assert running.in_namespace("standard", without=ORDERS) == 1
    assert running.in_class("large", without=ORDERS) == 0


def test_jobs_of_an_earlier_process_count_until_their_tables_are_looked_at() -> None:
    running = RunningJobs()
    assert not running.is_seeded
    running.seed([job(FLIGHTS), job(ORDERS, ended=True), job(OTHER, table_class="large")])
    assert running.is_seeded
    assert running.in_class("standard", without=ORDERS) == 1
    running.record(FLIGHTS, class_name="standard", jobs=0)
    assert running.in_class("standard", without=ORDERS) == 0


def test_what_a_look_has_found_is_not_replaced_by_the_count_at_the_beginning() -> None:
    running = RunningJobs()
    running.record(FLIGHTS, class_name="standard", jobs=1)
    running.seed([job(FLIGHTS, table_class="large")])
    assert running.in_class("large", without=ORDERS) == 0
