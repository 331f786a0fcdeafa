"""Declared columns: what the operator refuses beyond the rules of the API server, and which runs carry them."""

from typing import Any

import pytest
from pydantic import ValidationError
from tests.api.conftest import SMALLEST_SPECS

from hudi_jobs.contract import Service
from hudi_operator.api.crd.kinds import TABLE_CLASS
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.jobs.requests.request import build_request

Document = dict[str, Any]


def table(*more: Document) -> HudiTable:
    spec = {"basePath": "s3a://lake/flights", "type": "CopyOnWrite", "recordKey": ["id"]}
    source = {"source": {"files": {"path": "s3a://landing/flights", "format": "json"}}}
    named = [{"name": "id", "type": "bigint", "nullable": False, "comment": "the flight"}, *more]
    declared = {**spec, "schema": {"columns": named}, "ingestion": source}
    return HudiTable.model_validate(
        {"metadata": {"name": "flights", "namespace": "team", "uid": "u"}, "spec": declared}
    )


@pytest.mark.parametrize(
    "more",
    [
        {"name": "ID", "type": "int"},
        {"name": "c", "type": "decimal(3,5)"},
        {"name": "c", "type": "map<int,int>"},
        {"name": "c", "type": "struct<a:uuid>"},
    ],
)
def test_the_operator_refuses_what_the_api_server_cannot_see(more: Document) -> None:
    with pytest.raises(ValidationError):
        table(more)


def test_only_runs_of_ingestion_carry_the_columns() -> None:
    declared = {}
    for service in (Service.INGESTION, Service.COMPACTION):
        request = build_request(
            table=table(),
            table_class=HudiTableClassSpec.model_validate(SMALLEST_SPECS[TABLE_CLASS]),
            service=service,
            run="run",
            spark_conf={},
            operator="operator",
        )
        declared[service] = request.tasks[0].table.declared
    assert declared[Service.COMPACTION] is None
    found = declared[Service.INGESTION]
    assert found is not None
    assert found.ddl == "`id` bigint"
    assert found.columns[0].comment == "the flight"
