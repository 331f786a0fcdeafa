"""The schema registry that tests of streams have: ids stay what they are."""

import json
import uuid

import pytest

from toolkit.streams import Refused, SchemaRegistry

pytestmark = [pytest.mark.streams, pytest.mark.slow]

PROTOBUF = 'syntax = "proto3"; message Event { int64 id = 1; }'
JSON = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}


def _record(**fields: object) -> dict[str, object]:
    return {"type": "record", "name": "row", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


@pytest.fixture
def subject() -> str:
    return f"subject-{uuid.uuid4().hex[:8]}"


def test_ids_outlive_a_registry_that_is_killed(schema_registry: SchemaRegistry, subject: str) -> None:
    schemas = {
        schema_registry.register(f"{subject}-avro", _record(id="long")): json.dumps(_record(id="long")),
        schema_registry.register(f"{subject}-protobuf", PROTOBUF, "PROTOBUF"): PROTOBUF,
        schema_registry.register(f"{subject}-json", JSON, "JSON"): json.dumps(JSON),
    }
    assert len(schemas) == 3

    schema_registry.kill()
    schema_registry.start()

    assert {identifier: schema_registry.schema(identifier) for identifier in schemas} == schemas
    assert schema_registry.register(f"{subject}-avro", _record(id="long")) == min(schemas)
    assert schema_registry.register(f"{subject}-avro", _record(id="long", more="string")) > max(schemas)


def test_a_schema_that_is_not_compatible_is_refused(schema_registry: SchemaRegistry, subject: str) -> None:
    schema_registry.register(subject, _record(id="long"))
    schema_registry.set_compatibility(subject, "BACKWARD")

    with pytest.raises(Refused, match="409"):
        schema_registry.register(subject, _record(id="string"))


def test_an_id_that_nobody_has_registered_is_refused(schema_registry: SchemaRegistry) -> None:
    with pytest.raises(Refused, match="404"):
        schema_registry.schema(1_000_000)
