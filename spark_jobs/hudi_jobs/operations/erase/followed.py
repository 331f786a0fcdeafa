"""Which erasures of the upstream table one of a derived table follows: those of the same keys, done before it.

Values are the same keys only where both tables have the same record key fields: of a cascaded erasure the operator has
seen that, of another one the driver does.
"""

import re
from collections.abc import Iterable

from hudi_jobs.contract.operations.erase import DIGEST, UID, EraseTask
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.hudi.erasures import unread_erasures
from hudi_jobs.ingestion.sources.hudi.removals import Erasure
from hudi_jobs.ingestion.sources.hudi.upstream import looking_at
from hudi_jobs.operations.erase.keys import Keys, digests_of, key_fields
from hudi_jobs.operations.work import Work
from hudi_jobs.table import HudiTable

MOST_COMPARED = 1_000
"""Erasures whose digests are made again: of 100,000 keys each takes some milliseconds."""


def followed_by(work: Work, erase: EraseTask, keys: Keys) -> tuple[str, ...]:
    """Return the digests of the upstream erasures that this one follows.

    An operation that is made after another has failed midway finds no rows upstream, so it is the commit of the former
    one that is still to be read. Where the upstream table cannot be read, the keys are erased all the same.
    """
    found: list[Erasure] = []
    if erase.upstream is not None:
        try:
            if erase.cascaded_from is not None or _has_same_fields(work, erase.upstream, keys):
                found = unread_erasures(work.context, work.table, erase.upstream)
        except TaskFailed as error:
            work.context.log("the erasures of the upstream table are not known", reason=error.reason)
    return matching(keys, erase.cascaded_from, found)


def _has_same_fields(work: Work, upstream: str, keys: Keys) -> bool:
    with looking_at(upstream):  # `HudiTable.open` would remove what a killed writer has left there, maybe of others
        return set(key_fields(HudiTable.at(work.context.spark, upstream))) == {*keys.fields}


def matching(keys: Keys, cascaded_from: str | None, found: Iterable[Erasure]) -> tuple[str, ...]:
    """Return the digest in the erasure that this one was cascaded from, and those of others with the same keys."""
    told = [one for one in found if re.fullmatch(DIGEST, one.digest) and re.fullmatch(UID, one.uid)]
    first = () if cascaded_from is None else (cascaded_from,)
    uids = list(dict.fromkeys((*first, *(one.uid for one in told))))[: MOST_COMPARED + 1]
    made = digests_of(keys.fields, keys.values, uids)
    digests = {*(one.digest for one in told), *made[: len(first)]}
    return tuple(each for each in made if each in digests)
