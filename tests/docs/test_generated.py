"""The command that writes and checks what is made from the code."""

from pathlib import Path

import pytest

import generate

ROOT = Path(__file__).parents[2]


def test_the_committed_files_are_what_the_code_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert generate.main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "text"),
    [("crds/hudi-operator.io_huditables.yaml", "Last commit"), ("docs/reference/names.md", "Image of the Spark jobs")],
)
def test_check_fails_with_a_diff_after_a_file_was_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert generate.main(["--write"]) == 0
    assert generate.main(["--check"]) == 0
    edited = tmp_path / file
    edited.write_text(edited.read_text().replace(text, "Anything"))
    assert generate.main(["--check"]) == 1
    output = capsys.readouterr()
    assert [line for line in output.out.splitlines() if line.startswith("+") and text in line]
    assert [line for line in output.out.splitlines() if line.startswith("-") and "Anything" in line]
    assert "--write" in output.err


def test_check_fails_when_a_file_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert generate.main(["--check"]) == 1
