"""Patterns of partitions that are times: known from the properties alone whether they can be ingested."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import Service
from hudi_jobs.contract.table.support import EVERY_SERVICE, unsupported
from hudi_jobs.contract.table.times import DatePattern, time_columns, unsupported_times

TIMESTAMP = {
    "hoodie.table.version": "6",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "ts",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
    "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
    "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd HH:mm:ss",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
}
CUSTOM = {
    **TIMESTAMP,
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator",
    "hoodie.table.partition.fields": "region:SIMPLE,ts:TIMESTAMP",
}


def refused(**options: str) -> list[str]:
    found = unsupported_times(
        {**TIMESTAMP, **{f"hoodie.keygen.timebased.{key}": value for key, value in options.items()}}
    )
    return [one.key.removeprefix("hoodie.keygen.timebased.") for one in found]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"output.dateformat": "../../victim/yyyy"}, "output.dateformat"),
        ({"output.dateformat": "'../'yyyy"}, "output.dateformat"),
        ({"output.dateformat": "/yyyy"}, "output.dateformat"),
        ({"output.dateformat": "yyyy//MM"}, "output.dateformat"),
        ({"output.dateformat": "yyyy\u0007"}, "output.dateformat"),
        ({"output.dateformat": "y" * 101}, "output.dateformat"),
        ({"output.dateformat": ""}, "output.dateformat"),
        # several patterns, with a delimiter of the writer's own
        ({"input.dateformat.list.delimiter.regex": ";"}, "input.dateformat.list.delimiter.regex"),
        # names of months and zones
        ({"input.dateformat": "dd-MMM-yyyy"}, "input.dateformat"),
        ({"input.dateformat": "yyyy-MM-dd HH:mm:ss z"}, "input.dateformat"),
        ({"input.dateformat": "yyyy-MM-dd hh:mm a"}, "input.dateformat"),
        ({"input.dateformat": "HH:mm:ss"}, "input.dateformat"),
        ({"input.dateformat": "yyyy-MM-dd,E yyyy"}, "input.dateformat"),
        ({"input.dateformat": "yyyy-MM-dd'"}, "input.dateformat"),
        ({"input.dateformat": "", "timestamp.type": "MIXED"}, "input.dateformat"),
    ],
)
def test_patterns_that_lead_away_or_cannot_be_checked_are_known_from_the_properties(
    options: dict[str, str], key: str
) -> None:
    assert refused(**options) == [key]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"input.dateformat": "yyyy-MM-dd'T'HH:mm:ss.SSSZ,yyyyMMdd"},
        {"output.dateformat": "'dt='yyyy-MM-dd/'h='HH"},
        {"timestamp.type": "EPOCHMILLISECONDS", "input.dateformat": "dd-MMM-yyyy"},
        {"timestamp.type": "SCALAR", "timestamp.scalar.time.unit": "DAYS"},
    ],
)
def test_patterns_of_digits_are_supported(options: dict[str, str]) -> None:
    assert refused(**options) == []


@pytest.mark.parametrize("owner", ["hoodie.deltastreamer.", "hoodie.streamer."])
def test_options_are_read_under_the_names_of_earlier_releases(owner: str) -> None:
    renamed = {key.replace("hoodie.keygen.", f"{owner}keygen."): value for key, value in TIMESTAMP.items()}
    assert list(unsupported_times(renamed)) == []
    bad = renamed | {f"{owner}keygen.timebased.output.dateformat": "../yyyy"}
    assert [one.key for one in unsupported_times(bad)] == ["hoodie.keygen.timebased.output.dateformat"]


def test_only_ingestion_is_refused_for_a_pattern() -> None:
    (found,) = unsupported_times(TIMESTAMP | {"hoodie.keygen.timebased.input.dateformat": "dd-MMM-yyyy"})
    assert found.refuses == {Service.INGESTION} < EVERY_SERVICE


def test_columns_of_a_custom_generator_are_those_of_the_kind_timestamp() -> None:
    assert time_columns(TIMESTAMP) == time_columns(CUSTOM) == {"ts"}
    plain: dict[str, Any] = CUSTOM | {"hoodie.table.partition.fields": "region:SIMPLE"}
    assert time_columns(plain) == frozenset()
    assert list(unsupported_times(plain | {"hoodie.keygen.timebased.output.dateformat": "../yyyy"})) == []


@given(text=st.text(alphabet="yMdHmsSZEazQ'/-_. :T\n\x1b", max_size=40) | st.text(max_size=120))
def test_any_pattern_gets_an_answer(text: str) -> None:
    options = {"hoodie.keygen.timebased.input.dateformat": text, "hoodie.keygen.timebased.output.dateformat": text}
    found = [
        *unsupported_times(TIMESTAMP | options),
        *unsupported(TIMESTAMP | options, declared_index=None, ingests=True),
    ]
    pattern = DatePattern.of(text)
    assert pattern is None or "y" in pattern.groups
    assert not (".." in text and not found)
