"""Prepares Spark's event log of a run, or leaves it out where its folder cannot be made."""

import logging
from collections.abc import Mapping

from hudi_jobs.lease.stores import make_folder
from hudi_jobs.spark.session import hadoop_setting

_ENABLED = "spark.eventLog.enabled"
_FOLDER = "spark.eventLog.dir"

_LOGGER = logging.getLogger(__name__)


def with_event_log(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session, with its event log switched off if its folder cannot be made.

    Spark does not start with an event log in a missing folder, and a run must not fail for its event log.
    """
    found = dict(settings)
    folder = found.get(_FOLDER)
    if found.get(_ENABLED) != "true" or folder is None:
        return found
    try:
        make_folder(folder, lambda key: hadoop_setting(found, key))
    except Exception:
        _LOGGER.warning("the run has no event log: its folder cannot be made", exc_info=True)
        found[_ENABLED] = "false"
    return found
