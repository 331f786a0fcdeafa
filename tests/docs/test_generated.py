"""The command that writes and checks the files made from the code; `make check` runs it on the committed files."""

from pathlib import Path

import pytest

import generate

EDITED = {"crds/hudi-operator.io_huditables.yaml": "Last commit", "docs/reference/names.md": "Image of the Spark jobs"}
REMOVED = "docs/operations/findings.md"


def test_check_fails_with_a_diff_of_edited_and_missing_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert generate.main(["--write"]) == 0
    for file, text in EDITED.items():
        edited = tmp_path / file
        edited.write_text(edited.read_text().replace(text, "Anything"))
    (tmp_path / REMOVED).unlink()
    assert generate.main(["--check"]) == 1
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert {line.split()[1] for line in lines if line.startswith("+++ ")} == {*EDITED, REMOVED}
    for text in EDITED.values():
        assert [line for line in lines if line.startswith("+") and text in line]
    assert [line for line in lines if line.startswith("-") and "Anything" in line]
    assert "--write" in output.err
