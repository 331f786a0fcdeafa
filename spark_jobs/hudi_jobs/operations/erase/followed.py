"""Which erasures of the upstream table one of a derived table follows: those of the same keys, done before it."""

import re
from collections.abc import Iterable

from hudi_jobs.contract.operations.erase import DIGEST, UID, EraseTask
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.hudi.erasures import unread_erasures
from hudi_jobs.ingestion.sources.hudi.removals import Erasure
from hudi_jobs.operations.erase.keys import Keys, digests_of
from hudi_jobs.operations.work import Work

MOST_COMPARED = 1_000
"""Erasures whose digests are made again: of 100,000 keys each takes some milliseconds."""


def followed_by(work: Work, erase: EraseTask, keys: Keys) -> tuple[str, ...]:
    """Return the digests of the erasures that a cascaded one follows, none of one that nobody has cascaded.

    An operation that is made after another has failed midway finds no rows upstream, so it is the commit of the former
    one that is still to be read. Where the upstream table cannot be read, the keys are erased all the same.
    """
    if erase.cascaded_from is None:
        return ()
    found: list[Erasure] = []
    if erase.upstream is not None:
        try:
            found = unread_erasures(work.context, work.table, erase.upstream)
        except TaskFailed as error:
            work.context.log("the erasures of the upstream table are not known", reason=error.reason)
    return matching(keys, erase.cascaded_from, found)


def matching(keys: Keys, cascaded_from: str, found: Iterable[Erasure]) -> tuple[str, ...]:
    """Return the digest in the erasure that this one was cascaded from, and those of others with the same keys."""
    told = [one for one in found if re.fullmatch(DIGEST, one.digest) and re.fullmatch(UID, one.uid)]
    uids = list(dict.fromkeys((cascaded_from, *(one.uid for one in told))))[: MOST_COMPARED + 1]
    first, *others = digests_of(keys.fields, keys.values, uids)
    digests = {one.digest for one in told}
    return (first, *(each for each in others if each in digests))
