"""The size of a run: from the table, the class's defaults, and the last out-of-memory."""

import math
from dataclasses import dataclass, replace
from decimal import Decimal

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table import EXECUTORS, POD_CPU, POD_MEMORY, ExecutionMode, HudiTableSpec
from hudi_operator.api.spec.table_class import ExecutionLimits, HudiTableClassSpec
from hudi_operator.api.status.cost import RequestedCores
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.values.base import parse_quantity, quantity_bytes

_MIB = 2**20
_SMALLEST_OVERHEAD = 512 * _MIB
_OVERHEAD_SHARE = 0.25
_GROWTH = Decimal("1.5")
_BYTES_PER_CORE = 512 * _MIB


@dataclass(frozen=True, kw_only=True)
class PodSize:
    """CPU and memory of a pod, as quantities."""

    cpu: str
    memory: str

    @property
    def cores(self) -> int:
        """Spark's task slots: whole CPUs, at least one."""
        return max(1, math.ceil(parse_quantity(self.cpu)))

    @property
    def heap_mib(self) -> int:
        """Heap of the JVM in MiB: the pod's memory minus Python, metaspace and native buffers."""
        total = quantity_bytes(self.memory)
        overhead = max(_SMALLEST_OVERHEAD, int(total * _OVERHEAD_SHARE))
        return max((total - overhead) // _MIB, 256)

    @property
    def overhead_mib(self) -> int:
        """Memory of the pod outside the heap in MiB."""
        return max(quantity_bytes(self.memory) // _MIB - self.heap_mib, 1)


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """Where Spark runs, and its resources."""

    mode: ExecutionMode
    driver: PodSize
    executor: PodSize
    executor_instances: int

    @property
    def requested_cores(self) -> RequestedCores:
        """The cores that the pods of a run request."""
        executors = self.executor_instances if self.mode is ExecutionMode.CLUSTER else 0
        return RequestedCores(
            driver=_millicores(self.driver.cpu),
            executor=_millicores(self.executor.cpu) if executors else 0,
            executors=executors,
        )


def _millicores(cpu: str) -> int:
    return int(parse_quantity(cpu) * 1000)


HANDING_OVER = Sizing(
    mode=ExecutionMode.LOCAL,
    driver=PodSize(cpu="100m", memory="256Mi"),
    executor=PodSize(cpu=POD_CPU, memory=POD_MEMORY),
    executor_instances=0,
)
"""The size of a run that hands its service to another run's driver, without starting a JVM."""


@dataclass(frozen=True, kw_only=True)
class PlanSize:
    """The input of a pending compaction or clustering plan: bytes, and independent groups."""

    bytes: int
    groups: int

    @property
    def cores(self) -> int:
        """Cores that the plan can use: one per 512 MiB, at most one per group."""
        return max(1, min(self.groups, math.ceil(self.bytes / _BYTES_PER_CORE)))


def resolve_sizing(spec: HudiTableSpec, table_class: HudiTableClassSpec, *, driver_memory: str | None = None) -> Sizing:
    """Return the size of a run.

    `driver_memory` is the driver memory grown by the operator, if any; it counts only if greater than the spec's
    current value, and never beyond the class's current limit.
    """
    own, default = spec.execution, table_class.execution
    mode = own.mode if own.mode is not ExecutionMode.AUTO else default.mode
    return Sizing(
        mode=ExecutionMode.LOCAL if mode is ExecutionMode.AUTO else mode,
        driver=PodSize(
            cpu=own.driver.cpu or default.driver.cpu or POD_CPU,
            memory=_larger(
                own.driver.memory or default.driver.memory or POD_MEMORY,
                grown=driver_memory,
                limit=table_class.limits.driver_memory,
            ),
        ),
        executor=PodSize(
            cpu=own.executor.cpu or default.executor.cpu or POD_CPU,
            memory=own.executor.memory or default.executor.memory or POD_MEMORY,
        ),
        executor_instances=own.executor.instances or default.executor.instances or EXECUTORS,
    )


def job_sizing(
    spec: HudiTableSpec, table_class: HudiTableClassSpec, *, driver_memory: str | None, plan: PlanSize | None
) -> Sizing:
    """Return the size of a decided run, grown for the pending plan that it executes."""
    sizing = resolve_sizing(spec, table_class, driver_memory=driver_memory)
    return sizing if plan is None else sizing_for_plan(sizing, plan, table_class.limits)


_IN_ONE_POD = frozenset({Service.DELETION, Service.SAVEPOINT, Service.CATALOG})
"""Services that only remove or list files, or sync a catalog."""


def size_of(job: ActiveJob, spec: HudiTableSpec, table_class: HudiTableClassSpec) -> Sizing:
    """Return the size of a decided Job."""
    if job.inside is not None:
        return HANDING_OVER
    plan = None
    if job.plan_bytes is not None and job.plan_groups is not None:
        plan = PlanSize(bytes=job.plan_bytes, groups=job.plan_groups)
    sizing = job_sizing(spec, table_class, driver_memory=job.driver_memory, plan=plan)
    return replace(sizing, mode=ExecutionMode.LOCAL) if job.service in _IN_ONE_POD else sizing


def sizing_for_plan(sizing: Sizing, plan: PlanSize, limits: ExecutionLimits) -> Sizing:
    """Return a run's size grown for a pending plan, within the class's limits; never smaller.

    A local run gets more CPU, and memory in proportion, because its cores share a heap. A run with executors gets more
    executors of the requested size.
    """
    if sizing.mode is ExecutionMode.CLUSTER:
        wanted = min(math.ceil(plan.cores / sizing.executor.cores), limits.executor_instances)
        return replace(sizing, executor_instances=max(sizing.executor_instances, wanted))
    current = sizing.driver
    cores = min(plan.cores, math.floor(parse_quantity(limits.driver_cpu)))
    if cores <= current.cores:
        return sizing
    memory = quantity_bytes(current.memory) * cores // current.cores // _MIB
    return replace(
        sizing,
        driver=PodSize(cpu=str(cores), memory=_larger(current.memory, grown=f"{memory}Mi", limit=limits.driver_memory)),
    )


def _larger(asked: str, *, grown: str | None, limit: str) -> str:
    if grown is None:
        return asked
    return max(asked, min(grown, limit, key=parse_quantity), key=parse_quantity)


def exceeded_limits(sizing: Sizing, limits: ExecutionLimits) -> tuple[str, ...]:
    """Return a sentence for each limit of the class that a run would exceed."""
    asked = [
        ("execution.driver.memory", sizing.driver.memory, limits.driver_memory),
        ("execution.driver.cpu", sizing.driver.cpu, limits.driver_cpu),
    ]
    if sizing.mode is ExecutionMode.CLUSTER:
        asked += [
            ("execution.executor.memory", sizing.executor.memory, limits.executor_memory),
            ("execution.executor.cpu", sizing.executor.cpu, limits.executor_cpu),
            ("execution.executor.instances", str(sizing.executor_instances), str(limits.executor_instances)),
        ]
    return tuple(
        f"{name} is {value}, and the class allows at most {limit}"
        for name, value, limit in asked
        if parse_quantity(value) > parse_quantity(limit)
    )


def grown_memory(memory: str, limit: str) -> str | None:
    """Return the memory to try next after out-of-memory, or None when the class's limit is reached."""
    current, most = quantity_bytes(memory), quantity_bytes(limit)
    grown = min(int(current * _GROWTH), most) // _MIB
    return f"{grown}Mi" if grown * _MIB > current else None
