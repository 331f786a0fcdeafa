"""The plan of a move as text, and the steps to another cluster."""

from collections.abc import Iterator

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.move.moved_objects import suspension_on
from hudi_operator.cli.move.obstacles import losses
from hudi_operator.cli.move.places import Found, Route, names
from hudi_operator.cli.render.text import Tone, heading, toned
from hudi_operator.cli.render.view import TableView


def plan_text(route: Route, found: Found, *, colour: bool) -> str:
    """Return what a move would do, what it loses, and what forbids it."""
    return "\n".join(_lines(route, found, colour=colour))


def _lines(route: Route, found: Found, *, colour: bool) -> Iterator[str]:
    yield heading(escaped(_title(route)), colour=colour)
    for number, step in enumerate(_steps(route, found), start=1):
        yield f"  {number}. {escaped(step)}"
    if found.losses:
        yield "  Lost with the status of the old table:"
        yield from (f"    - {escaped(one)}" for one in found.losses)
    yield from (f"  Note: {escaped(one)}" for one in found.notes)
    yield from (f"  {toned('refused', Tone.BAD, colour=colour)} {escaped(one)}" for one in found.refusals)


def _title(route: Route) -> str:
    to_class = f"class {route.table_class}" if route.table_class else ""
    to_namespace = "" if route.is_class_alone else f"namespace {route.target}"
    return f"HudiTable {route.old} to {' and '.join(filter(None, (to_namespace, to_class)))}"


def _steps(route: Route, found: Found) -> Iterator[str]:
    if route.is_class_alone:
        yield f"Set spec.tableClassName to {route.table_class}. Running Jobs finish as they began."
        return
    if found.old is not None:
        yield f"Suspend {route.old}, and wait until it has no Job."
        if found.new is None:
            yield f"Create {route.new}, suspended, and wait until the operator accepts it."
        if found.savepoints:
            yield (
                f"Declare HudiSavepoint {', '.join(names(found.savepoints))} in {route.target}, and delete the old "
                "resource: the savepoints stay in the folder. An expiry counts from the new creation."
            )
        yield f"Delete {route.old}; its data stays. Wait until the operator has released the folder."
    kept = found.old is not None and suspension_on(found.old)
    yield f"{'Leave' if kept else 'Resume'} {route.new}{', suspended as the old table was' if kept else ''}."


def cluster_steps(view: TableView, *, program: str) -> str:
    """Return the steps that bring a table to another cluster, with its own names."""
    name, namespace = view.metadata.name, view.metadata.namespace
    owner = view.status.owner.operator if view.status.owner is not None else "OPERATOR"
    steps = (
        f"HudiTable {view.name} to another cluster, by the YAML on standard output:",
        f"  1. Here: set managementPolicy: Observe on {view.name} and wait: "
        f"{program} wait {name} -n {namespace} --for idle",
        "  2. There: apply the YAML. The table is Stalled with OwnedElsewhere, and its message names this operator.",
        f"  3. There: create a HudiOperation with takeOver: {{owner: {owner}}}",
        f"  4. Here: set deletionPolicy: Retain on {view.name}, and delete it.",
        "  Lost with the status of the old table:",
        *(f"    - {one}" for one in losses(view)),
    )
    return "\n".join(map(escaped, steps))
