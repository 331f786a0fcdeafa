"""Erasures of an upstream table that the ingestion of a table has still to read past."""

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import HudiSource
from hudi_jobs.ingestion.checkpoint import newest_progress
from hudi_jobs.ingestion.sources.hudi.commits import unread
from hudi_jobs.ingestion.sources.hudi.removals import Erasure
from hudi_jobs.ingestion.sources.hudi.state import KIND, UpstreamProgress
from hudi_jobs.ingestion.sources.hudi.upstream import Upstream, looking_at
from hudi_jobs.table import HudiTable


def unread_erasures(context: TaskContext, table: HudiTable, path: str) -> list[Erasure]:
    """Return the erasures among the unread commits of the table at a path.

    None if nothing was read yet, because a first run reads the rows as they are then.
    """
    checkpoint = newest_progress(table)
    if checkpoint is None or checkpoint.kind != KIND:
        return []
    before, upstream = UpstreamProgress.of(checkpoint), Upstream.open(context.spark, HudiSource(path=path))
    with looking_at(path):
        look = upstream.look()
        archived = upstream.archived(before.through, ())
        removals = upstream.removals(unread(look, archived, before.read))
        return [one.erased for one in removals if one.erased is not None]
