"""The registries of sources: what mypy cannot see of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.planning.world import table

from hudi_jobs.contract.sources.source import KINDS as DOCUMENTS
from hudi_jobs.ingestion.sources.registry import SOURCES
from hudi_operator.api.spec.source import Source
from hudi_operator.planning.model import BlockerReason
from hudi_operator.sources.definition import DeclaredSource, RefusalReason
from hudi_operator.sources.registry import KINDS, UPSTREAM_FIELDS, declared_source

PACKAGE = Path(__file__).parents[2] / "operator" / "hudi_operator"

SMALLEST: dict[str, dict[str, Any]] = {
    "files": {"path": "s3a://landing/flights", "format": "csv"},
    "kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["orders"]},
    "hudi": {"path": "s3a://landing/orders"},
}

KNOWING = ("api/spec/source.py", "api/spec/sources/", "sources/registry.py", "sources/kinds/", "timeline/")
"""Where kinds of source are named; the timeline has files of its own."""


def declared(name: str) -> DeclaredSource[Any]:
    source = declared_source(table(ingestion={"source": {name: SMALLEST[name]}}).spec)
    assert source is not None
    return source


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_declared_source_is_of_the_kind_that_its_field_names(kind: type[DeclaredSource[Any]]) -> None:
    source = declared(kind.name)
    assert type(source) is kind
    assert source.document.kind == kind.name


def test_all_registries_have_the_same_kinds() -> None:
    names = sorted(kind.name for kind in KINDS)
    assert names == sorted(Source.model_fields) == sorted(SOURCES) == sorted(DOCUMENTS)


def test_a_kind_that_reads_a_table_names_the_field_of_its_path() -> None:
    upstream = dict(UPSTREAM_FIELDS)
    for name, fields in SMALLEST.items():
        assert declared(name).upstream == (fields[upstream[name]] if name in upstream else None)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_limits_that_a_kind_names_are_fields_of_its_spec(kind: type[DeclaredSource[Any]]) -> None:
    source = declared(kind.name)
    fields = type(source.spec).model_fields.values()
    assert set(source.limit_fields) <= {field.alias for field in fields}
    assert len(source.limit_fields) == len(source.limits)


def test_each_refusal_of_a_source_is_a_reason_of_a_table() -> None:
    assert {one.value for one in RefusalReason} <= {one.value for one in BlockerReason}


def test_no_other_module_of_the_operator_tells_kinds_of_source_apart() -> None:
    """Advice may name a field of a kind, in backticks."""
    kinds = "|".join(kind.name for kind in KINDS)
    telling = re.compile(
        rf"(?<!`)\bsource\.({kinds})\b|\bspec\.sources\.({kinds})\b|\ballowed_kafka\b|\bsources\.kinds\b"
    )
    modules = {str(path.relative_to(PACKAGE)): path.read_text() for path in PACKAGE.rglob("*.py")}
    found = {name for name, text in modules.items() if not name.startswith(KNOWING) and telling.search(text)}
    assert not found
