"""What of a Protobuf descriptor is refused before Spark makes columns of it, by descriptors written byte by byte."""

import base64
import time
from typing import Any

import pytest
from tests.spark_jobs.formats.messages import context_of

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_descriptors import DEEPEST, WIDEST
from hudi_jobs.spark.failures import TaskFailed

INT64, GROUP, MESSAGE, ENUM = 3, 10, 11, 14


def varint(number: int) -> bytes:
    low = number & 0x7F
    return bytes([low]) if number < 0x80 else bytes([low | 0x80]) + varint(number >> 7)


def part(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def a_field(of: str = "", *, kind: int | None = None) -> bytes:
    known = MESSAGE if of else INT64
    typed = part(5, known if kind is None else kind) if kind != 0 else b""
    return part(2, part(1, b"f") + part(3, 1) + typed + (part(6, of.encode()) if of else b""))


def a_message(name: str, *fields: bytes, nested: bytes = b"") -> bytes:
    return part(1, name.encode()) + b"".join(fields) + nested


def a_file(*messages: bytes) -> bytes:
    return part(1, part(1, b"a.proto") + part(2, b"shop") + b"".join(part(4, one) for one in messages))


def doubling(levels: int, *, kind: int | None = None) -> bytes:
    """Messages of which each holds the next one twice."""
    inner = (a_message(f"T{n}", *[a_field(f".shop.T{n + 1}", kind=kind)] * 2) for n in range(levels))
    return a_file(*inner, a_message(f"T{levels}", a_field()))


def refusal(descriptor: bytes, name: str = "shop.T0") -> str:
    text = base64.b64encode(descriptor).decode()
    session: Any = None  # nothing is read
    _, kafka = context_of(session, {"value": {"format": "Protobuf", "descriptor": text, "message_type": name}})
    try:
        format_of(kafka).require(kafka)
    except TaskFailed as failure:
        found = failure
    else:
        return ""
    assert found.reason is FailureReason.INVALID_REQUEST
    return found.message


@pytest.mark.parametrize("kind", [None, 0, GROUP], ids=["a message", "a type that is only named", "a group"])
@pytest.mark.parametrize("name", ["shop.T0", ".shop.T0"])
def test_messages_that_double_each_other_are_refused_at_once(kind: int | None, name: str) -> None:
    began = time.monotonic()
    assert f"more than {WIDEST:,} fields, counting every use of a message" in refusal(doubling(55, kind=kind), name)
    assert time.monotonic() - began < 20


def test_as_many_fields_as_there_may_be_are_accepted() -> None:
    assert refusal(a_file(a_message("T0", *[a_field()] * WIDEST))) == ""
    assert "more than" in refusal(a_file(a_message("T0", *[a_field()] * (WIDEST + 1))))
    assert refusal(doubling(12)) == ""


def test_an_enumeration_is_one_field() -> None:
    assert refusal(a_file(a_message("T0", a_field(".shop.Kind", kind=ENUM)))) == ""


@pytest.mark.parametrize("last", [True, False])
def test_a_message_that_refers_to_itself_is_refused_however_wide_it_is(last: bool) -> None:
    loop = a_field(".shop.T0")
    wide = [a_field(".shop.T1")]
    descriptor = a_file(a_message("T0", *(wide if last else []), loop), a_message("T1", a_field()))
    assert "the message shop.T0, which refers to itself" in refusal(descriptor)


def test_messages_that_are_too_deep_are_refused() -> None:
    chain = [a_message(f"T{n}", a_field(f".shop.T{n + 1}")) for n in range(DEEPEST + 2)]
    assert f"has messages nested more than {DEEPEST} levels deep" in refusal(a_file(*chain))
    nested = b""
    for _ in range(DEEPEST + 2):
        nested = part(3, a_message("T0", nested=nested))
    assert "declares messages nested more than" in refusal(a_file(a_message("T0", nested=nested)))


def test_messages_inside_of_messages_count_by_their_whole_names() -> None:
    inner = b"".join(part(3, a_message(f"N{n}", *[a_field(f".shop.T0.N{n + 1}")] * 2, nested=b"")) for n in range(40))
    assert "more than" in refusal(a_file(a_message("T0", a_field(".shop.T0.N0"), nested=inner)))


def test_a_file_that_is_in_the_set_twice_is_accepted_and_two_meanings_of_a_name_are_not() -> None:
    once = a_file(a_message("T0", a_field()))
    assert refusal(once * 2) == ""
    assert "declares the message shop.T0 twice" in refusal(once + doubling(40))


def test_a_part_of_a_name_is_refused() -> None:
    assert "by a part of its name" in refusal(a_file(a_message("T0", a_field("T1"))))


@pytest.mark.parametrize("cut", [1, 3, 9])
def test_invalid_descriptor_is_refused(cut: int) -> None:
    assert "is not a file descriptor set" in refusal(doubling(2)[:-cut])
    assert "is not a file descriptor set" in refusal(b"\xff" * 20)
    assert "is not a file descriptor set" in refusal(b"\x0b")


@pytest.mark.parametrize("name", ["shop.Other", "T0"], ids=["another name", "a part of its name"])
def test_a_message_that_is_not_there_is_refused(name: str) -> None:
    assert f"has no message {name}" in refusal(doubling(2), name)


def importing(name: str, *others: str, syntax: str = "") -> bytes:
    imports = b"".join(part(3, other.encode()) for other in others)
    return part(1, part(1, name.encode()) + imports + (part(12, syntax.encode()) if syntax else b""))


def test_files_that_import_others_twice_are_refused_at_once() -> None:
    layers = [importing(f"{side}{n}", f"a{n + 1}", f"b{n + 1}") for n in range(40) for side in "ab"]
    descriptor = doubling(2) + b"".join([*layers, importing("a40"), importing("b40")])
    began = time.monotonic()
    assert "has files that are imported too often" in refusal(descriptor)
    assert time.monotonic() - began < 20
    assert refusal(doubling(2) + b"".join(layers[-12:])) == ""


def test_files_that_import_themselves_or_without_end_are_refused() -> None:
    assert "has the file a, which imports itself" in refusal(doubling(2) + importing("a", "b") + importing("b", "a"))
    chain = b"".join(importing(f"f{n}", f"f{n + 1}") for n in range(DEEPEST + 3))
    assert f"import others more than {DEEPEST} levels deep" in refusal(doubling(2) + chain)


def test_a_file_that_imports_what_spark_is_given_beside_it_is_refused() -> None:
    imports = part(3, b"hudi_jobs/row.proto")
    descriptor = part(1, part(1, b"a.proto") + part(2, b"shop") + imports + part(4, a_message("T0", a_field())))
    assert "which imports itself" in refusal(descriptor + importing("hudi_jobs/row.proto"))


def test_files_of_an_edition_are_refused() -> None:
    assert "uses an edition; only proto2 and proto3 are supported" in refusal(
        doubling(2) + importing("e", syntax="editions")
    )
