"""What a build of the local cluster's programs tells while it runs."""

import sys

import pytest

from localcluster import console
from localcluster.toolchain import build_progress

DOWNLOADS = "go: downloading k8s.io/api v0.34.4\ngo: downloading k8s.io/client-go v0.34.4\n"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("", "reading what is there already"),
        (DOWNLOADS, "downloaded 2 modules"),
        (DOWNLOADS + "k8s.io/api/core/v1\nk8s.io/client-go/rest\n", "compiled 2 packages, now k8s.io/client-go/rest"),
        ("# command-line-arguments\n", "reading what is there already"),
    ],
)
def test_build_tells_whether_it_downloads_or_compiles(output: str, told: str) -> None:
    assert build_progress(output) == told


def test_progress_tells_of_this_program_and_not_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "LOGS", tmp_path)
    monkeypatch.setattr(console, "HEARTBEAT_SECONDS", 0.2)
    for text, seconds in (("first", 0), ("second", 1)):
        program = f"import time; print({text!r}, flush=True); time.sleep({seconds})"
        console.run_logged([sys.executable, "-c", program], log_name="x", what="trying")
    said = capsys.readouterr().out
    assert "last line: second" in said
    assert "first" not in said
