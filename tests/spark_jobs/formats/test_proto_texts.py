"""Texts of Protobuf schemas, as a registry gives them: what protoc makes of them, and what it is not allowed."""

import time

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from hudi_jobs.ingestion.sources.kafka.formats.protobuf_compiler import MAIN, compiled
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_descriptors import (
    NoDescriptor,
    arrays_of,
    first_message,
    parsed,
)

PROTO3 = 'syntax = "proto3"; '
ANY_MESSAGE = PROTO3 + "message A { int32 a = 1; }"


def main_file(text: str) -> FileDescriptorProto:
    return next(file for file in parsed(compiled(text, {})).file if file.name == MAIN)


def refusal(text: str, imports: dict[str, str] | None = None) -> str:
    with pytest.raises(NoDescriptor) as refused:
        parsed(compiled(text, imports or {}))
    return str(refused.value)


def test_imports_are_those_that_are_given_and_googles_own() -> None:
    text = PROTO3 + (
        'import "a.proto"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto"; '
        "message O { p.A a = 1; google.protobuf.Timestamp at = 2; google.protobuf.Int64Value n = 3; }"
    )
    a = PROTO3 + 'package p; import "deep/b.proto"; message A { q.B b = 1; }'
    b = PROTO3 + "package q; message B { int32 x = 1; }"
    names = [file.name for file in parsed(compiled(text, {"a.proto": a, "deep/b.proto": b})).file]
    assert set(names) == {
        "a.proto",
        "deep/b.proto",
        "google/protobuf/timestamp.proto",
        "google/protobuf/wrappers.proto",
        MAIN,
    }


def test_no_text_of_a_registry_stands_for_googles_own() -> None:
    text = PROTO3 + 'import "google/protobuf/timestamp.proto"; message O { google.protobuf.Timestamp at = 1; }'
    other = PROTO3 + "package google.protobuf; message Timestamp { Timestamp again = 1; }"
    files = parsed(compiled(text, {"google/protobuf/timestamp.proto": other})).file
    assert [field.name for field in files[0].message_type[0].field] == ["seconds", "nanos"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("message A {", "Reached end of input"),
        ('{"type": "record", "name": "Avro", "fields": []}', "Expected top-level statement"),
        (PROTO3 + "message A { Missing m = 1; }", "is not defined"),
        (PROTO3 + 'import "gone.proto"; message A {}', "File not found"),
        (PROTO3 + 'import "/etc/passwd"; message A {}', "File not found"),
        (PROTO3 + 'import "../../../../etc/passwd"; message A {}', "not allowed in the virtual path"),
        (PROTO3 + f'import "{MAIN}"; message A {{}}', "recursively imports itself"),
        ('syntax = "proto2"; ' + "message A {" * 10_000, "maximum recursion limit"),
        ('syntax = "proto2"; message A { option (x) = ' + "{a:" * 200_000, "cannot be compiled"),
        ('syntax = "proto3"; message A { string a = 1; } \ud800\0', "cannot be compiled"),
    ],
    ids=lambda value: value[:40].encode("ascii", "replace").decode(),
)
def test_texts_that_are_no_schema_are_refused_in_the_words_of_protoc(text: str, said: str) -> None:
    began = time.monotonic()
    refused = refusal(text)
    assert said in refused
    assert len(refused) < 500
    assert "/tmp" not in refused
    assert time.monotonic() - began < 20


def test_a_text_without_messages_has_no_first_one() -> None:
    assert first_message(main_file(PROTO3 + "enum E { NONE = 0; }")) is None


def test_texts_that_take_too_much_are_refused() -> None:
    many = PROTO3 + "".join(f"message M{n} {{ int32 a = 1; }}" for n in range(200_000))
    began = time.monotonic()
    assert "cannot be compiled" in refusal(many)
    assert time.monotonic() - began < 40
    wide = PROTO3 + "enum E { " + "".join(f"A{n} = {n};" for n in range(120_000)) + " }"
    assert "must have between 1 and 1,048,576" in refusal(wide)


def test_imports_that_import_each_other_are_refused() -> None:
    loop = {"a.proto": PROTO3 + 'import "b.proto";', "b.proto": PROTO3 + 'import "a.proto";'}
    assert "recursively imports itself" in refusal(PROTO3 + 'import "a.proto"; message A {}', loop)


@pytest.mark.parametrize(
    "name",
    [
        "../up",
        "/etc/passwd",
        "a//b",
        "a/../b",
        ".hidden",
        "a\0b",
        "a b",
        "",
        "a/",
        "x" * 400,
        "é",
        "-/" * 30,
        MAIN,
        f"{MAIN}/a",
    ],
)
def test_names_of_imports_that_are_no_names_of_files_are_refused(name: str) -> None:
    assert "not the name of another file" in refusal(ANY_MESSAGE, {name: ANY_MESSAGE})


def test_a_name_that_is_a_file_and_a_folder_is_refused() -> None:
    assert "not the name of another file" in refusal(ANY_MESSAGE, {"a": ANY_MESSAGE, "a/b/c.proto": ANY_MESSAGE})


NESTED = PROTO3 + (
    "package shop; "
    "enum Kind { NONE = 0; } "
    "message Order { message Line { message Part { int32 a = 1; } } message Note { int32 a = 1; } } "
    "message Return { int32 a = 1; }"
)


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("shop.Order", {b"\0", b"\2\0"}),
        ("shop.Return", {b"\2\2"}),
        ("shop.Order.Line", {b"\4\0\0"}),
        ("shop.Order.Note", {b"\4\0\2"}),
        ("shop.Order.Line.Part", {b"\6\0\0\0"}),
        ("Order", set()),
        ("shop.Kind", set()),
    ],
)
def test_a_message_is_meant_by_its_place_in_the_text(name: str, arrays: set[bytes]) -> None:
    assert set(arrays_of(main_file(NESTED), name)) == arrays


def test_a_place_beyond_63_takes_two_bytes() -> None:
    file = main_file(PROTO3 + "".join(f"message M{n} {{ }}" for n in range(70)))
    assert arrays_of(file, "M63") == (b"\2\x7e",)
    assert arrays_of(file, "M64") == (b"\2\x80\1",)


def test_an_array_that_serializers_take_for_two_messages_means_neither() -> None:
    file = main_file(PROTO3 + "message A { map<string, int32> m = 1; message B { } message C { } message D { } }")
    # Without the entry of the map B, C and D are 0, 1 and 2; with it they are 1, 2 and 3.
    assert arrays_of(file, "A.B") == (b"\4\0\0",)
    assert arrays_of(file, "A.C") == ()
    assert arrays_of(file, "A.D") == (b"\4\0\6",)
    assert arrays_of(file, "A.MEntry") == ()
