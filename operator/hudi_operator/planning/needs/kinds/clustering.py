"""Whether a clustering is due: `ClusteringPlanActionExecutor.createClusteringPlan` of Hudi 1.2.0."""

from hudi_jobs.contract import RunMode
from hudi_operator.planning.model.decision import Decision, by_count, uncertain, unless_hudi_fails
from hudi_operator.planning.needs.view import ServiceView, finish_left_over, finish_pending


def evaluate(view: ServiceView) -> Decision:
    """Return whether a pending clustering has to be handled or a new clustering planned.

    A run executes a requested clustering. An inflight clustering is never executed again: its run rolls it back and
    plans again.
    """
    counters = view.timeline.counters
    if counters.pending_clusterings is None:
        return uncertain("Commits since the latest clustering")
    pending = finish_pending(view, counters.pending_clusterings)
    if pending is not None:
        return pending
    counting = by_count(
        counters.commits_since_clustering,
        view.spec.clustering.trigger.commits,
        what="commits since the latest clustering",
        bounds=counters.commits_since_clustering_bounds,
        run_mode=RunMode.SCHEDULE_AND_EXECUTE,
    )
    return unless_hudi_fails(counting, unreadable=counting.bounds is not None)


def left_over(view: ServiceView) -> Decision | None:
    """Roll back a pending clustering although the spec disables clustering, without a new plan."""
    plan = next(iter(view.pending), None)
    return None if plan is None else finish_left_over(view, plan, what="rolled back", run_mode=RunMode.ROLL_BACK)
