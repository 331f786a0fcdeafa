"""Where the checker begins: small tables, each of another shape, each with what may befall it."""

from __future__ import annotations

from typing import Any

from tests.model.world import Scenario

from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION

_SPEC: dict[str, Any] = {
    "type": "MergeOnRead",
    "ingestion": {"schedule": {"every": "5m"}},
    "compaction": {"trigger": {"deltaCommits": 2}},
    "clustering": {"mode": "Async", "trigger": {"commits": 3}},
    "cleaning": {"retainCommits": 2},
    "archival": {"minCommits": 4, "maxCommits": 6},
}
_LOCK = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
_INLINE = {
    "clustering": {"mode": "Inline", "trigger": {"commits": 3}},
    "compaction": {"mode": "Inline", "trigger": {"deltaCommits": 2}},
}

PROCESSES = Scenario(
    name="processes",
    spec=_SPEC,
    updates=False,
    happenings=frozenset({"driver dies", "driver freezes", "pod force-deleted", "job deleted", "fault"}),
)
CLOCKS = Scenario(
    name="clocks", spec=_SPEC, happenings=frozenset({"clock skewed", "driver dies", "operator skewed", "fault"})
)
INSERTING_CLOCKS = Scenario(
    name="inserting clocks", spec=_SPEC, updates=False, happenings=frozenset({"clock skewed", "driver dies"})
)
LOCAL = Scenario(
    name="local time", spec=_SPEC, existing_ahead=7200, happenings=frozenset({"driver dies", "clock skewed"})
)
PODS = Scenario(
    name="pods",
    spec=_SPEC,
    happenings=frozenset({"pod trouble", "job deleted", "spec edited", "request"}),
)
PEOPLE = Scenario(
    name="people",
    spec=_SPEC,
    happenings=frozenset({"service disabled", "spec edited", "request", "fault", "driver dies", "restore"}),
)
STRANGERS = Scenario(
    name="strangers",
    spec=_SPEC,
    happenings=frozenset({"tool", "tool dies", "garbage accepted", "driver dies", "job deleted"}),
)
STRANGERS_FROM_THE_START = Scenario(
    name="strangers from the start",
    spec=_SPEC,
    prefix=((5, ("driver dies", 0)),),
    happenings=frozenset({"tool", "tool dies", "driver dies", "job deleted"}),
)
OPERATORS = Scenario(
    name="operators",
    spec=_SPEC,
    updates=False,
    happenings=frozenset({"second operator", "status restored", "driver dies", "pod force-deleted"}),
)
SHARED = Scenario(
    name="shared",
    spec={**_SPEC, **_LOCK},
    optimistic=True,
    happenings=frozenset({"tool", "tool dies", "driver dies", "driver freezes", "pod force-deleted"}),
)
INLINE = Scenario(
    name="inline",
    spec={**_SPEC, **_INLINE},
    inline_log_compaction=True,
    happenings=frozenset({"driver dies", "job deleted", "service disabled", "fault"}),
)
SHARED_INLINE = Scenario(
    name="shared inline",
    spec={**_SPEC, **_LOCK, **_INLINE},
    optimistic=True,
    happenings=frozenset({"tool", "tool dies", "driver dies"}),
)
REQUESTS = Scenario(
    name="requests",
    spec=_SPEC,
    arrivals=tuple(range(0, 3000, 100)),
    renews_request=True,
    happenings=frozenset({"driver dies", "fault"}),
)

BEHIND = Scenario(
    name="behind its source",
    spec={
        **_SPEC,
        "ingestion": {"schedule": {"every": "3m"}, "freshness": "1m"},
        "cleaning": {"retainCommits": 2, "trigger": {"commits": 3}},
    },
    arrivals=tuple(range(0, 3000, 100)),
    lag=600,
    happenings=frozenset({"driver dies", "fault", "spec edited"}),
)
REFUSED = Scenario(
    name="refused",
    spec=_SPEC,
    arrivals=(0,),
    wrong_class=1,
    happenings=frozenset({"class edited", "spec edited", "fault", "request"}),
)
UNREADABLE = Scenario(
    name="unreadable",
    spec={**_SPEC, "cleaning": {"mode": "Disabled"}, "archival": {"mode": "Disabled"}},
    arrivals=(0, 120),
    unreadable=((100, 2400),),
    happenings=frozenset({"driver dies", "fault"}),
)
FILES = Scenario(
    name="files",
    spec=_SPEC,
    updates=False,
    happenings=frozenset({"late file", "future file", "driver dies", "restore"}),
)
ACCEPTING = Scenario(
    name="accepting",
    spec=_SPEC,
    decided=(("acceptCommits", "upTo", "99999999999999999"),),
    happenings=frozenset({"tool"}),
)
REQUESTED = Scenario(
    name="requested",
    spec=_SPEC,
    arrivals=(0, 300),
    annotations=((REQUESTED_AT_ANNOTATION, "2026-03-10T12:00:00Z"),),
    happenings=frozenset({"fault", "job deleted"}),
)
LEFT_PLAN = Scenario(
    name="left plan",
    spec=_SPEC,
    arrivals=(0, 300, 600, 900),
    prefix=((36, ("driver dies", 5)),),
    happenings=frozenset({"service disabled", "driver dies", "spec edited"}),
)

ADOPTION = Scenario(
    name="adoption beside a live writer",
    spec=_SPEC,
    existing_ahead=0,
    quiet=600,
    writes_of_others=(60, 360, 660, 960),
    happenings=frozenset({"tool dies", "driver dies", "fault", "status lost"}),
)

_CONTINUOUS: dict[str, Any] = {
    **_SPEC,
    "ingestion": {
        "mode": "Continuous",
        "continuous": {"progressDeadline": "10m", "serviceInterval": "3m"},
    },
}
CONTINUOUS = Scenario(
    name="continuous",
    spec=_CONTINUOUS,
    updates=False,
    arrivals=(0, 100, 200, 300, 900),
    happenings=frozenset({"driver dies", "driver freezes", "pod force-deleted", "job deleted", "fault", "status lost"}),
)
CONTINUOUS_PEOPLE = Scenario(
    name="people and a continuous driver",
    spec=_CONTINUOUS,
    arrivals=(0, 100, 200, 300, 900),
    happenings=frozenset({"driver dies", "driver hangs", "spec edited", "request", "class edited", "job deleted"}),
)
CONTINUOUS_UPSERTS = Scenario(
    name="continuous upserts",
    spec=_CONTINUOUS,
    recycle=900,
    arrivals=(0, 100, 200, 300, 900),
    happenings=frozenset({"driver dies", "service disabled", "fault", "clock skewed", "pod trouble", "restore"}),
)
CONTINUOUS_INSIDE = Scenario(
    name="services inside a continuous driver",
    spec=_CONTINUOUS,
    takes=True,
    arrivals=(0, 100, 200, 300, 900),
    happenings=frozenset(
        {"driver dies", "driver freezes", "pod force-deleted", "job deleted", "fault", "spec edited", "status lost"}
    ),
)
CONTINUOUS_BEHIND = Scenario(
    name="a continuous driver behind its source",
    spec={
        **_CONTINUOUS,
        "ingestion": {
            "mode": "Continuous",
            "freshness": "1m",
            "continuous": {"progressDeadline": "10m", "serviceInterval": "3m", "services": "Alternating"},
        },
        "cleaning": {"retainCommits": 2, "trigger": {"commits": 3}},
    },
    updates=False,
    arrivals=tuple(range(0, 3000, 200)),
    lag=600,
    happenings=frozenset({"driver dies", "fault", "spec edited", "request", "status lost"}),
)
CONTINUOUS_STRANGERS = Scenario(
    name="strangers beside a continuous driver",
    spec=_CONTINUOUS,
    arrivals=(0, 200, 400),
    happenings=frozenset({"tool", "tool dies", "driver dies", "second operator"}),
)
CONTINUOUS_SHARED = Scenario(
    name="continuous shared",
    spec={**_CONTINUOUS, **_LOCK},
    optimistic=True,
    arrivals=(0, 100, 200, 300, 900),
    happenings=frozenset({"tool", "tool dies", "driver dies", "driver hangs", "driver freezes", "job deleted"}),
)

_KEPT: dict[str, Any] = {
    "cleaning": {"retainCommits": 5, "trigger": {"commits": 3}},
    "archival": {"minCommits": 8, "maxCommits": 12},
}
OPERATIONS = Scenario(
    name="operations",
    spec={**_SPEC, **_KEPT},
    arrivals=(0, 300, 600, 900),
    operations=((700, "restore"),),
    happenings=frozenset(
        {
            "driver dies", "job deleted", "operation fails", "fault", "operation created", "operation deleted",
            "finalizer removed", "operation recreated", "operations lag", "table deleted", "status restored",
        }
    ),
)  # fmt: skip
OPERATIONS_BESIDE_A_DRIVER = Scenario(
    name="operations beside a continuous driver",
    spec={**_CONTINUOUS, **_KEPT},
    takes=True,
    updates=False,
    arrivals=(0, 100, 200, 300, 900),
    operations=((350, "restore"), (500, "dry run")),
    happenings=frozenset(
        {
            "driver dies",
            "driver freezes",
            "driver hangs",
            "pod force-deleted",
            "job deleted",
            "fault",
            "second operator",
        }
    ),
)
APPROVALS = Scenario(
    name="operations that wait for a person",
    spec={**_SPEC, **_LOCK, **_KEPT},
    arrivals=(0, 300, 600),
    optimistic=True,
    operations=((400, "rollback"), (450, "restore"), (600, "approval")),
    approval="Manual",
    happenings=frozenset(
        {"operation approved", "operation deleted", "operations lag", "spec edited", "driver dies", "fault"}
    ),
)

ERASURES = Scenario(
    name="erasures",
    spec={**_SPEC, **_KEPT},
    arrivals=(0, 300, 600, 900),
    operations=((700, "erase"),),
    happenings=OPERATIONS.happenings - {"operation created"},
)
WHAT_MAY_BE_LEFT = Scenario(
    name="operations that may be left",
    spec={**_SPEC, **_KEPT},
    arrivals=(0, 300, 600, 900),
    operations=((700, "runService"), (760, "repair")),
    happenings=OPERATIONS.happenings - {"operation created"},
)

EVERY = (
    PROCESSES, CLOCKS, INSERTING_CLOCKS, LOCAL, PODS, PEOPLE, STRANGERS, OPERATORS, SHARED, INLINE, SHARED_INLINE,
    REQUESTS, BEHIND, REFUSED, UNREADABLE, ACCEPTING, REQUESTED, LEFT_PLAN, FILES,
    STRANGERS_FROM_THE_START, ADOPTION,
    CONTINUOUS, CONTINUOUS_INSIDE, CONTINUOUS_PEOPLE, CONTINUOUS_UPSERTS, CONTINUOUS_BEHIND, CONTINUOUS_STRANGERS,
    CONTINUOUS_SHARED,
    OPERATIONS, OPERATIONS_BESIDE_A_DRIVER, APPROVALS, ERASURES, WHAT_MAY_BE_LEFT,
)  # fmt: skip
