"""What the operator writes below a table: a key is no fixed word of that, and may be a text from outside."""

import pkgutil
import re
from importlib import import_module

import pytest

import hudi_jobs.contract
from hudi_jobs.contract import CatalogRecord, OperationKind, OperationPhase, SyncTrouble, encode_catalog
from hudi_jobs.contract.operations.erase import EraseReport
from hudi_jobs.journal.journal import _encoded
from hudi_jobs.journal.records import EraseRecord, Part, Rows
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.own_folders import _DOCUMENTS, shown_name, texts_from_outside
from hudi_jobs.operations.erase.scan import WholeTexts

RECORD = EraseRecord(
    uid="uid-of-erase",
    resource="payments/request-17",
    kind=OperationKind.ERASE,
    phase=OperationPhase.VERIFYING,
    newest="20260310140012345",
    latest="20260310140012345",
    rows_before=12345678,
    expected=Rows(rows=2, checksum=5, partitions=1, parts=(Part(path="city=Stuttgart", rows=2, checksum=5),)),
    erased=EraseReport(keys=1, digest="a" * 64, rows=1, read_by=("team/analytics",)),
)


def whole(key: str) -> WholeTexts:
    return WholeTexts(Keys(fields=("id",), values=frozenset({(key,)}), records=frozenset({key}), digest=""))


def is_told(key: str) -> bool:
    told = texts_from_outside(_encoded([RECORD], ()))
    assert told is not None
    return any(map(whole(key).are_in, told))


def test_a_field_a_phase_or_a_number_of_a_document_is_no_key() -> None:
    content = _encoded([RECORD], ()).decode()
    words = re.findall(r'[A-Za-z]{8,}(?=":)|Verifying|12345678', content)
    assert {"resource", "expected", "partitions", "Verifying", "12345678"} <= set(words)
    assert [word for word in words if is_told(word)] == []


@pytest.mark.parametrize("key", ["payments", "request-17", "payments/request-17", "Stuttgart", "analytics"])
def test_a_text_of_a_document_that_comes_from_outside_may_be_one(key: str) -> None:
    assert is_told(key)


def test_every_file_of_the_contract_is_searched_as_a_document() -> None:
    modules = pkgutil.walk_packages(hudi_jobs.contract.__path__, "hudi_jobs.contract.")
    named = (vars(import_module(one.name)) for one in modules)
    files = {
        value for names in named for name, value in names.items() if name.endswith("_FILE") and isinstance(value, str)
    }
    assert "catalog.json" in files
    assert files - _DOCUMENTS == set()


def test_a_word_of_the_catalog_record_is_no_key_but_its_entry_and_message_may_be() -> None:
    record = CatalogRecord(
        entry="lake.orders",
        target="a" * 64,
        behind_since="2026-03-10T14:00:00Z",
        trouble=SyncTrouble.UNAVAILABLE,
        message="The partition Stuttgart was refused.",
    )
    told = texts_from_outside(encode_catalog(record))
    assert told is not None
    keys = ("behindSince", "trouble", "Unavailable", "lake.orders", "Stuttgart")
    assert [key for key in keys if any(map(whole(key).are_in, told))] == ["lake.orders", "Stuttgart"]


def test_invalid_document_is_damaged_and_not_judged() -> None:
    assert texts_from_outside(b"") is None
    assert texts_from_outside(b"[" * 100_000) is None
    assert texts_from_outside(b'["customer-7"]') == ["customer-7"]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (".hudi-operator/operations.json", "operations"),
        (".hudi-operator/services.json", "services"),
        (".hudi-operator/ingestion.json", "ingestion"),
        (".hoodie/metadata/files/files-0000-0_0-1-2_20260310140012345.hfile", "files-0000-0"),
        (".hoodie/metadata/record_index/x.hfile", "record_index"),
        (".hoodie/timeline/20260310140012345_20260310140012345.deltacommit", "timeline"),
        (".hoodie/timeline/20260310140012345.deltacommit.requested", "requested"),
        (".hoodie/timeline/history/manifest_1", "manifest_1"),
        (".hoodie/.heartbeat/20260310140012345", "heartbeat"),
        (".hoodie/hoodie.properties", "properties"),
    ],
)
def test_a_name_that_hudi_or_the_operator_always_gives_is_no_key(path: str, key: str) -> None:
    assert shown_name(f"s3a://lake/table/{path}", "s3a://lake/table", whole(key)) is None


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("city=Stuttgart/x.parquet", "..."),
        (".hoodie/.temp/20260310140012345/city=Stuttgart/x.marker", ".hoodie/.temp/20260310140012345/..."),
        (".hudi-operator/removed/Stuttgart", ".hudi-operator/removed/..."),
        (".hoodie/timeline/Stuttgart.commit", ".hoodie/timeline/..."),
    ],
)
def test_any_other_name_may_be_one_and_is_not_shown(path: str, shown: str) -> None:
    assert shown_name(f"s3a://lake/table/{path}", "s3a://lake/table", whole("Stuttgart")) == f"s3a://lake/table/{shown}"
