from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.cli.command import command

CRDS = sorted((Path(__file__).parents[2] / "crds").glob("*.yaml"))


def hudi_operator(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "hudi_operator", *arguments),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**{name: value for name, value in os.environ.items() if "HUDI_OPERATOR" not in name}, **environment},
    )


def test_the_resource_definitions_are_printed_as_they_are_committed() -> None:
    printed = list(yaml.load_all(command("crds").stdout, yaml.CSafeLoader))
    committed = [yaml.load(path.read_text(), yaml.CSafeLoader) for path in CRDS]
    assert sorted(printed, key=str) == sorted(committed, key=str)


def test_the_version_is_one_line() -> None:
    done = hudi_operator("version")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(("command", "typed"), [("hudi-operator", "hudi-operator"), ("kubectl-hudi", "kubectl hudi")])
def test_the_help_names_the_command_as_it_is_typed(command: str, typed: str) -> None:
    program = Path(sys.executable).parent / command
    for arguments in (("--help",), ("adopt", "--help")):
        done = subprocess.run((program, *arguments), capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"usage: {typed} ")


def test_the_timeline_command_is_reached() -> None:
    done = command("timeline", "/no/such/table")
    assert done.returncode == 2
    assert "/no/such/table" in done.stderr


@pytest.mark.parametrize("name", ["run", "crds", "timeline", "adopt", "version"])
def test_every_command_is_listed_and_has_help_of_one_style(name: str) -> None:
    assert f"    {name} " in command("--help").stdout
    done = command(name, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: hudi-operator {name} ")


def test_an_unknown_command_is_refused_with_those_there_are() -> None:
    done = command("timelines")
    assert done.returncode == 2
    assert "invalid choice: 'timelines'" in done.stderr


def test_kubectl_finds_the_command_as_its_plugin() -> None:
    plugin = Path(sys.executable).parent / "kubectl-hudi"
    done = subprocess.run((plugin, "timeline", "/no/such/table"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "/no/such/table" in done.stderr


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "HUDI_OPERATOR_SPARK_IMAGE"),
        ({"HUDI_OPERATOR_SPARK_IMAGE": "x", "HUDI_OPERATOR_WORKERS": "none"}, "HUDI_OPERATOR_WORKERS"),
    ],
)
def test_operator_with_invalid_settings_does_not_start_and_names_the_setting(
    environment: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HUDI_OPERATOR_SPARK_IMAGE", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = command("run")
    assert done.returncode == 1
    assert named in done.stderr


def test_operator_without_a_cluster_ends_with_a_sentence() -> None:
    done = hudi_operator("run", HUDI_OPERATOR_SPARK_IMAGE="x", KUBECONFIG="/no/such/file")
    assert done.returncode == 1
    assert "set KUBECONFIG" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        ("timeline /no/such/table", {"kopf", "kubernetes", "pydantic", "pyarrow"}),
        ("version", {"kopf", "kubernetes", "pydantic", "pyarrow"}),
        ("crds", {"kopf", "kubernetes"}),
    ],
)
def test_a_command_for_people_loads_no_library_that_it_does_not_need(arguments: str, unwanted: set[str]) -> None:
    program = (
        "import atexit, sys\n"
        f"sys.argv = ['hudi-operator', *{arguments.split()!r}]\n"
        f"atexit.register(lambda: print('loaded:', {unwanted!r} & set(sys.modules), file=sys.stderr))\n"
        "from hudi_operator.cli.main import run\n"
        "run()\n"
    )
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, timeout=120, check=False)
    assert "loaded: set()" in done.stderr
