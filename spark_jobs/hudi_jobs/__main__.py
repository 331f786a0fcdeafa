"""The program of a job's pod: `python3 -m hudi_jobs`.

The program reads the request from the file in `HUDI_JOB_REQUEST`, runs it, and writes the outcome to the file in
`HUDI_JOB_OUTCOME`, the container's termination message. Exit code 0: every task succeeded or had nothing to do; 1: a
task failed, or the request could not be read. The operator believes the timeline, not the exit code.

The program writes the outcome as soon as it is known, with the use of the driver's container, and again with the use of
the whole application after the session has ended, which takes a second or two of a processor.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from hudi_jobs.contract import (
    WHOLE_REQUEST,
    FailureReason,
    JobOutcome,
    JobRequest,
    Outcome,
    RunUsage,
    TaskResult,
    encode_outcome,
)
from hudi_jobs.contract.document import Document
from hudi_jobs.driver import Driver
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.logs import Redactor, configure_logging, redactor_of
from hudi_jobs.spark.session import open_session
from hudi_jobs.usage.run_usage import driver_usage

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
        return _finish(_unreadable(error), redactor, driver_usage)
    redactor = redactor_of(request)
    configure_logging(redactor)
    driver = Driver(request, open_session)
    signal.signal(signal.SIGTERM, lambda *_: driver.stop())

    def end() -> RunUsage | None:
        driver.close()
        return driver.usage()

    return _finish(driver.run(), redactor, end)


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


def _finish(outcome: JobOutcome, redactor: Redactor, end: Callable[[], RunUsage | None]) -> int:
    """Write the outcome, end the session, write the outcome with the final usage, and return the exit code."""
    cleaned = [result.copy_with(message=redactor.clean(result.message)) for result in outcome.results]
    outcome = JobOutcome(results=tuple(cleaned), usage=driver_usage())
    _log("outcome", outcome=outcome)
    reach(Phase.BEFORE_OUTCOME)
    file = Path(os.environ.get("HUDI_JOB_OUTCOME", _OUTCOME_FILE))
    file.write_bytes(written := encode_outcome(outcome).encode())
    usage = end()
    if usage is not None:
        _log("usage", usage=usage)
        _replace(file, encode_outcome(outcome.copy_with(usage=usage)).encode().ljust(len(written)))
    return 1 if any(result.outcome is Outcome.FAILED for result in outcome.results) else 0


def _log(message: str, **documents: Document) -> None:
    shown = {name: document.model_dump(by_alias=True, exclude_none=True) for name, document in documents.items()}
    _LOGGER.info(message, extra={"fields": shown})


def _replace(file: Path, content: bytes) -> None:
    """Overwrite shorter or equally long content in one step, so that a kill leaves a whole document."""
    with suppress(OSError), file.open("r+b", buffering=0) as opened:
        opened.write(content)


if __name__ == "__main__":
    sys.exit(main())
