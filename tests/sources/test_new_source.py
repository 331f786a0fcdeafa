"""A new kind of source: its own modules and a line in each registry make a table with it work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NEW = ROOT / "tests" / "fixtures" / "new_source"
PROBE = Path(__file__).with_name("new_source_probe.py")

LINES = {
    "spark_jobs/hudi_jobs/contract/sources/source.py": (
        ("from hudi_jobs.contract.sources.files", "from hudi_jobs.contract.sources.counter import CounterSource"),
        ("    | Annotated[HudiSource", '    | Annotated[CounterSource, Tag("counter")]'),
    ),
    "spark_jobs/hudi_jobs/ingestion/sources/registry.py": (
        ("from hudi_jobs.ingestion.sources.files", "from hudi_jobs.ingestion.sources.counter import Counter"),
        ('    "hudi": Hudi', '    "counter": Counter,'),
    ),
    "operator/hudi_operator/api/spec/source.py": (
        (
            "from hudi_operator.api.spec.sources.files",
            "from hudi_operator.api.spec.sources.counter import AllowedCounter, CounterSourceSpec",
        ),
        ("    hudi: HudiSourceSpec", "    counter: CounterSourceSpec | None = None"),
        (
            "    allowed_kafka: ",
            "    allowed_counters: Annotated[tuple[AllowedCounter, ...], Field(max_length=8)] = ()",
        ),
    ),
    "operator/hudi_operator/sources/registry.py": (
        ("from hudi_operator.sources.kinds.files", "from hudi_operator.sources.kinds.counter import Counter"),
        ("    Hudi,", "    Counter,"),
    ),
}
"""The lines of a registry, each with the line before which it stands."""


def own_files() -> list[str]:
    return sorted(str(path.relative_to(NEW)) for path in NEW.rglob("*.py"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree with the new source."""
    tree = tmp_path_factory.mktemp("tree")
    for package in ("operator/hudi_operator", "spark_jobs/hudi_jobs"):
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    assert not any((tree / name).exists() for name in own_files())
    shutil.copytree(NEW, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name, lines in LINES.items():
        text = (tree / name).read_text()
        for before, line in lines:
            assert len(re.findall(f"^{re.escape(before)}", text, re.MULTILINE)) == 1, (name, before)
            text = re.sub(f"^{re.escape(before)}", f"{line}\n{before}", text, flags=re.MULTILINE)
        (tree / name).write_text(text)
    return tree


@pytest.fixture(scope="module")
def found(tree: Path) -> dict[str, Any]:
    """What the operator and the driver of the copy say."""
    path = os.pathsep.join(str(one) for one in (tree / "operator", tree / "spark_jobs", ROOT))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(PROBE)]
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_definitions_have_the_fields_and_rules_of_a_new_source(found: dict[str, Any]) -> None:
    definitions = found["definitions"]
    assert definitions["fields"] == ["credentialsSecretName", "first", "host", "maxRecordsPerRun"]
    assert definitions["class"] == ["host"]
    assert {
        "exactly one of files, kafka, counter and hudi must be set",
        "source.counter needs operation Upsert",
        "source.counter needs the recordKey [number]",
    } <= set(definitions["rules"])


def test_a_class_must_allow_what_a_new_source_names(found: dict[str, Any]) -> None:
    (refusal,) = found["policy"]["not allowed"]
    assert refusal.startswith("SourceNotAllowed: ingestion.source.counter.host counter.example.com is not in allowed")
    assert found["policy"]["allowed"] == []


def test_the_request_of_a_new_source_is_read_by_the_registry_of_the_driver(found: dict[str, Any]) -> None:
    assert found["driver"] == {
        "document": {
            "kind": "counter",
            "host": "counter.example.com",
            "first": 7,
            "credentials_folder": "/etc/hudi-secrets/counter-credentials",
        },
        "class": "Counter",
        "batches": ["up to 12", "up to 17"],
    }


def test_pods_mount_the_secrets_of_a_new_source(found: dict[str, Any]) -> None:
    assert found["volumes"] == ["counter-user"]


def test_limits_rescans_and_lineage_are_those_that_a_new_source_declares(found: dict[str, Any]) -> None:
    assert found["limits"] == ["maxRecordsPerRun"]
    assert found["rescan"] == "A counter is not read again: write another table from it."
    assert found["reads"] is None
    assert found["fingerprint"]


def test_a_new_source_brings_its_own_digest_of_its_input(found: dict[str, Any]) -> None:
    first, second = found["digests"]
    assert first != second


def test_contributing_names_the_files_that_a_new_source_touches() -> None:
    recipe = (ROOT / "CONTRIBUTING.md").read_text().split("### Add a source")[1].split("\n### ")[0]
    modules, registries = own_files(), list(LINES)
    assert "Four modules" in recipe
    assert "a line in each of four registries" in recipe
    assert (len(modules), len(registries)) == (4, 4)
    named = set(re.findall(r"`([a-z_/]+(?:/|\.py))`", recipe))
    for module in modules:
        folder = f"{Path(module).parent}/"
        assert any(folder.endswith(one) for one in named), folder
    for registry in registries:
        assert any(registry.endswith(one) for one in named), registry
