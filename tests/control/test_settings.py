import os
from collections.abc import Callable

import pytest

from hudi_operator.control.settings import InvalidSettings, Settings, unknown_variables

IMAGE = {"HUDI_OPERATOR_SPARK_IMAGE": "spark:1"}

Read = Callable[[dict[str, str]], Settings]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Read the settings of an environment that holds nothing else of the operator's."""
    for name in list(os.environ):
        if name.startswith("HUDI_OPERATOR_") or name == "HOSTNAME":
            monkeypatch.delenv(name)

    def settings(environment: dict[str, str]) -> Settings:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return Settings.from_environment()

    return settings


def test_the_image_of_the_jobs_is_all_that_has_to_be_set(read: Read) -> None:
    settings = read(IMAGE)
    assert settings.spark_image == "spark:1"
    assert settings.watch_namespaces == ()
    assert (settings.workers, settings.health_port, settings.metrics_port) == (32, 8080, 9090)


def test_every_setting_has_a_variable(read: Read) -> None:
    settings = read(
        {
            **IMAGE,
            "HUDI_OPERATOR_OPERATOR_NAMESPACE": "ops",
            "HUDI_OPERATOR_IDENTITY": "moved/hudi-operator",
            "HUDI_OPERATOR_INSTANCE": "pod-1",
            "HUDI_OPERATOR_WATCH_NAMESPACES": "team-a, team-b,",
            "HUDI_OPERATOR_WORKERS": "4",
            "HUDI_OPERATOR_RESYNC_SECONDS": "60",
            "HUDI_OPERATOR_POLL_SECONDS": "2.5",
            "HUDI_OPERATOR_MAX_POLL_SECONDS": "60",
            "HUDI_OPERATOR_RECONCILE_TIMEOUT_SECONDS": "30",
            "HUDI_OPERATOR_SHUTDOWN_SECONDS": "0",
            "HUDI_OPERATOR_HEALTH_PORT": "1",
            "HUDI_OPERATOR_METRICS_PORT": "2",
            "HUDI_OPERATOR_LOG_LEVEL": "debug",
            "HUDI_OPERATOR_LOG_FORMAT": "text",
            "HUDI_OPERATOR_LEADER_ELECTION": "False",
            "HUDI_OPERATOR_LEASE_NAME": "leader",
            "HUDI_OPERATOR_LEASE_SECONDS": "3",
            "HUDI_OPERATOR_RENEW_DEADLINE_SECONDS": "2",
            "HUDI_OPERATOR_LEASE_RETRY_SECONDS": "0.5",
        }
    )
    assert settings == Settings(
        spark_image="spark:1",
        operator_namespace="ops",
        identity="moved/hudi-operator",
        instance="pod-1",
        watch_namespaces=("team-a", "team-b"),
        workers=4,
        resync_seconds=60,
        poll_seconds=2.5,
        max_poll_seconds=60,
        reconcile_timeout_seconds=30,
        shutdown_seconds=0,
        health_port=1,
        metrics_port=2,
        log_level="DEBUG",
        log_format="text",
        leader_election=False,
        lease_name="leader",
        lease_seconds=3,
        renew_deadline_seconds=2,
        lease_retry_seconds=0.5,
    )


def test_the_pod_names_the_instance_unless_told_otherwise(read: Read) -> None:
    assert read({**IMAGE, "HOSTNAME": "pod-7"}).instance == "pod-7"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPARK_IMAGE", " "),
        ("WATCH_NAMESPACES", "team-a,team-*"),
        ("IDENTITY", "two words"),
        ("IDENTITY", "x" * 300),
        ("WORKERS", "0"),
        ("WORKERS", "many"),
        ("WORKERS", "2.5"),
        ("RESYNC_SECONDS", "-1"),
        ("POLL_SECONDS", "nan"),
        ("POLL_SECONDS", "inf"),
        ("HEALTH_PORT", "70000"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        ("LEADER_ELECTION", "maybe"),
        ("LEASE_SECONDS", "10"),
        ("RENEW_DEADLINE_SECONDS", "15"),
        ("LEASE_RETRY_SECONDS", "10"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_its_name(name: str, value: str, read: Read) -> None:
    with pytest.raises(InvalidSettings, match=f"HUDI_OPERATOR_{name}") as refused:
        read({**IMAGE, f"HUDI_OPERATOR_{name}": value})
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)


def test_an_empty_variable_is_one_that_is_not_set(read: Read) -> None:
    assert read({**IMAGE, "HUDI_OPERATOR_WORKERS": ""}).workers == 32


def test_no_image_of_the_jobs_is_refused(read: Read) -> None:
    with pytest.raises(InvalidSettings, match="HUDI_OPERATOR_SPARK_IMAGE is not set"):
        read({})


def test_a_misspelt_variable_is_reported() -> None:
    assert unknown_variables({**IMAGE, "HUDI_OPERATOR_WORKRES": "3", "PATH": "x"}) == ("HUDI_OPERATOR_WORKRES",)
