"""How large a run is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.world import class_spec, spec

from hudi_operator.api.values.base import quantity_bytes
from hudi_operator.jobs.sizing import (
    PlanSize,
    PodSize,
    Sizing,
    exceeded_limits,
    grown_memory,
    resolve_sizing,
    sizing_for_plan,
)


def sizing(
    own: dict[str, Any] | None = None, default: dict[str, Any] | None = None, *, grown: str | None = None, **limits: Any
) -> Sizing:
    policy = class_spec(execution=default or {}, limits=limits)
    return resolve_sizing(spec(execution=own or {}), policy, driver_memory=grown)


def test_a_table_that_asks_for_nothing_gets_two_gibibytes_and_one_cpu_in_one_pod() -> None:
    found = sizing()
    assert (found.mode, found.driver, found.executor_instances) == ("Local", PodSize(cpu="1", memory="2Gi"), 2)


@pytest.mark.parametrize(
    ("own", "default", "expected"),
    [
        ({"mode": "Auto"}, {"mode": "Auto"}, "Local"),
        ({"mode": "Auto"}, {"mode": "Cluster"}, "Cluster"),
        ({"mode": "Local"}, {"mode": "Cluster"}, "Local"),
        ({"mode": "Cluster"}, {"mode": "Local"}, "Cluster"),
    ],
)
def test_the_mode_is_the_tables_then_the_classes_then_local(
    own: dict[str, Any], default: dict[str, Any], expected: str
) -> None:
    assert sizing(own, default).mode == expected


def test_a_table_overrides_its_class_field_by_field() -> None:
    found = sizing(
        {"driver": {"cpu": "3"}, "executor": {"instances": 7}},
        {"driver": {"cpu": "2", "memory": "6Gi"}, "executor": {"memory": "4Gi", "instances": 5}},
    )
    assert found.driver == PodSize(cpu="3", memory="6Gi")
    assert found.executor == PodSize(cpu="1", memory="4Gi")
    assert found.executor_instances == 7


@pytest.mark.parametrize(
    ("asked", "grown", "limit", "expected"),
    [
        (None, None, "8Gi", "2Gi"),
        (None, "3072Mi", "8Gi", "3072Mi"),
        ("4Gi", "3072Mi", "8Gi", "4Gi"),
        ("4Gi", "6144Mi", "8Gi", "6144Mi"),
        ("1Gi", "6144Mi", "4Gi", "4Gi"),
        ("16Gi", "6144Mi", "4Gi", "16Gi"),
    ],
)
def test_grown_memory_counts_where_it_is_more_than_asked_for_and_the_class_still_allows_it(
    asked: str | None, grown: str | None, limit: str, expected: str
) -> None:
    own = {"driver": {"memory": asked}} if asked else {}
    assert sizing(own, grown=grown, driverMemory=limit).driver.memory == expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, []),
        ({"driver": {"memory": "8Gi", "cpu": "4"}}, []),
        ({"driver": {"memory": "8193Mi"}}, ["execution.driver.memory is 8193Mi, and the class allows at most 8Gi"]),
        ({"driver": {"memory": "9G"}}, ["execution.driver.memory is 9G, and the class allows at most 8Gi"]),
        ({"driver": {"memory": "8G"}}, []),
        ({"driver": {"cpu": "4001m"}}, ["execution.driver.cpu is 4001m, and the class allows at most 4"]),
        ({"executor": {"memory": "64Gi", "cpu": "64", "instances": 1000}}, []),
        (
            {"mode": "Cluster", "executor": {"memory": "64Gi", "instances": 51}},
            [
                "execution.executor.memory is 64Gi, and the class allows at most 16Gi",
                "execution.executor.instances is 51, and the class allows at most 50",
            ],
        ),
    ],
)
def test_size_beyond_the_limits_of_the_class_is_named(own: dict[str, Any], expected: list[str]) -> None:
    assert list(exceeded_limits(sizing(own), class_spec().limits)) == expected


@pytest.mark.parametrize(
    ("memory", "heap", "overhead"),
    [("512Mi", 256, 256), ("1Gi", 512, 512), ("2Gi", 1536, 512), ("4Gi", 3072, 1024), ("16Gi", 12288, 4096)],
)
def test_the_heap_leaves_room_for_python_and_native_memory(memory: str, heap: int, overhead: int) -> None:
    pod = PodSize(cpu="1", memory=memory)
    assert (pod.heap_mib, pod.overhead_mib) == (heap, overhead)


@given(st.integers(512, 10**6))
def test_heap_and_overhead_together_are_the_pod(mebibytes: int) -> None:
    pod = PodSize(cpu="1", memory=f"{mebibytes}Mi")
    assert pod.heap_mib + pod.overhead_mib == mebibytes
    assert pod.heap_mib >= 256
    assert pod.overhead_mib >= 256


@pytest.mark.parametrize(("cpu", "cores"), [("100m", 1), ("1", 1), ("1001m", 2), ("1.5", 2), ("4", 4)])
def test_spark_gets_whole_cpus(cpu: str, cores: int) -> None:
    assert PodSize(cpu=cpu, memory="2Gi").cores == cores


@pytest.mark.parametrize(
    ("memory", "limit", "expected"),
    [
        ("2Gi", "8Gi", "3072Mi"),
        ("6Gi", "8Gi", "8192Mi"),
        ("8Gi", "8Gi", None),
        ("9Gi", "8Gi", None),
        ("1G", "8Gi", "1430Mi"),
        ("488Mi", "512M", None),
    ],
)
def test_memory_grows_by_half_until_the_limit(memory: str, limit: str, expected: str | None) -> None:
    assert grown_memory(memory, limit) == expected


@given(st.integers(512, 10**5), st.integers(512 * 10**6, 10**11))
def test_growing_ends_at_the_limit_after_a_few_steps(start: int, limit: int) -> None:
    memory, steps = f"{start}Mi", 0
    while (more := grown_memory(memory, str(limit))) is not None:
        assert quantity_bytes(memory) < quantity_bytes(more) <= limit
        memory, steps = more, steps + 1
    assert steps <= 30


@pytest.mark.parametrize(
    ("mebibytes", "groups", "cores"),
    [(0, 0, 1), (1, 1, 1), (512, 9, 1), (513, 9, 2), (4096, 9, 8), (4096, 3, 3), (10**6, 30, 30)],
)
def test_a_plan_keeps_a_core_busy_for_each_512_mebibytes_but_no_more_than_it_has_groups(
    mebibytes: int, groups: int, cores: int
) -> None:
    assert PlanSize(bytes=mebibytes * 2**20, groups=groups).cores == cores


@pytest.mark.parametrize(
    ("own", "limits", "plan", "expected"),
    [
        ({}, {}, 1, PodSize(cpu="1", memory="2Gi")),
        ({}, {}, 3, PodSize(cpu="3", memory="6144Mi")),
        ({}, {}, 30, PodSize(cpu="4", memory="8192Mi")),
        ({}, {"driverCpu": "2500m"}, 30, PodSize(cpu="2", memory="4096Mi")),
        ({}, {"driverCpu": "16", "driverMemory": "3Gi"}, 4, PodSize(cpu="4", memory="3Gi")),
        ({"cpu": "500m", "memory": "1Gi"}, {}, 1, PodSize(cpu="500m", memory="1Gi")),
        ({"cpu": "500m", "memory": "1Gi"}, {}, 2, PodSize(cpu="2", memory="2048Mi")),
        ({"cpu": "3500m", "memory": "7Gi"}, {}, 4, PodSize(cpu="3500m", memory="7Gi")),
        ({"cpu": "6", "memory": "7Gi"}, {"driverCpu": "4"}, 9, PodSize(cpu="6", memory="7Gi")),
    ],
)
def test_a_local_run_grows_with_its_plan_within_the_limits(
    own: dict[str, Any], limits: dict[str, Any], plan: int, expected: PodSize
) -> None:
    policy = class_spec(limits=limits)
    asked = resolve_sizing(spec(execution={"driver": own}), policy)
    found = sizing_for_plan(asked, PlanSize(bytes=plan * 512 * 2**20, groups=plan), policy.limits)
    assert found.driver == expected
    assert (found.executor, found.executor_instances) == (asked.executor, asked.executor_instances)


@pytest.mark.parametrize(
    ("executor", "plan", "expected"),
    [({}, 1, 2), ({}, 5, 5), ({"cpu": "4"}, 9, 3), ({"cpu": "4"}, 5, 2), ({"instances": 7}, 5, 7), ({}, 500, 50)],
)
def test_a_run_with_executors_gets_more_of_them(executor: dict[str, Any], plan: int, expected: int) -> None:
    policy = class_spec()
    asked = resolve_sizing(spec(execution={"mode": "Cluster", "executor": executor}), policy)
    found = sizing_for_plan(asked, PlanSize(bytes=plan * 512 * 2**20, groups=plan), policy.limits)
    assert found.executor_instances == expected
    assert (found.driver, found.executor) == (asked.driver, asked.executor)


@given(st.integers(0, 2**50), st.integers(0, 10**4), st.sampled_from(["Local", "Cluster"]))
def test_a_plan_never_makes_a_run_smaller_or_takes_it_beyond_the_limits(size: int, groups: int, mode: str) -> None:
    policy = class_spec()
    asked = resolve_sizing(spec(execution={"mode": mode}), policy)
    found = sizing_for_plan(asked, PlanSize(bytes=size, groups=groups), policy.limits)
    assert exceeded_limits(found, policy.limits) == ()
    assert found.driver.cores >= asked.driver.cores
    assert quantity_bytes(found.driver.memory) >= quantity_bytes(asked.driver.memory)
    assert found.executor_instances >= asked.executor_instances
