"""`hoodie.properties` and its backup."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import Location
from hudi_operator.timeline import Layout, NotAHudiTable, TableType, TableUnreadable, TimelineReader, UnreadableCause
from hudi_operator.timeline.files.properties import is_intact, parse_properties, read_table_properties

WHOLE = b"hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=6\n"
MAIN = "/t/.hoodie/hoodie.properties"
BACKUP = f"{MAIN}.backup"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a", {"a": ""}),
        ("#a=b\n!c=d\n\n  \n", {}),
        ("a=one\\\n   two", {"a": "onetwo"}),
        ("a\\:b=c\\=d", {"a:b": "c=d"}),
        ("a=\\u00e9\\t\\\\", {"a": "é\t\\"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\", {"a": "b"}),
        ("a=\\u12", {"a": "u12"}),
    ],
)
def test_the_java_format_is_understood(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(isinstance(value, str) for value in parse_properties(text).values())


def test_defaults_are_those_of_hudi() -> None:
    properties = read_table_properties(b"hoodie.table.name=t\nhoodie.table.version=9\n")
    assert (properties.table_type, properties.layout, properties.timezone) == (
        TableType.COPY_ON_WRITE,
        Layout.TWO,
        "LOCAL",
    )
    assert (properties.timeline_folder, properties.archive_path) == (".hoodie/timeline", ".hoodie/timeline/history")


@pytest.mark.parametrize(
    ("settings", "folder", "archive"),
    [
        ("hoodie.table.version=6\n", ".hoodie", ".hoodie/archived"),
        ("hoodie.table.version=6\nhoodie.archivelog.folder=old\n", ".hoodie", ".hoodie/old"),
        ("hoodie.table.version=6\nhoodie.archivelog.folder=\n", ".hoodie", ".hoodie"),
        ("hoodie.table.version=8\nhoodie.timeline.path=line\n", ".hoodie/line", ".hoodie/line/history"),
        ("hoodie.table.version=9\nhoodie.timeline.history.path=past\n", ".hoodie/timeline", ".hoodie/timeline/past"),
    ],
)
def test_folders_come_from_the_properties(settings: str, folder: str, archive: str) -> None:
    properties = read_table_properties(f"hoodie.table.name=t\n{settings}".encode())
    assert (properties.timeline_folder, properties.archive_path) == (folder, archive)


@pytest.mark.parametrize(
    ("content", "cause", "says"),
    [
        (b"hoodie.table.name=t\nhoodie.table.version=10\n", UnreadableCause.UNSUPPORTED, "version 10"),
        (b"hoodie.table.name=t\nhoodie.table.version=9\nhoodie.timeline.layout.version=3\n",
         UnreadableCause.UNSUPPORTED, "layout 3"),
        (b"hoodie.table.name=t\nhoodie.table.version=1\n", UnreadableCause.UNSUPPORTED, "version 1;"),
        (b"hoodie.table.name=t\nhoodie.table.version=nine\n", UnreadableCause.CORRUPT, "'nine'"),
        (b"hoodie.table.name=t\n", UnreadableCause.CORRUPT, "no hoodie.table.version"),
        (b"hoodie.table.name=t\nhoodie.table.version=9\nhoodie.table.type=TRIE\n", UnreadableCause.CORRUPT, "'TRIE'"),
        (b"hoodie.table.name=t\nhoodie.table.version=9\nhoodie.table.timeline.timezone=MARS\n",
         UnreadableCause.CORRUPT, "'MARS'"),
        (b"something.else=1\n", UnreadableCause.CORRUPT, "neither a table nor its type"),
    ],
)  # fmt: skip
def test_unknown_property_is_refused_in_one_sentence(content: bytes, cause: UnreadableCause, says: str) -> None:
    with pytest.raises(TableUnreadable, match=says) as caught:
        read_table_properties(content)
    assert caught.value.cause is cause
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("folder", ["timeline/", "./timeline", "timeline/.", "x//y"])
def test_folder_of_the_timeline_is_read_as_hadoop_reads_it(folder: str, make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    named = folder.replace("//", "/").removeprefix("./").removesuffix("/.").removesuffix("/")
    filesystem.files = {name.replace("/timeline/", f"/{named}/"): data for name, data in filesystem.files.items()}
    filesystem.files[MAIN] += f"hoodie.timeline.path={folder}\n".encode()
    assert TimelineReader(filesystem).read(Location.parse("/t")).counters.completed_commits == 1


@pytest.mark.parametrize("key", ["hoodie.timeline.path", "hoodie.timeline.history.path", "hoodie.archivelog.folder"])
@pytest.mark.parametrize("folder", ["../../other/.hoodie/timeline", "a/../../..", "/other", "s3://other/t", "file:x"])
def test_folder_of_another_table_is_never_read(key: str, folder: str, make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    filesystem.files[MAIN] += f"{key}={folder}\n".encode()
    with pytest.raises(TableUnreadable, match=f"{key} .* no folder below .hoodie") as caught:
        TimelineReader(filesystem).read(Location.parse("/t"))
    assert caught.value.cause is UnreadableCause.CORRUPT
    assert not any("other" in path for path in filesystem.reads)


def test_the_checksum_covers_database_and_name() -> None:
    line = f"hoodie.table.checksum={zlib.crc32(b'sales.t')}\n".encode()
    right, wrong = (
        parse_properties((b"hoodie.database.name=" + name + b"\n" + WHOLE + line).decode())
        for name in (b"sales", b"wrong")
    )
    assert is_intact(right)
    assert not is_intact(wrong)


@pytest.mark.parametrize(
    ("main", "state"),
    [
        (None, "missing"),
        (b"", "empty"),
        (b"#half a file\nhoodie.table.name=t\n", "damaged"),
        (WHOLE + b"hoodie.table.checksum=1\n", "damaged"),
    ],
)
def test_the_backup_is_read_where_the_file_is_not_whole(main: bytes | None, state: str, make_table: Any) -> None:
    filesystem = make_table([], timeline_layout_version="1")
    filesystem.files = {BACKUP: WHOLE} | ({} if main is None else {MAIN: main})
    filesystem.files["/t/.hoodie/1.commit"] = b""
    timeline = TimelineReader(filesystem).read(Location.parse("/t"))
    assert timeline.counters.completed_commits == 1
    assert [(one.file, state in one.reason) for one in timeline.problems if "properties" in one.file] == [
        (".hoodie/hoodie.properties", True)
    ]


@pytest.mark.parametrize("main", [b"", b"#cut"])
@pytest.mark.parametrize("backup", [None, b"", WHOLE + b"hoodie.table.checksum=1\n"])
def test_without_a_usable_backup_the_table_is_corrupt(main: bytes, backup: bytes | None, make_table: Any) -> None:
    filesystem = make_table([])
    filesystem.files = {MAIN: main} | ({} if backup is None else {BACKUP: backup})
    with pytest.raises(TableUnreadable) as caught:
        TimelineReader(filesystem).read(Location.parse("/t"))
    assert caught.value.cause is UnreadableCause.CORRUPT


def test_no_properties_at_all_is_no_table(make_table: Any) -> None:
    filesystem = make_table([])
    filesystem.files = {}
    with pytest.raises(NotAHudiTable):
        TimelineReader(filesystem).read(Location.parse("/t"))


def test_a_newer_table_is_refused_although_an_older_backup_exists(make_table: Any) -> None:
    filesystem = make_table([], table_version="10")
    filesystem.files[BACKUP] = WHOLE
    with pytest.raises(TableUnreadable) as caught:
        TimelineReader(filesystem).read(Location.parse("/t"))
    assert caught.value.cause is UnreadableCause.UNSUPPORTED
