"""The request document, as it crosses from the operator to the driver."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.tasks import task_of

from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    METADATA_PREFIX,
    RUN_KEY,
    FileFormat,
    FileSource,
    IngestionTask,
    JobRequest,
    OtherSource,
    Service,
    TableDefinition,
    TableType,
    WriteOperation,
)

texts = st.text(max_size=40)
requests = st.builds(
    JobRequest,
    run=texts,
    spark_conf=st.dictionaries(texts, texts, max_size=3),
    tasks=st.lists(
        st.builds(
            task_of,
            id=texts,
            service=st.sampled_from(Service),
            table=st.builds(
                TableDefinition,
                name=texts,
                base_path=texts,
                type=st.sampled_from(TableType),
                record_key=st.lists(texts, min_size=1, max_size=3).map(tuple),
            ),
            hudi_options=st.dictionaries(texts, texts, max_size=3),
            ingestion=st.builds(
                IngestionTask, source=st.builds(FileSource, path=texts), transform_sql=st.one_of(st.none(), texts)
            ),
        ),
        min_size=1,
        max_size=3,
        unique_by=lambda task: task.id,
    ).map(tuple),
)


TABLE = {"name": "t", "basePath": "s3a://b/t", "type": "CopyOnWrite", "recordKey": ["id"]}
WHOLE = {"id": "a", "service": "Cleaning", "table": TABLE}


@given(requests)
def test_a_request_is_read_as_it_was_written(request: JobRequest) -> None:
    text = request.model_dump_json(by_alias=True, exclude_none=True)
    assert JobRequest.model_validate_json(text) == request


def test_a_request_is_written_in_camel_case_and_its_options_are_left_alone() -> None:
    task = task_of(
        Service.INGESTION,
        id="a",
        table=TableDefinition(name="t", base_path="s3a://b/t", type=TableType.COPY_ON_WRITE, record_key=("id",)),
        hudi_options={"hoodie.table_name": "kept_as_is"},
    )
    document = json.loads(JobRequest(run="r", tasks=(task,)).model_dump_json(by_alias=True))
    assert set(document) == {"version", "run", "sparkConf", "tasks", "inlineServices"}
    assert document["tasks"][0]["table"]["basePath"] == "s3a://b/t"
    assert document["tasks"][0]["hudiOptions"] == {"hoodie.table_name": "kept_as_is"}


@pytest.mark.parametrize(
    "document",
    [
        {"run": "r", "tasks": []},
        {"run": "r"},
        {"version": 2, "run": "r", "tasks": [WHOLE]},
        {"run": "r", "tasks": [{**WHOLE, "service": "Unheard"}]},
        {"run": "r", "tasks": [{**WHOLE, "service": "Ingestion"}]},
        {"run": "r", "tasks": [WHOLE], "inlineServices": [{**WHOLE, "service": "Deletion"}]},
    ],
)
def test_request_without_tasks_of_another_version_or_of_an_unknown_service_is_refused(
    document: dict[str, object],
) -> None:
    JobRequest.model_validate({"run": "r", "tasks": [WHOLE], "inlineServices": [WHOLE]})
    with pytest.raises(ValidationError):
        JobRequest.model_validate(document)


def test_a_table_without_a_record_key_is_refused() -> None:
    with pytest.raises(ValidationError):
        TableDefinition(name="t", base_path="s3a://b/t", type=TableType.COPY_ON_WRITE, record_key=())


def test_every_type_and_operation_has_hudis_own_name() -> None:
    assert {kind: kind.hudi_name for kind in TableType} == {
        TableType.COPY_ON_WRITE: "COPY_ON_WRITE",
        TableType.MERGE_ON_READ: "MERGE_ON_READ",
    }
    assert [operation.hudi_name for operation in WriteOperation] == [
        "upsert",
        "insert",
        "bulk_insert",
        "delete",
        "insert_overwrite",
    ]


def test_the_keys_in_commits_share_the_prefix_by_which_hudi_copies_them() -> None:
    assert CHECKPOINT_KEY.startswith(METADATA_PREFIX)
    assert RUN_KEY.startswith(METADATA_PREFIX)
    assert CHECKPOINT_KEY != RUN_KEY


FILES = {"path": "s3a://landing/", "format": "csv", "pathGlob": "*.csv"}


def test_the_kind_of_a_source_says_how_it_is_read() -> None:
    task = IngestionTask.model_validate({"source": {"kind": "files", **FILES}})
    assert task.source == FileSource(path="s3a://landing/", format=FileFormat.CSV, path_glob="*.csv")
    with pytest.raises(ValidationError):
        IngestionTask.model_validate({"source": {"kind": "files", "topic": "flights"}})
    for kind in (["files"], None, 1, "x" * 65):
        with pytest.raises(ValidationError):
            IngestionTask.model_validate({"source": {"kind": kind, **FILES}})


def test_a_kind_of_source_that_is_not_known_here_is_kept_as_it_came() -> None:
    document = {"kind": "numbers", "upTo": 3}
    task = IngestionTask.model_validate({"source": document})
    assert isinstance(task.source, OtherSource)
    assert task.model_dump(mode="json", by_alias=True)["source"] == document
