"""Determines the fate of pending instants by comparing the timeline before and after a run.

Hudi rolls back and finishes pending instants inside many of its calls, and reports that only in its log. The end of an
instant is attributed to this run only if no one else can have worked on it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import AffectedInstant, Effect, Service
from hudi_jobs.services.others import Others
from hudi_jobs.services.timeline import Begun, Timeline

_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_CLUSTERED = frozenset({"clustering", "replacecommit"})
_LOGGER = logging.getLogger(__name__)


@contextmanager
def noting_affected(
    context: TaskContext, load_timeline: Callable[[], Timeline], *, before: Timeline | None = None
) -> Iterator[None]:
    """Record in the context the fate of every pending instant, whether the work succeeds or fails.

    `before` is the current timeline, if it has just been read.
    """
    before = before or load_timeline()
    begun = before.begun()
    try:
        yield
    finally:
        if begun:
            _note(context, begun, before, load_timeline)


def _note(context: TaskContext, begun: list[Begun], before: Timeline, load_timeline: Callable[[], Timeline]) -> None:
    """Compare with the timeline afterwards. If it cannot be read, the work's own failure is still reported."""
    try:
        found = _affected(context, begun, dict(before.completed()), load_timeline())
    except Exception:
        _LOGGER.warning("what became of pending instants is not known", exc_info=True)
        return
    if found:
        context.log("instants of others were dealt with", instants=[one.model_dump(mode="json") for one in found])
    context.affected.extend(found)


def _affected(context: TaskContext, begun: list[Begun], done: dict[str, str], after: Timeline) -> list[AffectedInstant]:
    others, completed, pending = Others(context), dict(after.completed()), after.begun()
    still, known = {each.instant for each in pending}, {each.instant for each in begun} | done.keys()
    actions = [each.action for each in pending if each.instant not in known]
    actions += [action for time, action in completed.items() if time not in known]
    replanned = context.task.service is Service.CLUSTERING and not _CLUSTERED.isdisjoint(actions)
    found = []
    for each in begun:
        if each.instant in still or not others.decides_about(each):
            continue
        if each.instant not in completed:
            again = replanned and each.plan is not None and each.action in _CLUSTERED
            found.append(_reported(each, Effect.REPLANNED if again else Effect.ROLLED_BACK, others))
        elif each.plan is not None or each.action not in _WRITES:
            # Only its own writer completes a write.
            found.append(_reported(each, Effect.FINISHED, others))
    return found


def _reported(each: Begun, effect: Effect, others: Others) -> AffectedInstant:
    run = each.plan.run if each.plan is not None and others.is_ours(each.plan) else None
    return AffectedInstant(instant=each.instant, action=each.action, effect=effect, run=run)
