"""The plan of files as text."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.plan.decision import Decision
from hudi_operator.cli.plan.files import Resource
from hudi_operator.cli.render.text import Tone, heading, toned, value_as


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A resource of a file with everything that was found about it; `live` is None without a look at the cluster."""

    resource: Resource
    problems: tuple[str, ...] = ()
    defaults: Mapping[str, Any] | None = None
    decision: Decision | None = None
    unchecked: str | None = None
    live: "Live | None" = None

    @property
    def is_refused(self) -> bool:
        """Whether the API server or the operator would refuse it."""
        told = self.live is not None and self.live.refusal is not None
        return bool(self.problems or told or (self.decision is not None and self.decision.refusals))


@dataclass(frozen=True, kw_only=True)
class Live:
    """The answer of the cluster to a resource: the specs before and after, or why the API server refuses it."""

    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    refusal: str | None = None


def plan_text(planned: Planned, *, colour: bool) -> str:
    """Return the plan of a resource."""
    return "\n".join(_lines(planned, colour=colour))


def _lines(planned: Planned, *, colour: bool) -> Iterator[str]:
    one = planned.resource
    yield heading(escaped(f"{one.file}: {one.kind} {one.name}"), colour=colour)
    for problem in planned.problems:
        yield f"  {toned('invalid', Tone.BAD, colour=colour)} {escaped(problem)}"
    if planned.live is not None:
        yield from _live(planned.live, one, colour=colour)
    if planned.unchecked:
        yield f"  {toned('unchecked', Tone.WARN, colour=colour)} {escaped(planned.unchecked)}"
    if planned.decision is not None:
        yield from _decision(planned.decision, colour=colour)
    if planned.defaults:
        yield "  Defaults in force:"
        yield from (f"    {path}: {escaped(value_as(value, 'json'))}" for path, value in planned.defaults.items())
    if not planned.is_refused:
        yield f"  {toned('ok', Tone.GOOD, colour=colour)}"


def _decision(decision: Decision, *, colour: bool) -> Iterator[str]:
    for refusal in decision.refusals:
        yield f"  {toned('refused', Tone.BAD, colour=colour)} {escaped(refusal)}"
    yield from (f"  Note: {escaped(note)}" for note in decision.notes)
    if decision.first is not None and decision.first.service is not None:
        yield f"  First, on a new table: {decision.first.service}, with image {escaped(decision.image)}"
    elif not decision.refusals:
        yield "  First, on a new table: nothing starts"
    shown = {} if decision.refusals else decision.services
    for name, service in shown.items():
        yield f"    {name}: {service.reason}{f': {escaped(service.message)}' if service.message else ''}"


def _live(live: Live, resource: Resource, *, colour: bool) -> Iterator[str]:
    if live.refusal is not None:
        yield f"  {toned('refused', Tone.BAD, colour=colour)} {escaped(live.refusal)}"
        return
    if live.before is None:
        yield f"  The cluster has no {resource.kind} {escaped(resource.name)} yet."
        return
    before, after = (value_as(one or {}, "yaml").splitlines() for one in (live.before, live.after))
    changes = list(difflib.unified_diff(before, after, "in the cluster", "in the file", lineterm="", n=1))
    yield "  Difference to the cluster:" if changes else "  The cluster has the same spec."
    tones = {"+": Tone.GOOD, "-": Tone.BAD}
    yield from (f"    {toned(line, tones.get(line[:1]), colour=colour)}" for line in changes)
