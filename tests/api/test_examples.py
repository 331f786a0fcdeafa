"""Every example is something that the operator reads, the API server accepts and the class of the examples allows."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hudi_jobs.contract import (
    BadRecordPolicy,
    ConcurrencyMode,
    DataLossPolicy,
    Envelope,
    FileFormat,
    IngestionTableTask,
    JobRequest,
    KafkaSource,
    MessageFormat,
    SecurityProtocol,
    Service,
    TableType,
    Tombstones,
    WriteOperation,
)
from hudi_jobs.ingestion.sources.kafka.request import require_request
from hudi_jobs.operations.erase.keys import named_digest
from hudi_operator.api.resources import (
    HudiOperation,
    HudiSavepoint,
    HudiTable,
    HudiTableClass,
    parse_operation,
    parse_savepoint,
    parse_table,
    parse_table_class,
)
from hudi_operator.api.spec.table import DeletionPolicy, ExecutionMode
from hudi_operator.api.spec.table_services import (
    CleaningPolicy,
    ClusteringExecutionStrategy,
    ClusteringLayout,
    ClusteringPlanStrategy,
    ClusteringUpdates,
    CompactionPlanStrategy,
    CompactionTriggerStrategy,
    ServiceMode,
)
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.planning.policy.class_policy import policy_blockers

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"
FILES = sorted(FOLDER.glob("*.yaml"))
Document = dict[str, Any]

PARSERS: dict[str, Any] = {
    "HudiTable": parse_table,
    "HudiTableClass": parse_table_class,
    "HudiSavepoint": parse_savepoint,
    "HudiOperation": parse_operation,
}
DOCUMENTS: dict[str, Document] = {
    f"{path.relative_to(FOLDER)} {document['kind']} {document['metadata']['name']}": document
    for path in sorted(FOLDER.rglob("*.yaml"))
    if "gitops" not in path.parts  # overlays and recordings, which tests/api/test_gitops_layout.py reads
    for document in yaml.safe_load_all(path.read_text())
    if document and document["kind"] in PARSERS
}
TABLES = {name: document for name, document in DOCUMENTS.items() if document["kind"] == "HudiTable" and "/" not in name}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_an_example_is_read(document: Document) -> None:
    parsed = PARSERS[document["kind"]](document)
    assert isinstance(parsed, HudiTable | HudiTableClass | HudiSavepoint | HudiOperation), parsed


@pytest.mark.parametrize("document", TABLES.values(), ids=TABLES)
def test_the_class_of_the_examples_allows_every_table(document: Document) -> None:
    assert policy_blockers(table(document), standard_class()) == ()


@pytest.mark.cluster
@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_api_server_accepts_an_example(document: Document, request: pytest.FixtureRequest) -> None:
    fixtures = {"HudiTable": "tables", "HudiTableClass": "classes"}
    fixtures |= {"HudiSavepoint": "savepoints", "HudiOperation": "operations"}
    kind = request.getfixturevalue(fixtures[document["kind"]])
    place = kind.smallest()["metadata"]
    assert kind.refusal_of_document({**document, "metadata": {**document["metadata"], **place}}) == ""


def test_the_examples_show_every_choice_of_ingestion() -> None:
    ingestions = [ingestion for document in TABLES.values() if (ingestion := table(document).spec.ingestion)]
    files = [ingestion.source.files for ingestion in ingestions if ingestion.source.files is not None]
    assert {one.format for one in files} == set(FileFormat)
    assert {ingestion.operation for ingestion in ingestions} == set(WriteOperation)
    assert {ingestion.bad_records.policy for ingestion in ingestions} == set(BadRecordPolicy)
    assert any(ingestion.schedule.cron for ingestion in ingestions)
    assert any(ingestion.transform for ingestion in ingestions)


def test_the_examples_show_what_a_kafka_source_is_about() -> None:
    ingestions = [ingestion for document in TABLES.values() if (ingestion := table(document).spec.ingestion)]
    sources = [ingestion.source.kafka for ingestion in ingestions if ingestion.source.kafka is not None]
    assert {one.value.format for one in sources} >= {MessageFormat.JSON, MessageFormat.AVRO}
    assert {one.value.envelope for one in sources} == set(Envelope)
    assert {one.tombstones for one in sources} == set(Tombstones)
    assert {one.on_data_loss for one in sources} == set(DataLossPolicy)
    assert {one.security.protocol for one in sources} >= {SecurityProtocol.PLAINTEXT, SecurityProtocol.SASL_SSL}
    assert any(one.topic_pattern for one in sources)
    assert any(one.max_records_per_run for one in sources)


STREAMS = {name: one for name, one in TABLES.items() if "kafka" in one["spec"].get("ingestion", {}).get("source", {})}


@pytest.mark.parametrize("document", STREAMS.values(), ids=STREAMS)
def test_a_driver_accepts_what_an_example_of_a_stream_asks_for(document: Document) -> None:
    request = build_request(
        table=table({**document, "metadata": {**document["metadata"], "uid": "a-uid"}}),
        table_class=standard_class().spec,
        service=Service.INGESTION,
        run="example",
        spark_conf={},
        operator="operator",
    )
    again = JobRequest.model_validate_json(request.model_dump_json(by_alias=True))
    (task,) = again.tasks
    assert isinstance(task, IngestionTableTask)
    assert isinstance(task.ingestion.source, KafkaSource)
    require_request(task.ingestion, task.ingestion.source, task.table)


def test_the_examples_show_savepoints_on_a_schedule_and_the_class_allows_one_more_than_are_kept() -> None:
    schedules = [schedule for document in TABLES.values() if (schedule := table(document).spec.savepoints)]
    most = standard_class().spec.savepoints.max_per_table
    assert schedules
    for one in schedules:
        assert one.keep_last + one.keep_daily + one.keep_weekly + one.keep_monthly < most


def test_the_examples_show_a_savepoint_that_expires_and_one_that_is_adopted_and_kept() -> None:
    found = [parse_savepoint(document) for document in DOCUMENTS.values() if document["kind"] == "HudiSavepoint"]
    specs = [one.spec for one in found if isinstance(one, HudiSavepoint)]
    assert any(one.latest and one.expires_after for one in specs)
    assert any(one.instant and one.keep_forever and one.deletion_policy for one in specs)


def test_the_examples_show_cluster_mode_and_inline_services() -> None:
    specs = [table(document).spec for document in TABLES.values()]
    assert any(spec.execution.mode is ExecutionMode.CLUSTER for spec in specs)
    for service in ("compaction", "clustering", "cleaning", "archival"):
        modes = {getattr(spec, service).mode for spec in specs}
        assert {ServiceMode.INLINE, ServiceMode.ASYNC} <= modes, service


def test_the_examples_show_every_choice_of_a_table_service() -> None:
    specs = [table(document).spec for document in TABLES.values()]
    compactions = [spec.compaction for spec in specs if spec.type is TableType.MERGE_ON_READ]
    clusterings = [spec.clustering for spec in specs if spec.clustering.mode is ServiceMode.ASYNC]
    assert {one.trigger.strategy for one in compactions} == set(CompactionTriggerStrategy)
    assert {one.plan.strategy for one in compactions} == set(CompactionPlanStrategy)
    assert any(one.plan.partition_regex for one in compactions)
    assert {one.plan.strategy for one in clusterings} == set(ClusteringPlanStrategy)
    assert any(one.plan.partitions.names for one in clusterings)
    assert {one.execution.strategy for one in clusterings} == set(ClusteringExecutionStrategy)
    assert {one.execution.layout for one in clusterings} == set(ClusteringLayout)
    assert {one.updates for one in clusterings} == set(ClusteringUpdates)
    assert {spec.cleaning.policy for spec in specs} == set(CleaningPolicy)
    assert {spec.concurrency.mode for spec in specs} == set(ConcurrencyMode)
    assert {spec.deletion_policy for spec in specs} == set(DeletionPolicy)


def test_the_digest_of_the_example_of_a_file_of_keys_is_that_of_its_keys() -> None:
    path = FOLDER / "erase-keys-of-a-file.yaml"
    keys = [json.loads(line[1:]) for line in path.read_text().splitlines() if line.startswith("#   {")]
    erase = yaml.safe_load(path.read_text())["spec"]["erase"]
    assert erase["keysFrom"]["digest"] == named_digest(("customer_id",), {(key["customer_id"],) for key in keys})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_begins_with_a_comment_that_says_what_it_shows(path: Path) -> None:
    assert path.read_text().startswith("# ")


def test_no_two_examples_share_a_name_or_a_folder() -> None:
    shown = {name: document for name, document in DOCUMENTS.items() if "/" not in name}
    names = [(document["kind"], document["metadata"]["name"]) for document in shown.values()]
    folders = [document["spec"]["basePath"] for document in TABLES.values()]
    assert len(set(names)) == len(names)
    assert len(set(folders)) == len(folders)


def table(document: Document) -> HudiTable:
    parsed = parse_table(document)
    assert isinstance(parsed, HudiTable), parsed
    return parsed


def standard_class() -> HudiTableClass:
    parsed = parse_table_class(yaml.safe_load((FOLDER / "class-standard.yaml").read_text()))
    assert isinstance(parsed, HudiTableClass), parsed
    return parsed
