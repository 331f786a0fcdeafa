"""Rules that every status obeys, whatever was observed: those of kstatus, of Flux's conformance checks, and our own.

Sources: cli-utils `pkg/kstatus/README.md`, fluxcd `pkg/runtime/conditions/check/fail.go`, Kubernetes api-conventions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.world import (
    IMAGE,
    NOW,
    active,
    again,
    ago,
    at,
    done,
    instant,
    job,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    status,
    status_of,
    story,
    table,
    table_class,
    timeline,
)

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, Service, TaskResult
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.status.conditions import Condition, ConditionType, find_condition
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.decide import requeue_after
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    JobObservation,
    JobPhase,
    LaunchJob,
    NamespaceObservation,
    Observation,
    PodTrouble,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.outcome.life import refused
from hudi_operator.planning.outcome.status.build import build_invalid_status
from hudi_operator.planning.outcome.status.transitions import transitions
from hudi_operator.services.registry import SERVICES
from hudi_operator.timeline import Action, State, TableType, Timeline, TimelineZone
from hudi_operator.timeline.rules.counters import COMMITS
from hudi_operator.timeline.rules.file_sizes import summarise_files

CRD = Path(__file__).parents[2] / "crds" / "hudi-operator.io_huditables.yaml"
DEFINITION = yaml.load(CRD.read_text(), yaml.CSafeLoader)
SCHEMA = DEFINITION["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
MOST_BYTES = 256 * 1024

PENDING = [
    f"{action}.{state}"
    for action in ("deltacommit", "compaction", "logcompaction", "clustering", "clean", "rollback", "indexing")
    for state in ("requested", "inflight")
]
JOBS = ["flights-ingestion-0000000001", "flights-ingestion-0000000002", "flights-ingestion-0000000003"]
messages = st.one_of(st.text(max_size=30), st.integers(500, 6000).map(lambda length: "é" * length))
ages = st.sampled_from([0, 0.1, 1, 2, 5, 6, 60, 1000])
times = ages.map(lambda age: at(NOW - minutes(age)))
instants = st.builds(
    instant,
    st.integers(0, 10**9).map(lambda number: f"20260310{number:09d}"),
    st.sampled_from(Action),
    st.sampled_from(State),
)


@st.composite
def stories(draw: st.DrawFn) -> Timeline:
    """Timelines as tables have them: commits, and pending instants of every kind and state."""
    number, action = draw(st.sampled_from([0, 1, 5, 12, 35, 100])), draw(st.sampled_from(["deltacommit", "commit"]))
    pending = draw(st.lists(st.tuples(st.sampled_from(PENDING), st.integers(1, 300)), max_size=4))
    names = [done(action, 200 - index) for index in range(number)]
    names += [f"{ago(moment + 0.5)}.{kind}" for kind, moment in pending]
    clusterings = [ago(moment + 0.5) for kind, moment in pending if kind.startswith("clustering")]
    return story(
        *names,
        kind=draw(st.sampled_from(TableType)),
        zone=draw(st.sampled_from(TimelineZone)),
        clusterings=draw(st.sampled_from([clusterings, None])),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> TimelineSnapshot:
    trouble = draw(st.one_of(st.none(), st.sampled_from(TimelineTrouble)))
    if trouble is not None:
        return TimelineSnapshot(trouble=trouble, message=draw(messages))
    runs = draw(st.lists(st.tuples(st.sampled_from(JOBS), st.just("20260310115900000")), max_size=3))
    long = st.lists(instants, max_size=25).map(lambda found: timeline(*found))
    seen = draw(st.one_of(st.none(), long, stories()))
    commits = [one for one in seen.completed if one.action in COMMITS][-10:] if seen else []
    return TimelineSnapshot(
        timeline=seen,
        runs=tuple(runs),
        unmarked=tuple(commits[draw(st.integers(0, 10)) :]),
        files=draw(st.one_of(st.none(), st.just(summarise_files(())))),
        checkpoint=draw(st.one_of(st.none(), st.just("c" * 500))),
    )


outcomes = st.builds(
    JobOutcome,
    results=st.lists(
        st.builds(
            TaskResult,
            id=st.just("team-a/flights/ingestion"),
            outcome=st.sampled_from(Outcome),
            reason=st.one_of(st.none(), st.sampled_from(FailureReason)),
            message=messages,
            more_input=st.one_of(st.none(), st.booleans()),
            rows_read=st.one_of(st.none(), st.integers(0, 10**12)),
        ),
        max_size=2,
    ).map(tuple),
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[JobObservation, ...]:
    names = draw(st.lists(st.sampled_from(JOBS), unique=True, max_size=3))
    return tuple(
        job(
            name,
            uid=f"uid-{name}",
            service=draw(st.sampled_from(SERVICES)),
            phase=draw(st.sampled_from(JobPhase)),
            trouble=draw(st.one_of(st.none(), st.sampled_from(PodTrouble))),
            message=draw(messages),
            outcome=draw(st.one_of(st.none(), outcomes)),
            exit_code=draw(st.sampled_from([None, 0, 1, 3, 137])),
            image=draw(st.sampled_from([IMAGE, "another"])),
            created_at=NOW - minutes(draw(ages)),
        )
        for name in names
    )


runs = st.builds(
    run, st.sampled_from(Outcome), reason=st.sampled_from([None, *FailureReason, *PodTrouble]), started_at=times
)


counts = st.sampled_from([0, 0, 1, 2, 40])


@st.composite
def memories(draw: st.DrawFn, service: Service) -> ServiceStatus:
    failures, outside, conflicts = draw(counts), draw(counts), draw(counts)
    last = draw(st.one_of(st.none(), runs))
    return memory(
        last_run=last.copy_with(service=service) if last else None,
        failures=failures,
        infrastructure_failures=outside,
        conflicts=conflicts,
        failures_generation=draw(st.sampled_from([1, 2])) if failures + outside + conflicts else None,
        more_input=draw(st.booleans()) and service is Service.INGESTION,
        driver_memory=draw(st.sampled_from([None, "3072Mi", "64Gi"])),
        last_no_op_instant=draw(st.sampled_from([None, ago(1), "20260310115900000"])),
        due=draw(st.booleans()),
        due_since=draw(st.one_of(st.none(), times)),
    )


@st.composite
def statuses(draw: st.DrawFn) -> HudiTableStatus:
    services = {service.lower(): draw(memories(service)) for service in SERVICES if draw(st.booleans())}
    names = draw(st.lists(st.sampled_from(JOBS), unique=True, max_size=2))
    remembered = tuple(
        active(
            name,
            service=draw(st.sampled_from(SERVICES)),
            uid=draw(st.sampled_from([None, f"uid-{name}"])),
            started_at=draw(times),
            generation=draw(st.sampled_from([None, 1, 2])),
            state=draw(st.sampled_from(["Decided", *JobPhase, *PodTrouble])),
        )
        for name in names
    )
    return status(
        **services,
        active_jobs=remembered,
        history=tuple(draw(st.lists(runs, max_size=10))),
        observed_generation=draw(st.sampled_from([-1, 1, 2])),
        last_handled_reconcile_at=draw(st.sampled_from([None, "then"])),
    )


OPTIMISTIC = {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}
specs: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "suspend": st.booleans(),
        "managementPolicy": st.sampled_from(["Manage", "Observe"]),
        "type": st.sampled_from(["CopyOnWrite", "MergeOnRead"]),
        "concurrency": st.sampled_from([{}, OPTIMISTIC]),
        "clustering": st.sampled_from([{"mode": "Async"}, {"mode": "Inline"}]),
        "cleaning": st.sampled_from([{"mode": "Disabled"}, {"retainCommits": 3}]),
        "compaction": st.sampled_from([{}, {"trigger": {"strategy": "NumOrTime", "elapsed": "1h"}}]),
        "ingestion": st.sampled_from(
            [
                None,
                {"schedule": {"every": "1s"}},
                {"schedule": {"cron": "30 12 * * *"}},
                {"schedule": {"cron": "0 0 31 2 *"}},
            ]
        ),
    },
)
blockers = st.lists(
    st.builds(Blocker, reason=st.sampled_from(BlockerReason), message=messages, hides=st.booleans()), max_size=3
).map(tuple)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    known_class = draw(st.sampled_from([True, True, True, False]))
    found = draw(blockers)
    return observe(
        table(
            status=draw(statuses()),
            generation=draw(st.sampled_from([1, 2])),
            annotations=draw(
                st.sampled_from(
                    [
                        {},
                        {"hudi-operator.io/requested-at": "now"},
                        {"hudi-operator.io/requested-at": "then"},
                        {"hudi-operator.io/suspend": "maria"},
                    ]
                )
            ),
            **draw(specs),
        ),
        table_class=table_class(jobQuota={"runningJobs": 3}) if known_class else None,
        # The observer never loses a class without saying so.
        blockers=found if known_class else (*found, Blocker(reason=BlockerReason.CLASS_NOT_FOUND, message="Gone.")),
        snapshot=draw(snapshots()),
        jobs=draw(jobs()),
        namespace=draw(
            st.sampled_from([None, NamespaceObservation(), NamespaceObservation(), NamespaceObservation(suspension="")])
        ),
        running_in_class=draw(st.sampled_from([0, 3])),
    )


OF_A_TABLE = {
    ConditionType.READY,
    ConditionType.RECONCILING,
    ConditionType.STALLED,
    ConditionType.SUSPENDED,
    ConditionType.FRESH,
    ConditionType.HEALTHY,
}


def condition(after: HudiTableStatus, kind: ConditionType) -> Condition | None:
    return find_condition(after.conditions, kind)


def check_conformance(after: HudiTableStatus, *, generation: int) -> None:
    """Flux's conformance list, in its order."""
    types = [one.type for one in after.conditions]
    ready, stalled, reconciling = (
        condition(after, kind) for kind in (ConditionType.READY, ConditionType.STALLED, ConditionType.RECONCILING)
    )
    assert ready is not None, "Ready is always present"
    assert after.conditions[0] is ready
    assert set(types) <= OF_A_TABLE
    assert ConditionType.HEALTHY in types, "Healthy is always present"
    codes = [one.code for one in after.findings]
    assert len(codes) == len(set(codes)), "the list is a map by code"
    assert len(types) == len(set(types)), "the list is a map by type"
    assert stalled is None or stalled.status == "True", "Stalled stands only while true"
    assert reconciling is None or reconciling.status == "True", "Reconciling stands only while true"
    assert stalled is None or reconciling is None, "never both"
    assert stalled is None or ready.status == "False", "not ready while stalled"
    assert ready.status != "Unknown" or reconciling is not None, "an unknown Ready says that work continues"
    assert ready.status != "True" or (stalled is None and reconciling is None), "ready means done"
    assert after.observed_generation == generation
    assert {one.observed_generation for one in after.conditions} == {generation}


def check_storable(document: Mapping[str, Any]) -> None:
    """What the API server checks, and that it drops nothing: fields outside of the schema would be pruned."""
    jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(document)
    assert unknown_fields(document, SCHEMA) == []
    assert len(json.dumps(document, ensure_ascii=False).encode()) < MOST_BYTES


def unknown_fields(value: Any, schema: Mapping[str, Any], where: str = "status") -> list[str]:
    if isinstance(value, list):
        return [found for item in value for found in unknown_fields(item, schema["items"], where)]
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return []
    known = schema.get("properties", {})
    inner = [unknown_fields(value[key], known[key], f"{where}.{key}") for key in value if key in known]
    return [f"{where}.{key}" for key in value if key not in known] + list(chain.from_iterable(inner))


@given(observations())
def test_every_status_conforms(observation: Observation) -> None:
    check_conformance(status_of(observation), generation=observation.table.metadata.generation)


@given(observations())
def test_every_status_can_be_stored(observation: Observation) -> None:
    check_storable(status_of(observation).to_document())


@given(observations())
def test_every_status_is_read_back_as_it_was_written(observation: Observation) -> None:
    after = status_of(observation)
    assert HudiTableStatus.model_validate(after.to_document()) == after


@given(observations())
def test_a_reconcile_that_starts_nothing_changes_nothing_the_second_time(observation: Observation) -> None:
    """With a Job just launched the next reconcile has something new to say: that it runs. That one is repeated."""
    world = again(observation, status_of(observation))
    if any(isinstance(action, LaunchJob) for action in plan_for(observation).actions):
        world = again(world, status_of(world))
    after = status_of(world)
    assert after == world.table.status
    assert transitions(world.table.status, after) == ()


def moments_of(service: ServiceStatus) -> list[datetime]:
    named = (parse_time(service.next_run_at), parse_time(service.next_attempt_at))
    return [moment for moment in named if moment is not None]


@given(observations(), st.floats(0, 0.999))
def test_nothing_is_written_before_the_next_reconcile_while_nothing_happens(
    observation: Observation, part: float
) -> None:
    """The status of an unchanged world is the same to the byte at any later moment before the next reconcile is due.

    A schedule that comes due while something keeps its service from starting is shown by the next reconcile alone.
    """
    world = again(observation, status_of(observation))
    if any(isinstance(action, LaunchJob) for action in plan_for(observation).actions):
        world = again(world, status_of(world))
    plan = plan_for(world)
    named = [moment for service in SERVICES for moment in moments_of(plan.services.of(service)) if moment > NOW]
    pauses = [requeue_after(plan, poll=30), *((moment - NOW).total_seconds() for moment in named)]
    later = NOW + timedelta(seconds=min(pauses) * part)
    assert json.dumps(status_of(world, now=later).to_document()) == json.dumps(world.table.status.to_document())


@given(observations())
def test_every_status_after_a_long_time_conforms(observation: Observation) -> None:
    world = again(observation, status_of(observation))
    check_conformance(status_of(world, now=NOW + minutes(10**5)), generation=observation.table.metadata.generation)


@given(observations())
def test_a_launch_is_never_repeated_by_the_next_reconcile(observation: Observation) -> None:
    """On an optimistic table the next reconcile may start another service beside the one that was launched."""
    world = again(observation, status_of(observation))
    launched, repeated = (
        {action.job.service for action in plan_for(seen).actions if isinstance(action, LaunchJob)}
        for seen in (observation, world)
    )
    assert not launched & repeated


@given(observations())
def test_a_job_starts_only_beside_what_it_may_run_beside(observation: Observation) -> None:
    plan = plan_for(observation)
    launches = [action.job for action in plan.actions if isinstance(action, LaunchJob)]
    if launches:
        if observation.table.spec.concurrency.mode == "Serialized":
            assert [one.name for one in plan.active_jobs] == [launches[0].name]
            assert all(one.phase is JobPhase.OVER for one in observation.jobs)
        for one in launches:  # a status may hold more Jobs than ever were decided together
            is_ingestion = one.service == "Ingestion"
            assert [each.name for each in plan.active_jobs if (each.service == "Ingestion") is is_ingestion] == [
                one.name
            ]
        assert plan.foreign == ()
        assert not observation.blockers
        assert observation.snapshot.trouble is None
        assert observation.suspended_by is None
        assert observation.table.spec.management_policy == "Manage"


@given(observations())
def test_every_job_that_is_not_over_is_active_and_every_active_one_may_exist(observation: Observation) -> None:
    plan = plan_for(observation)
    names = [one.name for one in plan.active_jobs]
    assert len(names) == len(set(names))
    assert {one.name for one in observation.jobs if one.phase is not JobPhase.OVER} <= set(names)
    assert not {one.job for one in plan.finished} & set(names)


@given(observations())
def test_no_remembered_job_is_forgotten_without_an_end(observation: Observation) -> None:
    plan = plan_for(observation)
    kept = {one.name for one in plan.active_jobs} | {one.job for one in plan.finished}
    known = {one.name for one in observation.table.status.active_jobs if one.uid is not None}
    assert known <= kept


@given(observations(), messages)
def test_the_status_after_a_refusal_conforms_and_is_confirmed_by_the_next_reconcile(
    observation: Observation, message: str
) -> None:
    plan = plan_for(observation)
    for action in plan.actions:
        if not isinstance(action, LaunchJob):
            continue
        after_refusal = refused(plan, action.job, message=message, now=NOW)
        written = after_refusal.status
        check_conformance(written, generation=observation.table.metadata.generation)
        check_storable(written.to_document())
        world = again(observation, written)
        if not any(isinstance(later, LaunchJob) for later in plan_for(world).actions):
            assert status_of(world) == written


@given(observations(), messages)
def test_the_status_of_a_spec_that_cannot_be_read_conforms(observation: Observation, message: str) -> None:
    before = status_of(observation)
    invalid = InvalidObject(metadata=observation.table.metadata, message=message, status=before)
    after = build_invalid_status(invalid, now=NOW)

    check_conformance(after, generation=observation.table.metadata.generation)
    check_storable(after.to_document())
    assert after.active_jobs == before.active_jobs
    repeated = InvalidObject(metadata=observation.table.metadata, message=message, status=after)
    assert build_invalid_status(repeated, now=NOW + minutes(1)) == after


@given(observations(), observations())
def test_events_can_be_posted_for_every_change(one: Observation, other: Observation) -> None:
    for event in transitions(status_of(one), status_of(other)):
        assert event.reason.isalnum()
        assert len(event.reason) <= 128


def test_the_largest_status_stays_far_below_the_limit_of_an_object() -> None:
    waiting = [instant(f"202603110{number:08d}", Action.REPLACE_COMMIT, State.REQUESTED) for number in range(5000)]
    endless = "é" * 6000
    history = tuple(run(Outcome.FAILED, job="j" * 63, message="é" * 1000) for _ in range(10))
    before = status(history=history, active_jobs=tuple(active(f"job-{number}") for number in range(8)))
    after = status_of(
        observe(
            table(status=before),
            blockers=tuple(Blocker(reason=reason, message=endless) for reason in BlockerReason),
            jobs=tuple(job(f"job-{number}", phase=JobPhase.STARTING, message=endless) for number in range(8)),
            snapshot=TimelineSnapshot(timeline=timeline(*waiting)),
        )
    )
    check_storable(after.to_document())


@pytest.mark.parametrize(
    "broken",
    [
        {"observedGeneration": "one"},
        {"conditions": [{"type": "Ready"}]},
        {"jobs": [{"name": "x" * 64, "attempt": 1, "startedAt": "2026-03-10T12:00:00Z", "state": "Running"}]},
        {"services": {"ingestion": {"message": "x" * 1025}}},
        {"services": {"ingestion": {"nextRunAt": "tomorrow"}}},
        {"timeline": {"instants": [{"time": "1", "action": "commit", "state": "COMPLETED"}] * 11}},
        {"surprise": 1},
    ],
)
def test_the_check_itself_refuses_what_the_api_server_would_refuse_or_drop(broken: dict[str, Any]) -> None:
    with pytest.raises((jsonschema.ValidationError, AssertionError)):
        check_storable(broken)
