"""The resource that is written for a table is without drift by construction, whatever the table's files hold."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.world import observe
from tests.samples import examples
from tests.timeline.conftest import TABLES, MemoryFileSystem

from hudi_jobs.contract import Location
from hudi_operator.adoption.draft import Draft, draft_of, zone_name
from hudi_operator.adoption.evidence import Evidence, Unreadable, read_evidence, several, writers_of
from hudi_operator.adoption.search import name_for
from hudi_operator.adoption.text import Entry, Plain, comment_lines, document, yaml_lines
from hudi_operator.api.resources import HudiTable
from hudi_operator.diagnosis.checks.writers import overlapping
from hudi_operator.planning.facts.drift import drift_of
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import Action, CommitMetadata, Instant, State, TimelineReader

STORED = sorted(path.name.removesuffix(".tar.gz") for path in TABLES.glob("*.tar.gz"))
RENAMED = {
    "0.14.0-schema-evolution": "size was int and is long",
    "0.15.0-schema-evolution": "word was renamed to text",
    "1.0.2-schema-evolution": "word was renamed to text",
    "1.1.1-schema-evolution": "size was int and is long",
    "1.2.0-schema-evolution": "size was int and is long",
}
"""Tables whose columns were changed with `hoodie.schema.on.read.enable`, and what their history says."""
PROPERTIES = {
    "hoodie.table.name": "flights",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "9",
    "hoodie.timeline.layout.version": "2",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.timeline.timezone": "UTC",
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("lake")

    def unpack(name: str) -> Path:
        with tarfile.open(TABLES / f"{name}.tar.gz") as archive:
            archive.extractall(root / name, filter="data")
        return root / name

    return unpack


def memory_table(properties: Mapping[str, str], files: Mapping[str, bytes] | None = None) -> MemoryFileSystem:
    lines = "".join(f"{escaped(key)}={escaped(value)}\n" for key, value in properties.items())
    contents = {f"/t/.hoodie/timeline/{name}": content for name, content in (files or {}).items()}
    return MemoryFileSystem({"/t/.hoodie/hoodie.properties": lines.encode("ascii"), **contents})


def escaped(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "".join(chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)


def adopt(properties: Mapping[str, str], files: Mapping[str, bytes] | None = None, **arguments: Any) -> Draft:
    found = read_evidence(memory_table(properties, files), Location.parse("/t"), base_path="s3a://lake/team/flights")
    return draft_of(found, taken=(), **arguments)


def documents(draft: Draft) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(draft.text) if one is not None]


def has_no_drift(text: dict[str, Any], filesystem: Any, path: str) -> bool:
    table = HudiTable.model_validate(text)
    snapshot = TimelineSnapshot(timeline=TimelineReader(filesystem).read(Location.parse(path)))
    return drift_of(observe(table, snapshot=snapshot)) == ()


@pytest.mark.parametrize("name", [name for name in STORED if name not in RENAMED])
def test_the_resource_of_a_real_table_is_without_drift(name: str, stored: Callable[[str], Path]) -> None:
    base = stored(name)
    found = read_evidence(LocalFileSystem(), Location.parse(str(base)), base_path=f"file://{base}")
    draft = draft_of(found, taken=())
    (text,) = documents(draft)

    assert draft.reasons == ()
    assert text["spec"]["managementPolicy"] == "Observe"
    assert text["spec"]["basePath"] == f"file://{base}"
    assert text == document(draft.entries)
    assert has_no_drift(text, LocalFileSystem(), str(base))


@pytest.mark.parametrize(("name", "change"), RENAMED.items())
def test_a_real_table_whose_columns_were_changed_by_number_is_a_comment_with_the_change(
    name: str, change: str, stored: Callable[[str], Path]
) -> None:
    base = stored(name)
    draft = draft_of(
        read_evidence(LocalFileSystem(), Location.parse(str(base)), base_path="s3a://lake/team/flights"), taken=()
    )
    assert documents(draft) == []
    (reason,) = (one for one in draft.reasons if "hoodie.schema.on.read.enable" in one)
    assert f"a history in which {change}" in reason


def test_a_difference_would_be_seen(stored: Callable[[str], Path]) -> None:
    base = stored("1.2.0-mor-compaction")
    found = read_evidence(LocalFileSystem(), Location.parse(str(base)), base_path=f"file://{base}")
    (text,) = documents(draft_of(found, taken=()))
    for field, value in (("recordKey", ["other"]), ("orderingFields", []), ("metadataTable", {"enabled": False})):
        other = {**text, "spec": {**text["spec"], field: value}}
        assert not has_no_drift(other, LocalFileSystem(), str(base)), field


HOSTILE = st.one_of(
    st.sampled_from(
        [
            "flights",
            "id",
            "id,at",
            "day:TIMESTAMP,region:SIMPLE",
            "a\nmanagementPolicy: Manage",
            "# no",
            '"',
            "'",
            "{{ .Values.x }}",
            "{% x %}",
            "\x1b[2J",
            "\u2028spec:",
            "\u202e",
            "no",
            "1e3",
            "null",
            "- a",
            "a: b",
            "&a",
            "*a",
            "!!python/object:os.system",
            "---",
            "",
            "x" * 2000,
        ]
    ),
    st.text(max_size=40),
)
KEYS = [
    "hoodie.table.name",
    "hoodie.table.type",
    "hoodie.table.version",
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
    "hoodie.table.ordering.fields",
    "hoodie.table.precombine.field",
    "hoodie.table.keygenerator.class",
    "hoodie.table.keygenerator.type",
    "hoodie.compaction.payload.class",
    "hoodie.record.merge.mode",
    "hoodie.table.metadata.partitions",
    "hoodie.populate.meta.fields",
    "hoodie.index.type",
    "hoodie.bucket.index.num.buckets",
    "hoodie.bucket.index.hash.field",
    "hoodie.table.timeline.timezone",
]
LIKELY = st.fixed_dictionaries(
    {},
    optional={
        "hoodie.table.version": st.sampled_from(["5", "6", "8", "9", "x"]),
        "hoodie.table.type": st.sampled_from(["COPY_ON_WRITE", "MERGE_ON_READ"]),
        "hoodie.table.partition.fields": st.sampled_from(["day", "day:SIMPLE,region:SIMPLE", "day,day"]),
        "hoodie.table.precombine.field": st.sampled_from(["ts", "ts,Ts"]),
        "hoodie.table.metadata.partitions": st.sampled_from(["files", "files,record_index", "column_stats"]),
        "hoodie.populate.meta.fields": st.sampled_from(["true", "false", "FALSE"]),
        "hoodie.index.type": st.just("BUCKET"),
        "hoodie.bucket.index.num.buckets": st.sampled_from(["4", "0", "999999", "-1", "٣"]),
    },
)


@settings(max_examples=examples(300), deadline=None)
@given(LIKELY, st.dictionaries(st.sampled_from(KEYS), HOSTILE, max_size=4))
def test_draft_for_any_properties_is_without_drift_or_a_comment(
    likely: dict[str, str], hostile: dict[str, str]
) -> None:
    properties = PROPERTIES | likely | hostile
    draft = adopt(properties)
    found = documents(draft)

    assert all(each.isprintable() or each == "\n" for each in draft.text)
    assert not re.search(r"[{][{%]", draft.text)
    if draft.reasons:
        assert found == []
        assert all(line.startswith("#") or not line for line in draft.text.splitlines())
    else:
        (text,) = found
        assert text == document(draft.entries)
        assert set(text) == {"apiVersion", "kind", "metadata", "spec"}
        assert has_no_drift(text, memory_table(properties), "/t")


@given(HOSTILE, HOSTILE)
def test_no_value_and_no_comment_gets_out_of_its_place(value: str, comment: str) -> None:
    entries = (Entry("a", value, (comment,)), Entry("b", (value, value)), Entry("c", (Entry("d", Plain("e")),)))
    text = "\n".join(yaml_lines(entries))
    assert yaml.safe_load(text) == {"a": value, "b": [value, value], "c": {"d": "e"}}
    assert all(line.startswith("#") and line.isprintable() for line in comment_lines((comment, value)))


def test_a_table_that_cannot_be_managed_is_a_comment_with_every_reason() -> None:
    draft = adopt(
        PROPERTIES
        | {
            "hoodie.table.name": "bad name\nspec: {}",
            "hoodie.table.recordkey.fields": "id,nested.id",
            "hoodie.table.partition.fields": "day,DAY",
        }
    )
    assert documents(draft) == []
    reasons = "\n".join(draft.reasons)
    for part in ("spec.tableName", "nested.id", "partitionBy: it names a column twice"):
        assert part in reasons
    assert "kind: HudiTable" in draft.text


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"hoodie.table.recordkey.fields": ""}, "record key"),
        ({"hoodie.table.version": "5", "hoodie.timeline.layout.version": "1"}, "upgrades tables from version 6 on"),
        ({"hoodie.table.keygenerator.class": "com.example.Keys"}, "com.example.Keys"),
        ({"hoodie.table.version": "99"}, "version 99"),
    ],
)
def test_property_that_cannot_be_honoured_is_reported(properties: dict[str, str], reason: str) -> None:
    draft = adopt(PROPERTIES | properties, {"1.commit.requested": b""})
    assert documents(draft) == []
    assert reason in draft.text.replace("\n#   ", " ").replace("\n# ", " ")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (".bucket_index/consistent_hashing_metadata/p/00000000000000.hashing_meta", "one fixed number"),
        ("20260101000000000.deltacommit", "a change of the version has not ended"),
    ],
)
def test_facts_of_other_folders_of_a_table_are_a_reason(name: str, word: str) -> None:
    filesystem = memory_table(PROPERTIES)
    filesystem.files[f"/t/.hoodie/{name}"] = b"{}"
    found = read_evidence(filesystem, Location.parse("/t"), base_path="s3a://lake/team/flights")
    draft = draft_of(found, taken=())
    assert documents(draft) == []
    assert any(word in reason for reason in draft.reasons)


@pytest.mark.parametrize(
    ("base_path", "word"),
    [
        ("s3a://lake", "whole bucket"),
        ("s3a://Lake/t", "lower case"),
        ("s3a://lake/a%2Fb", "basePath"),
        ("s3a://lake/t/.hoodie/metadata", ".hoodie"),
    ],
)
def test_a_path_that_no_resource_may_have_is_said(base_path: str, word: str) -> None:
    found = read_evidence(memory_table(PROPERTIES), Location.parse("/t"), base_path=base_path)
    if isinstance(found, Unreadable):
        pytest.fail(found.reason)
    assert any(word in reason for reason in draft_of(found, taken=()).reasons)


def test_an_unreadable_table_is_a_comment() -> None:
    draft = draft_of(Unreadable(base_path="s3a://lake/t", reason="It is\nbroken."), taken=())
    assert documents(draft) == []
    assert draft.text == "\n# s3a://lake/t cannot be managed, because it cannot be read. It is\\x0abroken.\n"


def test_namespace_and_class_are_those_that_were_asked_for() -> None:
    (text,) = documents(adopt(PROPERTIES, {}, namespace="team-a", table_class="standard"))
    assert text["metadata"] == {"name": "flights", "namespace": "team-a"}
    assert text["spec"]["tableClassName"] == "standard"


@pytest.mark.parametrize(
    ("properties", "field", "value"),
    [
        ({"hoodie.table.partition.fields": "day:TIMESTAMP,region:SIMPLE"}, "partitionBy", ["day", "region"]),
        ({"hoodie.table.version": "6", "hoodie.table.precombine.field": "ts"}, "orderingFields", ["ts"]),
        (
            {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "8"},
            "index",
            {"type": "Bucket", "buckets": 8},
        ),
        ({"hoodie.populate.meta.fields": "false"}, "index", {"type": "Simple"}),
        ({"hoodie.table.metadata.partitions": "files,column_stats"}, "metadataTable", {"enabled": True}),
        ({}, "metadataTable", {"enabled": False}),
        ({}, "index", {"type": "Bloom"}),
    ],
)
def test_fields_are_those_of_the_properties(properties: dict[str, str], field: str, value: object) -> None:
    merged = {"hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS"} | PROPERTIES | properties
    merged |= {"hoodie.keygen.timebased.output.dateformat": "yyyy"}
    assert document(adopt(merged).entries)["spec"][field] == value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("0.15.0-mor-archived", {"archival": {"minCommits": 20, "maxCommits": 30}}),
        ("0.14.0-cow-archived", {"cleaning": {"policy": "KeepLatestCommits", "retainCommits": 1}}),
        ("1.2.0-mor-compaction", {"concurrency": {"mode": "Serialized"}, "type": "MergeOnRead"}),
        ("0.14.0-empty-table", {"cleaning": {"mode": "Disabled"}, "archival": {"mode": "Disabled"}}),
        ("1.2.0-cow-clustering", {"type": "CopyOnWrite"}),
    ],
)
def test_services_are_as_the_table_shows_them(
    name: str, expected: dict[str, Any], stored: Callable[[str], Path]
) -> None:
    base = stored(name)
    found = draft_of(read_evidence(LocalFileSystem(), Location.parse(str(base)), base_path=f"file://{base}"), taken=())
    spec = document(found.entries)["spec"]
    assert {field: spec[field] for field in expected} == expected


def commit(time: str, *, by: str | None = None, operation: str = "UPSERT", ends: str | None = None) -> Any:
    extra = {"schema": "{}"} | ({by: "17"} if by else {})
    return Instant(time, Action.COMMIT, State.COMPLETED, ends), CommitMetadata(operation, extra)


def seen(*commits: Any) -> Evidence:
    found = read_evidence(
        memory_table(PROPERTIES | {"hoodie.table.type": "COPY_ON_WRITE"}), Location.parse("/t"), base_path="s3a://l/t"
    )
    assert isinstance(found, Evidence)
    return Evidence(base_path=found.base_path, timeline=found.timeline, commits=tuple(commits))


STREAMER, FLINK = "deltastreamer.checkpoint.key", "flink_checkpoint_id"


@pytest.mark.parametrize(
    ("properties", "is_told"),
    [
        ({"hoodie.table.version": "6", "hoodie.table.precombine.field": "ts"}, True),
        ({"hoodie.table.version": "6"}, False),
        ({"hoodie.table.version": "9", "hoodie.table.precombine.field": "ts"}, False),
    ],
)
def test_compaction_that_may_be_refused_for_late_changes_is_a_decision_above_the_resource(
    properties: dict[str, str], is_told: bool
) -> None:
    draft = adopt(PROPERTIES | properties)
    lines = [one for one in draft.comments if "RowsWouldChange" in one]
    assert bool(lines) is is_told
    if is_told:
        assert lines[0].startswith("decide: ")
        assert "precombine field ts, no payload class" in lines[0]


def test_writers_are_told_by_what_they_keep_in_their_commits() -> None:
    table = seen(
        commit("20260101000000000", by=STREAMER),
        commit("20260101000500000", by=STREAMER),
        commit("20260101001000000", by=STREAMER),
        commit("20260101001100000", by=FLINK),
        commit("20260101001200000", operation="CLUSTER"),
    )
    found = writers_of(table.commits, table.timeline.properties)
    assert [(one.program, one.commits, one.every, one.checkpoint) for one in found] == [
        ("Hudi Streamer", 3, timedelta(minutes=5), "17"),
        ("Flink", 1, None, "17"),
    ]
    assert found[0].sentence == (
        "3 x UPSERT by Hudi Streamer, a commit every 5m, the last at 20260101001000000; keys in its commits: "
        "deltastreamer.checkpoint.key; its newest checkpoint: 17"
    )
    assert several(found)
    assert not several(found[:1])
    text = document(draft_of(table, taken=()).entries)
    assert text["spec"]["concurrency"] == {"mode": "Optimistic"}
    assert "decide: several programs wrote to it." in draft_of(table, taken=()).text


def test_writes_at_the_same_time_are_of_several_writers() -> None:
    apart = [
        commit("20260101000000000", ends="20260101000100000"),
        commit("20260101000200000", ends="20260101000300000"),
    ]
    beside = commit("20260101000230000", ends="20260101000400000")
    table = seen(*apart)
    assert overlapping(table.commits, table.timeline.properties) is None
    assert overlapping([*apart, beside], table.timeline.properties) == beside[0]
    assert document(draft_of(seen(*apart, beside), taken=()).entries)["spec"]["concurrency"] == {"mode": "Optimistic"}


@pytest.mark.parametrize(
    ("offset", "zone"),
    [
        (timedelta(0), "UTC"),
        (timedelta(hours=9), "Etc/GMT-9"),
        (timedelta(hours=-5), "Etc/GMT+5"),
        (timedelta(hours=5, minutes=30), "Asia/Kolkata"),
        (timedelta(hours=12, minutes=45), None),
        (None, None),
    ],
)
def test_a_zone_is_named_that_is_always_so_far_from_utc(offset: timedelta | None, zone: str | None) -> None:
    assert zone_name(offset) == zone


@given(st.lists(st.lists(st.text(max_size=80), max_size=4), max_size=12))
def test_names_are_valid_and_of_one_table_each(paths: list[list[str]]) -> None:
    taken: set[str] = set()
    for path in paths:
        name = name_for("s3a://" + "/".join(["lake", *path]), taken=taken)
        assert name not in taken
        assert len(name) <= 63
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
        taken.add(name)


def test_names_say_which_table_it_is() -> None:
    taken: list[str] = []
    for path in ("s3a://lake/a/Flight_Data", "s3a://lake/b/flight-data", "s3a://lake/b/flight.data"):
        taken.append(name_for(path, taken=taken))
    assert taken == ["flight-data", "b-flight-data", "lake-b-flight-data"]
