"""Structured logging: a JSON object per line on standard error, without credentials."""

import json
import logging
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from hudi_jobs.contract import JobRequest, OperationTableTask
from hudi_jobs.contract.wording import REDACTED, SECRET_NAME, redact_text


class Redactor:
    """Replaces credentials in text: known values anywhere, and every value assigned to a telling name."""

    def __init__(self, settings: Iterable[Mapping[str, str]] = (), *, texts: Iterable[str] = ()) -> None:
        self._values = sorted(
            {text for text in texts if len(text) >= 8}
            | {
                value
                for mapping in settings
                for name, value in mapping.items()
                if len(value) >= 8 and SECRET_NAME.search(name) and "provider" not in name.lower()
            },
            key=len,
            reverse=True,
        )

    def clean(self, text: str) -> str:
        """Return the text without credentials."""
        for value in self._values:
            text = text.replace(value, REDACTED)
        return redact_text(text)


def redactor_of(request: JobRequest) -> Redactor:
    """Return a redactor of the credentials of a request and of the process, and of the keys to erase."""
    tasks = (*request.tasks, *request.inline_services)
    operations = [task.operation for task in tasks if isinstance(task, OperationTableTask)]
    erasures = [operation.erase for operation in operations if operation.erase is not None]
    texts = [value for erase in erasures for key in erase.keys for value in key.values()]
    texts += [erase.where for erase in erasures if erase.where is not None]
    texts += [json.dumps(text)[1:-1] for text in texts]  # as a line of the log spells them
    return Redactor([os.environ, request.spark_conf, *(task.hudi_options for task in tasks)], texts=texts)


class JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON; the dictionary under the extra name `fields` is merged into it."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return self._redactor.clean(json.dumps(entry, default=str))


def configure_logging(redactor: Redactor) -> None:
    """Send this package's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(redactor))
    logger = logging.getLogger("hudi_jobs")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
