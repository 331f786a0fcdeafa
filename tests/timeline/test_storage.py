"""Stores: how paths are spelt, and how failures are distinguished."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from hudi_operator.storage import (
    CountingFileSystem,
    S3Options,
    StorageError,
    StorageErrorKind,
    open_filesystem,
    parse_url,
)
from hudi_operator.storage.errors import storage_errors
from hudi_operator.storage.local import LocalFileSystem


@pytest.mark.parametrize(
    ("url", "store", "bucket", "path"),
    [
        ("/lake/t", "file", "", "/lake/t"),
        ("/lake/t/", "file", "", "/lake/t"),
        ("/", "file", "", "/"),
        ("file:///lake/t", "file", "", "/lake/t"),
        ("file:/lake/t", "file", "", "/lake/t"),
        ("file://localhost/lake/a%20b", "file", "", "/lake/a%20b"),
        ("s3://lake/./a", "s3", "lake", "lake/a"),
        ("s3://lake/a/t", "s3", "lake", "lake/a/t"),
        ("s3a://lake/a/t/", "s3", "lake", "lake/a/t"),
        ("s3n://lake//a///t", "s3", "lake", "lake/a/t"),
        ("S3A://lake/t", "s3", "lake", "lake/t"),
        ("s3://lake", "s3", "lake", "lake"),
        ("s3://lake/a%20b", "s3", "lake", "lake/a%20b"),
    ],
)
def test_a_path_is_taken_apart(url: str, store: str, bucket: str, path: str) -> None:
    location = parse_url(url)
    assert (location.store, location.bucket, location.path) == (store, bucket, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "t",
        "./t",
        "gs://b/t",
        "hdfs:///t",
        "s3:b/t",
        "s3://",
        "s3:///t",
        "file://host/t",
        "s3://b/../t",
        "s3://key@b/t",
    ],
)
def test_path_that_cannot_be_opened_is_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(StorageError, match=r"not a base path that can be read: use .*\.$") as caught:
        open_filesystem(url)
    assert caught.value.kind is StorageErrorKind.UNSUPPORTED


def test_keys_never_appear_in_the_representation() -> None:
    text = repr(S3Options(access_key="KEYKEY", secret_key="SECRET", session_token="TOKEN"))
    assert not any(word in text for word in ("KEYKEY", "SECRET", "TOKEN"))


def test_a_local_folder_is_listed_without_its_folders(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a").write_bytes(b"12")
    filesystem = CountingFileSystem(LocalFileSystem())
    assert list(filesystem.list_directory(str(tmp_path)).names) == ["a"]
    assert filesystem.read_file(str(tmp_path / "a"), limit=2) == b"12"
    assert filesystem.size(str(tmp_path / "a")) == 2
    assert filesystem.modified(str(tmp_path / "a")) == (tmp_path / "a").stat().st_mtime_ns // 1_000_000
    with filesystem.open_file(str(tmp_path / "a")) as file:
        assert file.read(1) == b"1"
    assert (filesystem.lists, filesystem.reads, filesystem.stats) == (1, 2, 2)


@pytest.mark.parametrize("path", ["missing", "file/below"])
def test_missing_file_is_not_found(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    filesystem = LocalFileSystem()
    for ask in (
        partial(filesystem.read_file, limit=9),
        filesystem.list_directory,
        filesystem.size,
        filesystem.open_file,
    ):
        with pytest.raises(StorageError) as caught:
            ask(str(tmp_path / path))
        assert caught.value.kind is StorageErrorKind.NOT_FOUND


@pytest.mark.parametrize("path", ["/proc/self/mem", "\0", "/proc/self"])
def test_unreadable_store_is_unreachable(path: str) -> None:
    with pytest.raises(StorageError) as caught:
        LocalFileSystem().read_file(path, limit=9)
    assert caught.value.kind is StorageErrorKind.UNREACHABLE


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (FileNotFoundError("gone"), StorageErrorKind.NOT_FOUND, "/t does not exist."),
        (NotADirectoryError("file"), StorageErrorKind.NOT_FOUND, "/t does not exist."),
        (PermissionError("no"), StorageErrorKind.ACCESS_DENIED, "Permission to read /t was denied."),
        (OSError("HTTP status 403: who are you"), StorageErrorKind.ACCESS_DENIED, "Permission to read /t was denied."),
        (OSError("the disk is on fire."), StorageErrorKind.UNREACHABLE, "/t cannot be read: the disk is on fire."),
        (ValueError("embedded null byte"), StorageErrorKind.UNREACHABLE, "/t cannot be read: embedded null byte."),
    ],
)
def test_error_of_a_client_becomes_one_of_the_few_kinds(error: Exception, kind: StorageErrorKind, message: str) -> None:
    with pytest.raises(StorageError) as caught, storage_errors("/t", refusals=["status 403"]):
        raise error
    assert (caught.value.kind, str(caught.value)) == (kind, message)


def test_a_refusal_hidden_in_text_is_one_only_where_a_client_hides_them() -> None:
    with pytest.raises(StorageError) as caught, storage_errors("/t"):
        raise OSError("HTTP status 403")
    assert caught.value.kind is StorageErrorKind.UNREACHABLE
