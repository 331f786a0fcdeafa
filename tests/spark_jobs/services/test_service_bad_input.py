"""What a service says when it cannot do what it was asked for, and that it can again afterwards."""

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import IN_FULL, LEASE

from hudi_jobs.contract import FailureReason, Outcome, Service
from hudi_jobs.exclusive import require_lock
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark


def zookeeper(address: str) -> dict[str, str]:
    provider = "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
    return {"hoodie.write.lock.provider": provider, "hoodie.write.lock.zookeeper.url": address}


def test_a_sort_column_that_does_not_exist(trial: Callable[[Service, str], Any]) -> None:
    table = trial(Service.CLUSTERING, "local")
    column = {"hoodie.clustering.plan.strategy.sort.columns": "v,no_such_column"}
    result = table.lake.serve(Service.CLUSTERING, options=column)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.COLUMN_MISSING), result
    assert "no_such_column" in result.message
    assert "id, v" in result.message
    assert table.lake.serve(Service.CLUSTERING).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    "selection",
    [
        {"strategy": "SelectedPartitions", "partitions": {"names": ["no-such-partition"]}},
        {"strategy": "SelectedPartitions", "partitions": {"begin": "x", "end": "y"}},
        {"strategy": "SelectedPartitions", "partitions": {"regex": "no-such-.*"}},
    ],
)
def test_a_selection_of_partitions_that_matches_nothing(lake: Any, selection: dict[str, Any]) -> None:
    lake.table = {"partitionBy": ["carrier"]}
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}, "clustering": {"plan": selection}}
    for number in range(2):
        lake.put(f"{number}.csv", f"id,carrier\n{number},AA\n", at=number)
        assert lake.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    result = lake.serve(Service.CLUSTERING)
    assert result.outcome is Outcome.NOTHING_TO_DO, result
    assert "partition" in result.message
    assert not [name for name in lake.instants() if "replacecommit" in name]


def test_a_strategy_that_does_not_fit(trial: Callable[[Service, str], Any]) -> None:
    table = trial(Service.CLUSTERING, "local")
    strategy = "org.apache.hudi.client.clustering.plan.strategy.NoSuchStrategy"
    result = table.lake.serve(Service.CLUSTERING, options={"hoodie.clustering.plan.strategy.class": strategy})
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.HUDI_ERROR), result
    assert "NoSuchStrategy" in result.message
    assert table.lake.serve(Service.COMPACTION).reason is FailureReason.INVALID_REQUEST


@pytest.mark.parametrize("base_path", ["abfss://lake@account/table", "gs://lake/table", "hdfs://name/table"])
def test_a_store_that_is_not_known_to_write_conditionally(lake: Any, base_path: str) -> None:
    with pytest.raises(TaskFailed, match="conditional writes"):
        open_table_files(lake.spark, base_path)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that accepts connections and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def answering_server() -> Iterator[str]:
    """A server that answers the first connection."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4)
                connection.sendall(b"Zookeeper version")

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_lock_that_cannot_be_reached_is_noticed_before_hudi_waits_for_it(lake: Any, silent_server: str) -> None:
    lake.put("a.csv", "id\n1\n")
    for service in (Service.INGESTION, Service.CLEANING):
        request = lake.request() if service is Service.INGESTION else lake.service_request(service)
        options = zookeeper(f"127.0.0.1:1,{silent_server}")
        task = request.tasks[0].copy_with(hudi_options={**request.tasks[0].hudi_options, **options})
        result = lake.drive(request.copy_with(tasks=(task,)))
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.LOCK_UNAVAILABLE), result
        assert "127.0.0.1:1 (" in result.message
        assert silent_server in result.message


@pytest.mark.parametrize("address", ["", "nowhere.invalid:2181", "127.0.0.1:port", "127.0.0.1:1/chroot"])
def test_an_address_that_leads_nowhere(address: str) -> None:
    with pytest.raises(TaskFailed, match="No ZooKeeper server"):
        require_lock(zookeeper(address))


def test_one_server_that_answers_is_enough(answering_server: str) -> None:
    require_lock(zookeeper(f"127.0.0.1:1,{answering_server}/chroot"))
    require_lock({})


@pytest.fixture
def small_lake(lake: Any) -> Iterator[Any]:
    """A lake on a file system of a few megabytes."""
    folder = lake.folder / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("only root can mount a small file system")
    lake.root, lake.folder = str(folder), folder
    yield lake
    subprocess.run(["umount", "-l", folder], check=True)


def fill_up(folder: Path) -> Path:
    """Leave so little room that no data file fits in, and return the file that takes the rest."""
    room, filler = os.statvfs(folder), folder / "filler"
    filler.write_bytes(b"0" * (room.f_bavail * room.f_frsize - 200_000))
    return filler


@IN_FULL  # otherwise an ingestion meets a store that is full
def test_a_service_in_a_store_that_is_full_and_gets_room_again(
    small_lake: Any, trial: Callable[[Service, str], Any]
) -> None:
    table = trial(Service.CLUSTERING, "local")
    filler = fill_up(small_lake.folder)

    result = small_lake.serve(Service.CLUSTERING)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.STORAGE_FULL), result
    assert "room" in result.message
    assert table.found() == table.expected

    filler.unlink()
    assert small_lake.serve(Service.CLUSTERING).outcome is Outcome.SUCCEEDED
    assert table.found() == table.expected


def test_an_ingestion_into_a_store_that_is_full_and_gets_room_again(small_lake: Any) -> None:
    small_lake.lease = LEASE  # there is no room to give it back
    small_lake.put("a.csv", "id\n1\n")
    assert small_lake.ingest().outcome is Outcome.SUCCEEDED
    small_lake.put("b.csv", "id\n" + "".join(f"{number}\n" for number in range(2, 20_000)), at=1)
    filler = fill_up(small_lake.folder)

    result = small_lake.ingest()
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.STORAGE_FULL), result
    assert "room" in result.message
    assert small_lake.rows() == [("1",)]

    filler.unlink()
    assert small_lake.ingest().rows_read == 19_998
    assert len(set(small_lake.rows())) == len(small_lake.rows()) == 19_999
