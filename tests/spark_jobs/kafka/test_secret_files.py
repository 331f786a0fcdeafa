"""Files of Secrets that come late: the kubelet may start a container a moment before it has written them."""

from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.ingestion.sources.kafka.clients import require_files
from hudi_jobs.spark.failures import TaskFailed


def source(folder: Path) -> KafkaSource:
    security = {
        "protocol": "SASL_SSL",
        "mechanism": "PLAIN",
        "credentialsFolder": str(folder / "kafka"),
        "caFile": str(folder / "ca.crt"),
    }
    registry = {"url": "http://registry", "credentialsFolder": str(folder / "registry")}
    document: dict[str, Any] = {"kind": "kafka", "bootstrapServers": "b:1", "topics": ["t"], "security": security}
    return KafkaSource.model_validate({**document, "registry": registry})


class Kubelet:
    """Writes one file after another while the driver waits."""

    def __init__(self, *files: Path) -> None:
        self.files = list(files)
        self.waited = 0.0

    def pause(self, seconds: float) -> None:
        self.waited += seconds
        if self.files:
            path = self.files.pop(0)
            path.parent.mkdir(exist_ok=True)
            path.write_text("x")


def declared(folder: Path) -> list[Path]:
    names = ("kafka/username", "kafka/password", "ca.crt", "registry/username", "registry/password")
    return [folder / name for name in names]


def test_files_that_come_late_are_waited_for(tmp_path: Path) -> None:
    kubelet = Kubelet(*declared(tmp_path))
    require_files(source(tmp_path), pause=kubelet.pause)
    assert kubelet.files == []
    assert kubelet.waited < 5


def test_files_that_are_there_are_not_waited_for(tmp_path: Path) -> None:
    kubelet = Kubelet(*declared(tmp_path))
    require_files(source(tmp_path), pause=kubelet.pause)
    again = Kubelet()
    require_files(source(tmp_path), pause=again.pause)
    assert again.waited == 0


@pytest.mark.parametrize("missing", ["kafka/username", "kafka/password", "ca.crt"])
def test_a_file_for_the_brokers_that_does_not_come_ends_the_run_within_seconds(tmp_path: Path, missing: str) -> None:
    kubelet = Kubelet(*(path for path in declared(tmp_path) if path != tmp_path / missing))
    with pytest.raises(TaskFailed, match=f"no entry {Path(missing).name}") as caught:
        require_files(source(tmp_path), pause=kubelet.pause)
    assert caught.value.reason is FailureReason.SOURCE_ACCESS_DENIED
    assert kubelet.waited == 15


def test_missing_secret_of_the_registry_is_reported_when_it_is_queried(tmp_path: Path) -> None:
    kubelet = Kubelet(*declared(tmp_path)[:-1])
    require_files(source(tmp_path), pause=kubelet.pause)
    assert kubelet.waited == 15


def test_a_source_without_secrets_waits_for_nothing() -> None:
    kubelet = Kubelet()
    bare = KafkaSource.model_validate({"kind": "kafka", "bootstrapServers": "b:1", "topics": ["t"]})
    require_files(bare, pause=kubelet.pause)
    assert kubelet.waited == 0
