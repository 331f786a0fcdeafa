"""Every line is one JSON document, whoever wrote it, and holds no secret."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from hudi_jobs.contract.wording import REDACTED
from hudi_operator.telemetry.logs import configure_logging

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(level="INFO", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()


def test_own_messages_and_those_of_libraries_look_the_same(lines: Lines) -> None:
    structlog.get_logger("hudi_operator.control").info("run finished", job="a")
    logging.getLogger("kopf.activities").warning("a library says %s", "so")
    own, other = lines()
    assert (own["event"], own["level"], own["logger"], own["job"]) == (
        "run finished",
        "info",
        "hudi_operator.control",
        "a",
    )
    assert (other["event"], other["level"], other["logger"]) == ("a library says so", "warning", "kopf.activities")
    assert own.keys() - {"job"} == other.keys()
    assert list(own) == ["timestamp", "level", "logger", "event", "job"]


def test_the_table_is_on_every_line_written_during_its_reconcile(lines: Lines) -> None:
    with structlog.contextvars.bound_contextvars(table="team-a/flights"):
        structlog.get_logger("x").info("own")
        logging.getLogger("library").error("foreign")
    structlog.get_logger("x").info("outside")
    assert [line.get("table") for line in lines()] == ["team-a/flights", "team-a/flights", None]


@pytest.mark.parametrize(
    "key",
    ["secret", "secret_key", "s3SecretKey", "password", "passwd", "token", "Authorization", "access_key", "accessKey"],
)
def test_a_value_under_the_name_of_a_secret_is_not_written(lines: Lines, key: str) -> None:
    structlog.get_logger("x").info("reconcile", **{key: "hunter2", "inner": {"list": [{key: "hunter2"}]}})
    (line,) = lines()
    assert "hunter2" not in json.dumps(line)
    assert line[key] == REDACTED


@pytest.mark.parametrize(
    "message",
    ["Bearer hunter2hunter2", "authorization: bearer hunter2hunter2", "see https://user:hunter2hunter2@store/x"],
)
def test_text_with_the_shape_of_a_secret_is_not_written(lines: Lines, message: str) -> None:
    logging.getLogger("library").warning(message)
    try:
        raise ValueError(message)  # noqa: TRY301 - the case
    except ValueError:
        structlog.get_logger("x").error("failed", exc_info=True)
    assert "hunter2" not in json.dumps(lines())


def test_an_exception_stays_on_one_line_and_a_poison_value_does_not_raise(lines: Lines) -> None:
    class Poison:
        def __str__(self) -> str:
            return "poison"

    try:
        raise RuntimeError("first line\nsecond line")  # noqa: TRY301 - the case
    except RuntimeError as error:
        structlog.get_logger("x").warning("failed", exc_info=error, value=Poison(), number=object)
    (line,) = lines()
    assert "second line" in line["exception"]
    assert line["value"] == "poison"


def test_the_chatter_of_libraries_is_left_out(lines: Lines) -> None:
    logging.getLogger("kopf.objects").info("handler succeeded")
    logging.getLogger("kubernetes.client.rest").info("response body: ...")
    logging.getLogger("kopf.objects").error("handler failed")
    assert [line["event"] for line in lines()] == ["handler failed"]


def test_text_for_people_is_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure_logging(style="text", stream=sys.stdout)
        structlog.get_logger("x").info("reconcile", job="a")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        structlog.reset_defaults()
    written = capsys.readouterr().out
    assert "reconcile" in written
    assert "job=a" in written


@pytest.mark.parametrize("style", ["json", "text"])
def test_no_text_from_outside_reaches_a_terminal_as_it_is(style: str) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        configure_logging(style=style, stream=stream)
        structlog.get_logger("x").info("read \x1b[2J", file="a\x1b]0;x\x07\nb\u202e", files=["\x9b2J"])
        logging.getLogger("library").warning("found %s", "\x1b[31m")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        structlog.reset_defaults()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert all(each.isprintable() for each in lines)
