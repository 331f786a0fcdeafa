"""`plan`: what files would do, without a cluster."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.command import command

from hudi_operator.cli.plan.documents import load_documents

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DEMO = EXAMPLES / "demo"
TABLE: dict[str, Any] = {
    "apiVersion": "hudi-operator.io/v1beta1",
    "kind": "HudiTable",
    "metadata": {"name": "orders", "namespace": "team-a"},
    "spec": {
        "basePath": "s3a://lake/team-a/orders",
        "type": "MergeOnRead",
        "recordKey": ["id"],
        "tableClassName": "gold",
    },
}
CLASS: dict[str, Any] = {
    "apiVersion": "hudi-operator.io/v1beta1",
    "kind": "HudiTableClass",
    "metadata": {"name": "gold"},
    "spec": {"allowedBasePaths": ["s3a://lake/{namespace}"], "sparkImage": "registry.example/spark:7"},
}


def written(folder: Path, *documents: dict[str, Any]) -> str:
    file = folder / "resources.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return str(file)


def with_spec(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**document, "spec": {**document["spec"], **changes}}


def test_demo_would_be_accepted_and_starts_with_an_ingestion() -> None:
    done = command("plan", "-f", str(DEMO))
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("First, on a new table: Ingestion") == 2
    assert "ingestion: Scheduled" in done.stdout


def test_no_example_has_an_invalid_field() -> None:
    paths = [*EXAMPLES.glob("*.yaml"), EXAMPLES / "gitops" / "tables"]
    done = command("plan", *(f"--filename={path}" for path in paths))
    assert done.stdout.count(": HudiTable ") > 30
    assert "invalid" not in done.stdout


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"recordKy": ["id"]}, "spec.recordKy: there is no such field"),
        ({"type": "MergeOnRea"}, "spec.type: Input should be 'CopyOnWrite' or 'MergeOnRead'"),
        (
            {"compaction": {"trigger": {"deltaCommit": 3}}},
            "spec.compaction.trigger.deltaCommit: there is no such field",
        ),
        ({"recordKey": None}, "spec.recordKey: "),
        ({"recordKey": [7]}, "spec.recordKey[0]: "),
    ],
)
def test_invalid_field_is_named_by_its_path(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    done = command("plan", "-f", written(tmp_path, CLASS, with_spec(TABLE, **changes)))
    assert done.returncode == 1
    assert f"invalid {problem}" in done.stdout


def test_class_refuses_what_it_does_not_allow(tmp_path: Path) -> None:
    done = command("plan", "-f", written(tmp_path, CLASS, with_spec(TABLE, basePath="s3a://lake/team-b/orders")))
    assert done.returncode == 1
    assert (
        "refused PathNotAllowed: basePath s3a://lake/team-b/orders is outside of what class gold allows" in done.stdout
    )
    elsewhere = with_spec(CLASS, allowedNamespaces={"names": ["team-b"]})
    refused = command("plan", "-f", written(tmp_path, elsewhere, TABLE))
    assert "refused ClassNotAllowed" in refused.stdout


def test_class_that_selects_namespaces_by_labels_is_noted_and_refuses_nothing(tmp_path: Path) -> None:
    selecting = with_spec(CLASS, allowedNamespaces={"selector": {"matchLabels": {"tier": "gold"}}})
    done = command("plan", "-f", written(tmp_path, selecting, TABLE))
    assert done.returncode == 0
    assert "Labels of namespace team-a decide whether class gold is allowed." in done.stdout


def test_missing_class_leaves_the_table_unchecked(tmp_path: Path) -> None:
    done = command("plan", "-f", written(tmp_path, TABLE))
    assert done.returncode == 0
    assert "unchecked The files do not have gold" in done.stdout


def test_default_class_is_that_of_tables_without_a_class_name(tmp_path: Path) -> None:
    default = {**CLASS, "metadata": {"name": "gold", "annotations": {"hudi-operator.io/is-default-class": "true"}}}
    unnamed = {**TABLE, "spec": {key: value for key, value in TABLE["spec"].items() if key != "tableClassName"}}
    assert "First, on a new table" in command("plan", "-f", written(tmp_path, default, unnamed)).stdout
    assert "unchecked" in command("plan", "-f", written(tmp_path, CLASS, unnamed)).stdout


def test_first_of_two_default_classes_by_name_counts_as_in_the_cluster(tmp_path: Path) -> None:
    marked = {"annotations": {"hudi-operator.io/is-default-class": "true"}}
    silver, gold = ({**CLASS, "metadata": {"name": name, **marked}} for name in ("silver", "gold"))
    unnamed = {**TABLE, "spec": {key: value for key, value in TABLE["spec"].items() if key != "tableClassName"}}
    gold = with_spec(gold, allowedBasePaths=["s3a://other"])
    done = command("plan", "-f", written(tmp_path, silver, gold, unnamed))
    assert "is outside of what class gold allows" in done.stdout


def test_class_without_metadata_is_invalid_and_harms_no_table(tmp_path: Path) -> None:
    nameless = {key: value for key, value in CLASS.items() if key != "metadata"}
    done = command("plan", "-f", written(tmp_path, nameless, CLASS, TABLE))
    assert (done.returncode, "invalid metadata.name" in done.stdout) == (1, True)
    assert "First, on a new table" in done.stdout


def test_unsafe_setting_of_a_class_is_said(tmp_path: Path) -> None:
    unsafe = with_spec(CLASS, allowedSparkConf=["spark.driver.extraJavaOptions"])
    assert "unchecked" in command("plan", "-f", written(tmp_path, unsafe)).stdout


def test_defaults_are_those_fields_that_the_spec_leaves_out(tmp_path: Path) -> None:
    given = with_spec(TABLE, compaction={"trigger": {"deltaCommits": 3}})
    shown = command("plan", "-f", written(tmp_path, given), "--defaults").stdout
    assert 'compaction.trigger.strategy: "NumCommits"' in shown
    assert "compaction.trigger.deltaCommits" not in shown
    assert "recordKey" not in shown


def test_manifest_is_the_job_that_would_start_with_the_image_of_the_class() -> None:
    done = command("plan", "-f", str(DEMO), "--manifest", "--spark-image", "registry.example/spark:7")
    jobs = list(yaml.safe_load_all(done.stdout))
    assert [one["kind"] for one in jobs] == ["Job", "Job"]
    (container,) = jobs[0]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/spark:7"


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("type: CopyOnWrite\ntype: MergeOnRead", "the key 'type' comes twice"),
        (BOMB, "more than 200,000 values"),
        ("a: &a [*a]", "more than 200,000 values"),
        ("a: " + "[" * 3000 + "]" * 3000, "too deep"),
        ("a: " + "9" * 5000, "5000 digits"),
        ("a: !!set {x, y}", "a value of type set"),
        ("a: !!python/object/apply:os.system [id]", "could not determine a constructor"),
        ("a: \x1b]0;x\x07", "special characters are not allowed"),
    ],
)
def test_text_that_harms_or_is_ambiguous_is_refused_with_its_file(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    done = command("plan", "-f", str(tmp_path))
    assert (done.returncode, said in done.stderr, "x.yaml is no YAML" in done.stderr) == (2, True, True), done.stderr


@pytest.mark.parametrize("content", ["name: Müller".encode("latin-1"), b"\xff\xfea\x00", bytes(9_000_000)])
def test_file_that_is_no_text_or_too_large_is_a_usage_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    assert command("plan", "-f", str(tmp_path / "x.yaml")).returncode == 2


def test_dates_and_merged_keys_are_read_as_kubernetes_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "a: &a {x: 2, at: 2026-03-10T14:00:00Z, every: 1:30}\n"
        "first: {deep: &b {<<: *a, x: 1}}\n"
        "second: {<<: *b, number: 0x10}\n"
    )
    (found,) = load_documents(file.read_text())
    assert found["second"] == {"x": 1, "at": "2026-03-10T14:00:00Z", "every": "1:30", "number": 16}


def test_standard_input_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    given = TextIOWrapper(BytesIO(yaml.safe_dump_all([CLASS, TABLE]).encode()))
    monkeypatch.setattr("sys.stdin", given)
    done = command("plan", "-f", "-")
    assert (done.returncode, "standard input: HudiTable orders" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"apiVersion": "hudi-operator.io/v1"}, "apiVersion: must be hudi-operator.io/v1beta1"),
        ({"kind": "HudiTabel"}, "kind: hudi-operator.io has no kind HudiTabel"),
        ({"metadata": ["orders"]}, "metadata.name: is missing"),
        ({"metadata": {"name": 5}}, "metadata.name: is no name"),
        ({"metadata": {"name": "Or ders"}}, "metadata.name: is no name"),
        ({"metadata": {"name": "orders", "namespace": {}, "labels": ["x"]}}, "metadata.labels: must be texts by name"),
    ],
)
def test_mistake_outside_of_the_spec_is_named(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    done = command("plan", "-f", written(tmp_path, CLASS, {**TABLE, **changes}))
    assert (done.returncode, f"invalid {problem}" in done.stdout) == (1, True), done.stdout


@pytest.mark.parametrize("text", ["a: b: c", "\x00", "- 1\n- 2", "", "kind: HudiTable"])
def test_file_without_resources_is_a_usage_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    done = command("plan", "-f", str(file))
    assert done.returncode == 2
    assert "Error: " in done.stderr


def test_missing_file_is_named(tmp_path: Path) -> None:
    done = command("plan", "-f", str(tmp_path / "none.yaml"))
    assert (done.returncode, "none.yaml cannot be read" in done.stderr) == (2, True)


@pytest.mark.parametrize("spec", [None, [], "x", {"basePath": 7}])
@pytest.mark.parametrize("kind", ["HudiTable", "HudiTableClass"])
def test_spec_of_another_shape_is_invalid(spec: Any, kind: str, tmp_path: Path) -> None:
    document = {"apiVersion": "hudi-operator.io/v1beta1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    done = command("plan", "-f", written(tmp_path, document))
    assert (done.returncode, "invalid spec" in done.stdout) == (1, True)


def test_document_without_a_name_is_invalid(tmp_path: Path) -> None:
    shapes: tuple[Any, ...] = (None, {}, [], "x")
    for metadata in shapes:
        done = command("plan", "-f", written(tmp_path, {**TABLE, "metadata": metadata}))
        assert (done.returncode, "metadata.name" in done.stdout) == (1, True)
