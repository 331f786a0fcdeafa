"""Resources in each state that a GitOps tool tells apart, with the status that the operator writes.

`python -m tests.gitops.states` writes them in the form of Argo CD's repository after a change of the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from tests.gitops.health import ARGO, FOLDER, SCRIPT, health_of
from tests.planning.operations.operations import entry as operation_entry
from tests.planning.operations.operations import operation
from tests.planning.savepoints.savepoints import entry as savepoint_entry
from tests.planning.savepoints.savepoints import savepoint
from tests.planning.world import (
    JOB,
    NOW,
    active,
    after_failures,
    ago,
    at,
    job,
    memory,
    minutes,
    observe,
    run,
    snapshot,
    status,
    status_of,
    table,
    table_class,
)

from hudi_jobs.contract import FailureReason
from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.api.status.conditions import HudiTableClassStatus
from hudi_operator.api.status.table_parts import BadRowsStatus
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    JobPhase,
    Observation,
    PodTrouble,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.outcome.status.class_status import build_class_status
from hudi_operator.planning.outcome.status.operation_status import decide_operation
from hudi_operator.planning.outcome.status.savepoint_status import decide_savepoint

KINDS = ("HudiTable", "HudiTableClass", "HudiSavepoint", "HudiOperation")
_READ_BEFORE = snapshot((JOB, ago(1)))
_LAST = memory(last_run=run(message="Read 20 rows of 1 file, 0 quarantined."))


class State(NamedTuple):
    """A resource in a state, and the status that Argo CD gives it."""

    name: str
    document: dict[str, Any]
    expected: str


def states() -> tuple[State, ...]:
    """Return every state, each with a name of its own."""
    return (*_tables(), *_classes(), *_savepoints(), *_operations())


def _document(kind: str, name: str, written: dict[str, Any], *, generation: int = 1) -> dict[str, Any]:
    """Return the part of a resource that health checks read."""
    parts = {key: written[key] for key in ("observedGeneration", "conditions") if key in written}
    return {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "generation": generation},
        **({"status": parts} if parts else {}),
    }


def _tables() -> Iterator[State]:
    def state(name: str, expected: str, seen: Observation) -> State:
        return State(f"table-{name}", _document("HudiTable", "flights", status_of(seen).to_document()), expected)

    def blocked(reason: BlockerReason, message: str) -> Observation:
        return observe(blockers=(Blocker(reason=reason, message=message),), snapshot=TimelineSnapshot())

    yield State("table-new", _document("HudiTable", "flights", {}), "Progressing")
    yield state("first-run", "Progressing", observe())
    after = observe(table(status=status(ingestion=_LAST)), snapshot=_READ_BEFORE)
    yield state("up-to-date", "Healthy", after)
    changed = _document("HudiTable", "flights", status_of(after).to_document(), generation=2)
    yield State("table-spec-changed", changed, "Progressing")
    yield state("path-not-allowed", "Degraded", blocked(BlockerReason.PATH_NOT_ALLOWED, "The path is not allowed."))
    yield state("path-claimed", "Degraded", blocked(BlockerReason.PATH_CLAIMED, "Another table has the path."))
    failing = after_failures(1, reason=FailureReason.SOURCE_UNREADABLE, message="The source cannot be read.")
    yield state("retry", "Progressing", observe(table(status=status(ingestion=failing)), snapshot=_READ_BEFORE))
    hopeless = after_failures(1, reason=FailureReason.SCHEMA_INCOMPATIBLE, message="Column fare has another type.")
    yield state("stalled", "Degraded", observe(table(status=status(ingestion=hopeless)), snapshot=_READ_BEFORE))
    waiting = job(phase=JobPhase.STARTING, trouble=PodTrouble.UNSCHEDULABLE, message="0/3 nodes are available.")
    at_work = table(status=status(active_jobs=(active(started_at=at(NOW - minutes(2))),)))
    yield state("unschedulable", "Progressing", observe(at_work, jobs=(waiting,)))
    yield state("suspended", "Suspended", observe(table(suspend=True, status=status(ingestion=_LAST))))
    yield state("suspended-failing", "Suspended", observe(table(suspend=True, status=status(ingestion=failing))))
    unreachable = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="The store does not answer.")
    yield state("store-unavailable", "Progressing", observe(snapshot=unreachable))
    corrupt = TimelineSnapshot(trouble=TimelineTrouble.CORRUPT, message="hoodie.properties cannot be read.")
    yield state("timeline-corrupt", "Progressing", observe(snapshot=corrupt))
    bad = status(ingestion=_LAST, bad_rows=BadRowsStatus(total=50, since=at(NOW - minutes(9))))
    yield state("bad-rows", "Healthy", observe(table(status=bad), snapshot=_READ_BEFORE))
    yield state("observed-missing", "Degraded", observe(table(managementPolicy="Observe", ingestion=None)))


def _classes() -> Iterator[State]:
    def state(name: str, expected: str, parsed: HudiTableClass) -> State:
        written = build_class_status(parsed, HudiTableClassStatus(), now=NOW).to_document()
        return State(f"class-{name}", _document("HudiTableClass", "standard", written), expected)

    yield state("accepted", "Healthy", _class())
    yield state("unsafe", "Healthy", _class(allowedSparkConf=["spark.jars"]))
    yield state("invalid", "Degraded", _class(allowedBasePaths=["s3://lake/{tenant}/"]))


def _class(**changes: Any) -> HudiTableClass:
    made = table_class(**changes)
    return made.copy_with(metadata=made.metadata.copy_with(generation=1))


def _savepoints() -> Iterator[State]:
    since = at(NOW - minutes(50))
    for name, expected, entry in (
        ("waiting", "Progressing", savepoint_entry(state="Waiting", reason="Waiting", message="Waiting for a run.")),
        ("kept", "Healthy", savepoint_entry(since=since, state="Kept", reason="Savepointed", message="It is kept.")),
        ("lost", "Degraded", savepoint_entry(state="Lost", reason="SavepointLost", message="The savepoint is gone.")),
        ("expired", "Healthy", savepoint_entry(since=since, state="Removed", reason="Expired", message="Expired.")),
    ):
        spec = {"expiresAfter": "30m"} if name == "expired" else {}
        step = decide_savepoint(
            savepoint(**spec), table(status=status(savepoints=(entry.copy_with(instant=ago(20)),))), now=NOW
        )
        assert step.status is not None
        yield State(f"savepoint-{name}", _document("HudiSavepoint", "daily", step.status.to_document()), expected)


def _operations() -> Iterator[State]:
    for phase, expected in (
        ("Pending", "Progressing"),
        ("AwaitingApproval", "Suspended"),
        ("Running", "Progressing"),
        ("Succeeded", "Healthy"),
        ("Failed", "Degraded"),
    ):
        known = operation_entry(state=phase, reason=phase, message=f"The operation is {phase}.")
        step = decide_operation(operation(), _saying(known), now=NOW)
        assert step.status is not None
        yield State(
            f"operation-{phase.lower()}", _document("HudiOperation", "back", step.status.to_document()), expected
        )


def _saying(known: Any) -> HudiTable:
    return table(status=status(operations=(known,)))


def files() -> dict[str, str]:
    """Return the recorded resources, and the list of what Argo CD's repository expects of each, by file name."""
    found = states()
    tests = [
        {
            "healthStatus": health_of(one.document)._asdict(),
            "inputPath": f"testdata/{one.name}.yaml",
        }
        for one in found
    ]
    recorded = {f"testdata/{one.name}.yaml": _yaml(one.document) for one in found}
    return {**recorded, "health_test.yaml": _yaml({"tests": tests})}


def config_map() -> str:
    """Return the part of the ConfigMap `argocd-cm` with the script for each kind."""
    script = "".join(f"    {line}\n" if line else "\n" for line in SCRIPT.read_text().splitlines())
    keys = (f"  resource.customizations.health.hudi-operator.io_{kind}: |\n{script}" for kind in KINDS)
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\n  namespace: argocd\ndata:\n"
    return head + "".join(keys)


def _yaml(document: Any) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=1000, allow_unicode=True)


if __name__ == "__main__":
    for old in (FOLDER / "testdata").glob("*.yaml"):
        old.unlink()
    for name, content in files().items():
        (FOLDER / name).write_text(content)
    (ARGO / "argocd-cm.yaml").write_text(config_map())
