from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.cli.command import command

from hudi_operator.cli.base.app import COMPLETE_VAR
from hudi_operator.cli.registry import COMMANDS, load

COMMAND_FILES = Path(__file__).parents[2] / "operator" / "hudi_operator" / "cli" / "commands"
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


@pytest.mark.parametrize("name", [*COMMANDS])
def test_every_command_is_listed_and_has_help_of_one_style(name: str) -> None:
    assert f"    {name} " in command("--help").stdout
    done = command(name, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: hudi-operator {name} ")


@pytest.mark.parametrize("name", [*COMMANDS])
def test_help_has_examples_that_the_command_line_reads_and_exit_codes(name: str) -> None:
    examples = load(name).examples
    assert examples
    for example in examples:
        assert f"hudi-operator {example}" in command(name, "--help").stdout
        first, *others = shlex.split(example)
        assert first == name
        load(first).make_context(first, others)
    assert "Exit codes:" in command(name, "--help").stdout


def test_file_of_a_command_is_in_the_registry() -> None:
    modules = {path.stem.replace("_", "-") for path in COMMAND_FILES.glob("[a-z]*.py")}
    assert modules == {*COMMANDS}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_of_a_shell_completes_both_programs(shell: str) -> None:
    for program, variable in (("hudi-operator", "_hudi_operator"), ("kubectl-hudi", "_kubectl_hudi")):
        done = subprocess.run(
            (Path(sys.executable).parent / program, "completion", shell), capture_output=True, text=True, check=True
        )
        assert program in done.stdout
        assert variable in done.stdout
        assert COMPLETE_VAR in done.stdout


def test_shell_is_offered_commands_and_options_without_loading_commands() -> None:
    environment = {COMPLETE_VAR: "bash_complete", "COMP_WORDS": "hudi-operator ti", "COMP_CWORD": "1"}
    assert hudi_operator(**environment).stdout.split() == ["plain,timeline"]
    environment |= {"COMP_WORDS": "hudi-operator timeline --arch", "COMP_CWORD": "2"}
    assert hudi_operator(**environment).stdout.split() == ["plain,--archived"]


def test_kubectl_is_offered_commands_by_the_program_that_it_asks(tmp_path: Path) -> None:
    program = tmp_path / "kubectl_complete-hudi"
    program.symlink_to(Path(sys.executable).parent / "kubectl-hudi")
    done = subprocess.run((program, "ver"), capture_output=True, text=True, check=True)
    assert done.stdout == f"version\t{COMMANDS['version'].summary}\n:4\n"


def test_an_unknown_command_is_refused_with_those_there_are() -> None:
    done = command("timelines")
    assert done.returncode == 2
    assert "invalid choice: 'timelines'" in done.stderr


def test_plugin_without_a_table_does_not_start_the_operator() -> None:
    plugin = Path(sys.executable).parent / "kubectl-hudi"
    done = subprocess.run((plugin, "run"), capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "Missing argument 'TABLE'" in done.stderr) == (2, True)


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


@pytest.mark.parametrize("word", ["", "ht/", ".", "..", "*", "a/b", "ORDERS", "x" * 254, "or\x1b[31mders", "orders\n"])
def test_word_that_no_object_can_have_as_its_name_is_refused_before_any_request(word: str) -> None:
    for words in (("explain", word), ("suspend", "orders", word), ("status", "-n", word), ("run", "x", "-n", word)):
        done = command(*words, "--kubeconfig", "/no/such/file")
        assert (done.returncode, "is no name" in done.stderr, "\x1b" in done.stderr) == (2, True, False), words


@pytest.mark.parametrize(
    ("streams", "code", "said"),
    [
        (">&- 2>&- <&-", 0, ""),
        ("2>&1 >/dev/full", 1, "No space left on device"),
        ("2>&1 | true", 0, ""),
    ],
)
def test_closed_or_full_stream_ends_a_command_without_a_traceback(streams: str, code: int, said: str) -> None:
    shell = ("bash", "-o", "pipefail", "-c", f"{sys.executable} -m hudi_operator crds {streams}")
    done = subprocess.run(shell, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done
    assert said in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
