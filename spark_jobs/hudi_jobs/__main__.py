"""The program of a job's pod: `python3 -m hudi_jobs`.

The program reads the request from the file in `HUDI_JOB_REQUEST`, runs it, and writes the outcome to the file in
`HUDI_JOB_OUTCOME`, the container's termination message. Exit code 0: every task succeeded or had nothing to do; 1: a
task failed, or the request could not be read. The operator believes the timeline, not the exit code.
"""

import logging
import os
import signal
import sys
from pathlib import Path

from pydantic import ValidationError

from hudi_jobs.contract import WHOLE_REQUEST, FailureReason, JobOutcome, JobRequest, Outcome, TaskResult, encode_outcome
from hudi_jobs.driver import Driver
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.logs import Redactor, configure_logging, redactor_of
from hudi_jobs.spark.session import open_session

_REQUEST_FILE = "/etc/hudi-job/request.json"
_OUTCOME_FILE = "/dev/termination-log"
_SHOWN = 5
_LOGGER = logging.getLogger("hudi_jobs.main")


def main() -> int:
    """Run the request and return the exit code."""
    redactor = Redactor([os.environ])
    configure_logging(redactor)
    reach(Phase.STARTED)
    try:
        request = JobRequest.model_validate_json(Path(os.environ.get("HUDI_JOB_REQUEST", _REQUEST_FILE)).read_bytes())
    except (OSError, ValidationError) as error:
        return _finish(_unreadable(error), redactor)
    redactor = redactor_of(request)
    configure_logging(redactor)
    driver = Driver(request, open_session)
    signal.signal(signal.SIGTERM, lambda *_: driver.stop())
    try:
        return _finish(driver.run(), redactor)
    finally:
        driver.close()


def _unreadable(error: Exception) -> JobOutcome:
    result = TaskResult(
        id=WHOLE_REQUEST,
        outcome=Outcome.FAILED,
        reason=FailureReason.INVALID_REQUEST,
        message=f"The driver cannot read its request: {_told(error)}. Run the image of the operator's release.",
    )
    return JobOutcome(results=(result,))


def _told(error: Exception) -> str:
    """Return the problem of a request, without its values: they may be keys to erase."""
    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:_SHOWN])


def _finish(outcome: JobOutcome, redactor: Redactor) -> int:
    cleaned = [result.copy_with(message=redactor.clean(result.message)) for result in outcome.results]
    outcome = JobOutcome(results=tuple(cleaned))
    _LOGGER.info("outcome", extra={"fields": {"outcome": outcome.model_dump(by_alias=True, exclude_none=True)}})
    reach(Phase.BEFORE_OUTCOME)
    Path(os.environ.get("HUDI_JOB_OUTCOME", _OUTCOME_FILE)).write_text(encode_outcome(outcome), encoding="utf-8")
    return 1 if any(result.outcome is Outcome.FAILED for result in outcome.results) else 0


if __name__ == "__main__":
    sys.exit(main())
