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
    local,
    open_filesystem,
    parse_url,
)
from hudi_operator.storage.filesystem import storage_errors
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


def below(path: Path, *, pages: int = 200) -> dict[str, int]:
    """List a path, and return the sizes by relative paths."""
    found = [one for page in LocalFileSystem().list_below(str(path), pages=pages) for one in page]
    assert len({one.path for one in found}) == len(found)
    return {one.path: one.stamp.size for one in found}


def test_everything_below_a_folder_is_listed_with_its_stamp(tmp_path: Path) -> None:
    (tmp_path / "day=1" / "empty").mkdir(parents=True)
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "day=1" / "b").write_bytes(b"12")
    assert below(tmp_path) == {"a": 1, "day=1/b": 2}
    assert below(tmp_path / "a") == {"": 1}
    (page,) = LocalFileSystem().list_below(f"{tmp_path}/day=1")
    assert [(one.path, one.stamp) for one in page] == [("b", LocalFileSystem().stamp(str(tmp_path / "day=1" / "b")))]


def test_a_listing_ends_at_its_bound_after_the_pages_within_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "PAGE", 2)
    for number in range(4):
        (tmp_path / f"{number}").touch()
    assert len(below(tmp_path, pages=2)) == 4
    (tmp_path / "one more").touch()
    pages = LocalFileSystem().list_below(str(tmp_path), pages=2)
    assert [len(next(pages)), len(next(pages))] == [2, 2]
    with pytest.raises(StorageError, match="more than 4 files") as caught:
        next(pages)
    assert caught.value.kind is StorageErrorKind.TOO_LARGE


@pytest.mark.parametrize("target", ["inner", "file", "missing"])
def test_a_link_is_named_because_a_reader_may_follow_it(tmp_path: Path, target: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "in" / "link").symlink_to(tmp_path / target)
    with pytest.raises(StorageError, match="in/link is a link") as caught:
        below(tmp_path / "in")
    assert caught.value.kind is StorageErrorKind.UNSUPPORTED


def test_a_missing_folder_cannot_be_listed(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught:
        below(tmp_path / "missing")
    assert caught.value.kind is StorageErrorKind.NOT_FOUND


def test_what_vanishes_during_a_listing_is_left_out(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    pages = LocalFileSystem().list_below(str(tmp_path))
    (tmp_path / "a" / "file").unlink()
    (tmp_path / "a").rmdir()
    assert [one.path for page in pages for one in page] == ["b/file"]
