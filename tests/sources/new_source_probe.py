"""Prints what the operator and the driver make of a table that reads the source of `tests/fixtures/new_source`."""

from __future__ import annotations

import json
import sys
from typing import Any, cast

from tests.planning.world import IMAGE, JOB, OPERATOR, active, class_spec, observe, table, table_class

from hudi_jobs.contract import IngestionTableTask, JobRequest, Service
from hudi_jobs.ingestion.batch import Limit
from hudi_jobs.ingestion.sources.registry import source_of
from hudi_operator.api.crd.definitions import KINDS, crd_document
from hudi_operator.api.resources import HudiTable
from hudi_operator.control.observation.derived import root_of
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.planning.model.times import source_of as fingerprint
from hudi_operator.planning.policy.class_policy import policy_blockers
from hudi_operator.sources.registry import declared_source, rescan_refusal

COUNTER = {"host": "counter.example.com", "first": 7, "credentialsSecretName": "counter-user", "maxRecordsPerRun": 5}
ALLOWED = {"allowedCounters": [{"host": "counter.example.com"}]}


def main() -> None:
    one = table(recordKey=["number"], ingestion={"source": {"counter": COUNTER}})
    report: dict[str, Any] = {
        "definitions": definitions(),
        "policy": policy(one),
        "rescan": rescan_refusal(one.spec, "read"),
    }
    report |= {"driver": driver(one), "volumes": volumes(one), "reads": root_of(one).reads}
    source = declared_source(one.spec)
    assert source is not None
    report["digests"] = digests()
    report |= {"limits": source.limit_fields, "fingerprint": fingerprint(one.spec)}
    sys.stdout.write(json.dumps(report))


def definitions() -> dict[str, Any]:
    specs = {}
    for kind in KINDS:
        (version,) = crd_document(kind)["spec"]["versions"]
        specs[kind.kind] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    of_table, of_class = specs["HudiTable"], specs["HudiTableClass"]
    ingestion = of_table["properties"]["ingestion"]
    source = ingestion["properties"]["source"]
    places = (of_table, ingestion, source)
    return {
        "fields": sorted(source["properties"]["counter"]["properties"]),
        "class": sorted(of_class["properties"]["allowedCounters"]["items"]["properties"]),
        "rules": [one["message"] for place in places for one in place["x-kubernetes-validations"]],
    }


def policy(one: HudiTable) -> dict[str, list[str]]:
    classes = {"allowed": table_class(**ALLOWED), "not allowed": table_class()}
    found = {name: policy_blockers(one, table_class) for name, table_class in classes.items()}
    return {name: [f"{each.reason}: {each.message}" for each in some] for name, some in found.items()}


def driver(one: HudiTable) -> dict[str, Any]:
    """Send the request through JSON, and let the driver's registry read two batches."""
    asked: dict[str, Any] = {"service": Service.INGESTION, "spark_conf": {}, "operator": OPERATOR}
    request = build_request(table=one, table_class=class_spec(**ALLOWED), run=JOB, **asked)
    (task,) = JobRequest.model_validate_json(request.model_dump_json(by_alias=True, exclude_none=True)).tasks
    assert isinstance(task, IngestionTableTask)
    source = source_of(cast("Any", None), task.ingestion)
    limit = Limit(items=task.ingestion.max_records)
    first = source.fetch_next(None, limit)
    second = source.fetch_next(first.checkpoint, limit)
    displays = [batch.checkpoint.display for batch in (first, second) if batch.checkpoint is not None]
    return {"document": task.ingestion.source.model_dump(), "class": type(source).__name__, "batches": displays}


def digests() -> list[str]:
    """Return the digest of two counters; neither reads a store."""
    specs = [
        table(recordKey=["number"], ingestion={"source": {"counter": {**COUNTER, "first": one}}}) for one in (7, 8)
    ]
    sources = [declared_source(one.spec) for one in specs]
    found = [one.digest(cast("Any", None)) for one in sources if one is not None and one.can_be_looked_at]
    return [one.digest for one in found if one is not None]


def volumes(one: HudiTable) -> list[str]:
    observation = observe(one, table_class=table_class(**ALLOWED))
    document = build_manifest(observation, active(), default_image=IMAGE)
    pod = document["spec"]["template"]["spec"]
    return [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]


if __name__ == "__main__":
    main()
