"""Structured logging: a JSON document per line, for the operator's messages and those of its libraries."""

import logging
import sys
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from hudi_jobs.contract.wording import REDACTED, SECRET_NAME, escaped, redact_text

_FIRST_KEYS = ("timestamp", "level", "logger", "table", "event")

_QUIET = {
    "kopf.objects": logging.WARNING,  # one line per watch event repeats what the operator logs itself
    "kopf._core.reactor.running": logging.ERROR,  # it warns that a thread cannot take signals, as intended
    "kubernetes": logging.WARNING,  # on DEBUG it logs whole documents
    "aiohttp.access": logging.WARNING,
    "asyncio": logging.WARNING,
}


def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace secrets, recognised by key or shape, at any depth."""
    return {key: _without_secrets(key, value) for key, value in event.items()}


def configure_logging(*, level: str = "INFO", style: str = "json", stream: TextIO | None = None) -> None:
    """Send the logs of the operator, of kopf and of every other library to a stream, in the same format.

    `style` is `json`, or `text` for people at a terminal.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_rendering(style)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, root.level))


def _in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    first = {key: event[key] for key in _FIRST_KEYS if key in event}
    return {**first, **{key: value for key, value in event.items() if key not in first}}


def _escape(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Escape unprintable characters for a terminal; JSON escapes by itself, and other values show as code."""
    return {key: escaped(value) if isinstance(value, str) else value for key, value in event.items()}


def _rendering(style: str) -> list[Processor]:
    common: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, redact]
    if style == "text":
        return [
            *common,
            _escape,
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    return [
        *common,
        structlog.processors.format_exc_info,
        redact,
        _in_order,
        structlog.processors.JSONRenderer(default=str),
    ]


def _without_secrets(key: str, value: Any) -> Any:  # noqa: ANN401 - log events hold anything
    if SECRET_NAME.search(key) and isinstance(value, str | bytes):
        return REDACTED
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {inner: _without_secrets(str(inner), item) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(key, item) for item in value]
    return value
