"""Finds the upstream erasures that an erasure of a derived table follows: earlier erasures of the same keys.

Keys are the same only when both tables have the same record key fields: the operator checks this for a cascaded
erasure, the driver for any other.
"""

import re
from collections.abc import Iterable

from hudi_jobs.contract.operations.erase import DIGEST, UID, EraseTask
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.hudi.erasures import unread_erasures
from hudi_jobs.ingestion.sources.hudi.removals import Erasure
from hudi_jobs.ingestion.sources.hudi.upstream import looking_at
from hudi_jobs.operations.erase.keys import Keys, digests_of, key_fields
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.table import HudiTable

MOST_COMPARED = 1_000
"""Most upstream erasures to recompute digests for; 100,000 keys take some milliseconds each."""


def followed_by(work: OperationRun, erase: EraseTask, keys: Keys) -> tuple[str, ...]:
    """Return the digests of the upstream erasures that this erasure follows.

    When an operation replaces an operation that failed midway, the rows are already gone upstream, and the commit of
    the first operation is still to be read. An unreadable upstream table does not stop the erasure.
    """
    found: list[Erasure] = []
    if erase.upstream is not None:
        try:
            if erase.cascaded_from is not None or _has_same_fields(work, erase.upstream, keys):
                found = unread_erasures(work.context, work.table, erase.upstream)
        except TaskFailed as error:
            work.context.log("the erasures of the upstream table are not known", reason=error.reason)
    return matching(keys, erase.cascaded_from, found)


def _has_same_fields(work: OperationRun, upstream: str, keys: Keys) -> bool:
    with looking_at(upstream):  # `HudiTable.open` would remove leftovers of killed writers, maybe of another team
        return set(key_fields(HudiTable.at(work.context.spark, upstream))) == {*keys.fields}


def matching(keys: Keys, cascaded_from: str | None, found: Iterable[Erasure]) -> tuple[str, ...]:
    """Return the digest of the erasure that cascaded to this erasure, and of others with the same keys."""
    told = [one for one in found if re.fullmatch(DIGEST, one.digest) and re.fullmatch(UID, one.uid)]
    first = () if cascaded_from is None else (cascaded_from,)
    uids = list(dict.fromkeys((*first, *(one.uid for one in told))))[: MOST_COMPARED + 1]
    made = digests_of(keys.fields, keys.values, uids)
    digests = {*(one.digest for one in told), *made[: len(first)]}
    return tuple(each for each in made if each in digests)
